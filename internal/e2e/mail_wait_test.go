package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// latency is how long a recv --wait takes, at best of some rounds, from before
// the send to its end.
func (s *site) latency(who, from *site, to string) time.Duration {
	s.t.Helper()
	best := time.Hour
	for n := range 4 {
		p := who.start("recv", "--wait", "--timeout", "30s")
		if p.ended(100 * time.Millisecond) { // it waits by now
			s.t.Fatalf("%s", p.wait())
		}
		begin := time.Now()
		from.send(to, fmt.Sprint("message ", n))
		r := p.wait()
		best = min(best, time.Since(begin))
		if r.code != 0 || !strings.Contains(r.out, fmt.Sprint("message ", n)) {
			s.t.Fatalf("round %d: %s", n, r)
		}
	}
	return best
}

// TestWaitIsWoken has recv --wait woken by what comes. It would look by itself
// after a second at the latest, so it must be quicker than that; the figures
// are for the benchmark.
func TestWaitIsWoken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	s.ok("join", "bob", "-q")
	s = s.with("TEAMS_POLL=1h")
	for _, c := range []struct {
		name      string
		who, from *site
		to        string
	}{{"a teammate", s.as("bob"), s.as("ann"), "bob"}, {"the leader", s, s.as("ann"), "leader"}} {
		best := s.latency(c.who, c.from, c.to)
		t.Logf("%s: at best %v, with the start of the sender", c.name, best)
		if best > 2*time.Second {
			t.Errorf("%s is woken after %v", c.name, best)
		}
	}
	// A wait that ends without mail.
	if r := s.as("bob").run("recv", "--wait", "--timeout", "50ms"); r.code != 124 || r.out != "" {
		t.Errorf("%s", r)
	}
	s.as("bob").fails(2, "no_mail", "recv")
	s.fails(64, "usage", "recv", "--timeout", "1s")
	s.fails(64, "usage", "recv", "--max", "-1")
	// Interrupted while it waits.
	p := s.as("bob").start("recv", "--wait")
	if p.ended(100 * time.Millisecond) {
		t.Fatal(p.wait())
	}
	p.signal(syscall.SIGINT)
	if r := p.wait(); r.code != 130 {
		t.Errorf("%s", r)
	}
}

// TestMailFollow follows a mailbox: each message once, as it comes, marked after
// it was printed, or with --peek not at all.
func TestMailFollow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	bob := s.as("bob")
	s.send("bob", "before")
	peek := bob.follow("follow", "--peek", "--json")
	next := func(f *follower) message {
		t.Helper()
		var d struct{ Message message }
		f.next(&d)
		return d.Message
	}
	if m := next(peek); m.Body != "before" || m.Read {
		t.Errorf("%+v", m)
	}
	for _, text := range []string{"one", "two"} {
		s.send("bob", text)
		if m := next(peek); m.Body != text {
			t.Errorf("%+v", m)
		}
	}
	wantLines(t, "nothing is marked", bob.mail("inbox").Messages, "leader before", "leader one", "leader two")
	f := bob.follow("follow", "--json")
	for _, text := range []string{"before", "one", "two"} {
		if m := next(f); m.Body != text {
			t.Errorf("%+v", m)
		}
	}
	s.send("bob", "three")
	if m := next(f); m.Body != "three" {
		t.Errorf("%+v", m)
	}
	eventually(t, "all are marked", func() bool { return bob.mail("inbox").Total == 0 })
	f.interrupt()
	peek.interrupt()

	// The leader's session is one at a time; a report comes without a tick.
	lead := s.follow("follow", "--lead", "--peek", "--json")
	bob.send("leader", "report", "--status", "completed")
	if m := next(lead); m.Body != "report" || m.Kind != "report" || m.Status != "completed" {
		t.Errorf("%+v", m)
	}
	s.fails(4, "conflict", "follow", "--lead")
	bob.fails(5, "leader_only", "follow", "--lead")
	lead.interrupt()
	wantLines(t, "leader", s.recv(), "bob report")
	s.healthy()
}
