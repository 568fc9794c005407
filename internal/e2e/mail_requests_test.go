package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRequests asks, waits, is answered, is left alone, and is told so.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.as("bob")
	for _, who := range []*site{ann, s} {
		// Answered.
		p := who.start("send", "bob", "which port?", "--expects-reply", "--wait", "--deadline", "1m")
		var id string
		eventually(t, "bob owes a reply", func() bool { id = bob.ok("inbox", "--open", "-q"); return id != "" })
		if r := bob.exits(0, "recv"); !strings.Contains(r.out, "expects a reply: teams reply "+id+" -") {
			t.Errorf("%s", r)
		}
		if out := bob.ok("inbox", "--open", "-q"); out != id {
			t.Errorf("read, and no longer owed: %q", out)
		}
		bob.ok("reply", id, "port 80")
		if r := p.wait(); r.code != 0 || !strings.Contains(r.out, "port 80") {
			t.Errorf("%s", r)
		}
		if out := bob.ok("inbox", "--open", "-q"); out != "" {
			t.Errorf("still owed: %q", out)
		}
		wantLines(t, "the reply was printed", who.recv())
		bob.ok("reply", id, "or 81")
		wantLines(t, "a second reply", who.recv(), "bob or 81")
		if got := who.mail("thread", id); got.Total != 3 {
			t.Errorf("thread: %q", lines(got.Messages))
		}
		// Nobody answers.
		if r := who.run("send", "bob", "anybody?", "--expects-reply", "--wait", "--deadline", "60ms"); r.code != 124 {
			t.Errorf("%s", r)
		}
		who.fails(124, "timed_out", "send", "bob", "anybody?", "--expects-reply", "--wait", "--timeout", "60ms")
		// It stops.
		p = who.start("send", "bob", "and now?", "--expects-reply", "--wait")
		eventually(t, "bob is asked", func() bool { return strings.Contains(bob.exits(0, "inbox").out, "and now?") })
		bob.ok("leave", "-q")
		if r := p.wait(); r.code != 2 || !strings.Contains(r.err, "bob stopped without a reply") {
			t.Errorf("%s", r)
		}
		s.ok("join", "bob", "-q")
		who.recv()
	}
	s.healthy()
}

// TestStaleWait tells the sender of an open request once.
func TestStaleWait(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann := s.as("ann")
	id := ann.send("bob", "which port?", "--expects-reply")
	time.Sleep(20 * time.Millisecond)
	for _, setting := range []string{"0", "", "5m"} {
		s.with("TEAMS_STALE_WAIT="+setting).ok("tick", "-q")
		wantLines(t, "with "+setting, ann.recv())
	}
	for range 3 {
		s.with("TEAMS_STALE_WAIT=10ms").ok("tick", "-q")
	}
	got := ann.recv()
	if len(got) != 1 || got[0].Event != "stale_wait" || !strings.Contains(got[0].Body, id) {
		t.Errorf("%+v", got)
	}
	s.with("TEAMS_STALE_WAIT=soon").fails(64, "usage", "tick")
}

// TestGateNotices leaves five different gate failures unread: they are five
// notices, each with the exit code, the end of the output and the log's path.
func TestGateNotices(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	ann := s.as("ann")
	for n := 1; n <= 5; n++ {
		id := s.add("task", "--verify", fmt.Sprintf("seq 2000; echo failure %d; exit %d", n, n))
		ann.ok("claim", id, "--max", "9", "-q")
		ann.fails(1, "gate_failed", "submit", id)
	}
	got := ann.recv()
	if len(got) != 5 {
		t.Fatalf("%d notices: %q", len(got), lines(got))
	}
	for i, m := range got {
		n := i + 1
		log := s.board("gates", fmt.Sprintf("t_%d.1.log", n))
		if m.Kind != "notice" || m.Event != "gate_failed" || m.From != "harness" || m.Task != fmt.Sprintf("t_%d", n) ||
			!strings.Contains(m.Body, fmt.Sprintf("exit code %d, log %s\n", n, log)) || !strings.HasSuffix(m.Body, fmt.Sprintf("\n2000\nfailure %d\n", n)) {
			t.Errorf("%d: %+v", n, m)
		}
		if tail := m.Body[strings.Index(m.Body, "\n\n")+2:]; len(tail) > 4000 || len(tail) < 3900 || !strings.HasPrefix(read(t, log)[len(read(t, log))-len(tail)-1:], "\n") {
			t.Errorf("%d: the tail has %d bytes and begins %q", n, len(tail), tail[:10])
		}
	}
	// The worker is told even when the process that decided was killed before it
	// could tell; and the leader when it fails again and again.
	for range 2 {
		ann.fails(1, "gate_failed", "submit", "t_1")
	}
	if got := s.recv(); len(got) != 1 || got[0].Event != "escalation" || got[0].Task != "t_1" {
		t.Errorf("leader: %+v", got)
	}
	s.ok("task", "cancel", "t_2", "--reason", "no more", "-q")
	s.ok("task", "edit", "t_3", "--subject", "another", "-q")
	s.ok("release", "t_4", "--reason", "for bob", "-q")
	want := []string{"gate_failed t_1", "gate_failed t_1", "cancelled t_2", "edited t_3", "released t_4"}
	for i, m := range ann.recv() {
		if i >= len(want) || m.Event+" "+m.Task != want[i] {
			t.Errorf("notice %d: %s %s, want %q", i, m.Event, m.Task, want)
		}
	}
	s.healthy()
}

// TestNoticeOfADeadCommand kills commands between their commit and their
// notices: the next one that folds tells them, once.
func TestNoticeOfADeadCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	ann := s.as("ann")
	rounds := 15
	if *long {
		rounds = 300
	}
	for n := range rounds {
		id := s.add("task")
		ann.ok("claim", id, "-q")
		p := s.start("task", "cancel", id)
		if !p.ended(time.Duration(n%15) * time.Millisecond) {
			p.kill()
		}
		if s.show(id).State != "cancelled" {
			s.ok("task", "cancel", id, "-q")
		}
		s.ok("tick", "-q")
		got := ann.recv()
		if len(got) != 1 || got[0].Event != "cancelled" || got[0].Task != id {
			t.Errorf("round %d: %q", n, lines(got))
		}
	}
	s.healthy()
}
