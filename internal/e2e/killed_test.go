package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aloneGate is a gate that notes each of its runs, and when another of its
// runs, or what is left of one, is alive: a lock that only the end of all its
// processes frees. Its second half is more.
func (s *site) aloneGate(more string) string {
	s.t.Helper()
	if _, err := exec.LookPath("flock"); err != nil {
		s.t.Skip("flock(1) is not installed")
	}
	return fmt.Sprintf(`exec 9>>%[1]s/gate.lock; flock -n 9 || echo two >>%[1]s/overlap; echo "$TEAMS_GATE" >>%[1]s/runs; %[2]s`, s.base, more)
}

// runs is how often the gate of aloneGate was started; it must have been alone.
func (s *site) runs() int {
	s.t.Helper()
	if exists(filepath.Join(s.base, "overlap")) {
		s.t.Error("two runs of one gate at once")
	}
	if !exists(filepath.Join(s.base, "runs")) {
		return 0
	}
	return strings.Count(read(s.t, filepath.Join(s.base, "runs")), "\n")
}

// TestDeciderKilled kills the process that decides while its gate runs, and
// lets a tick go on at once. The gate has a child in a session of its own.
func TestDeciderKilled(t *testing.T) {
	t.Parallel()
	other := newSite(t) // a gate of t_1 in another session goes on
	other.add("the same id", "--verify", "sleep 2.5; echo well")
	other.ok("claim", "t_1", "--as", "ann")
	elsewhere := other.as("ann").start("submit")

	s := newSite(t)
	for _, decider := range []string{"submit", "tick", "verify", "harness"} {
		id := s.add("gate, decided by "+decider, "--verify", s.aloneGate("setsid sleep 60 & "+s.until("go-"+decider)))
		s.ok("claim", id, "--as", "ann")
		begun := s.runs()
		var p *proc
		switch decider {
		case "submit":
			p = s.as("ann").start("submit", id)
		case "tick":
			s.ok("submit", id, "--as", "ann", "--no-wait")
			p = s.start("tick")
		case "verify":
			p = s.start("verify", id)
		case "harness":
			s.ok("submit", id, "--as", "ann", "--no-wait")
			p = s.start("harness")
		}
		eventually(t, "the gate runs", func() bool { return s.runs() > begun })
		p.kill()
		if len(s.gates()) == 0 {
			t.Errorf("%s: the gate was gone before the next decider came", decider)
		}
		s.goOn("go-" + decider)
		switch decider {
		case "verify":
			s.ok("submit", id, "--as", "ann")
		case "harness":
			next := s.start("harness")
			s.ok("wait", id, "--timeout", "30s")
			s.ok("harness", "stop")
			if r := next.wait(); r.code != 0 {
				t.Errorf("the next harness: %s", r)
			}
		default:
			s.ok("tick")
		}
		if got := s.show(id); got.State != "completed" || got.LastGate.Run != 2 || got.GateRuns != 2 {
			t.Errorf("%s: %+v", decider, got)
		}
		if n := s.runs(); n != begun+2 {
			t.Errorf("%s: the gate ran %d times", decider, n-begun)
		}
		if left := s.gates(); len(left) > 0 {
			t.Errorf("%s: left: %v", decider, left)
		}
	}
	s.healthy()
	if r := elsewhere.wait(); r.code != 0 || other.show("t_1").GateRuns != 1 {
		t.Errorf("the gate of the other session: %s", r)
	}
}

// TestDeciderKilledOften kills ticks at random times over several gates.
func TestDeciderKilledOften(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gate := s.aloneGate("setsid sleep 60 & sleep 0.05")
	id := s.add("gate", "--verify", gate)
	rounds := 10
	if *long {
		rounds = 100
	}
	for range rounds {
		s.ok("claim", id, "--as", "ann")
		s.ok("submit", id, "--as", "ann", "--no-wait")
		p := s.start("tick")
		if !p.ended(rand.N(120 * time.Millisecond)) {
			p.kill()
		}
		s.ok("tick")
		if got := s.show(id); got.State != "completed" {
			t.Fatalf("%+v", got)
		}
		s.ok("task", "reopen", id)
	}
	t.Logf("%d rounds, %d gate runs", rounds, s.runs())
	if n := count(s.history(), "completed", id); n != rounds {
		t.Errorf("completed %d times in %d rounds", n, rounds)
	}
	s.healthy()
}

// TestLeaderKilled has what a leader's verb leaves that was killed between its
// marker and its snapshot: by hand, and by real kills.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add("task")
	s.ok("join", "ann", "-q")
	byLeader := marker(id, "leader", "", "token", "0123456789abcdef0123456789abcdef", "pid", 1)
	write(t, s.board("claims", id+".json"), byLeader)
	if got := s.show(id); got.State != "ready" {
		t.Errorf("a leader's marker is no claim: %s", got.State)
	}
	s.ok("claim", id, "--as", "ann") // without a tick
	s.ok("release", id, "--as", "ann")
	write(t, s.board("claims", id+".json"), byLeader)
	s.ok("tick")
	if exists(s.board("claims", id+".json")) {
		t.Error("a tick leaves the leader's marker")
	}
	s.ok("claim", id, "--as", "ann")
	// The same with a submission.
	write(t, s.board("submissions", id+".json"), byLeader)
	if got := s.show(id); got.State != "claimed" {
		t.Errorf("a leader's marker is no submission: %s", got.State)
	}
	s.ok("submit", id, "--as", "ann")
	s.ok("task", "reopen", id)

	rounds, killed := 30, 0
	if *long {
		rounds *= 10
	}
	for n := range rounds {
		verb := [][]string{
			{"task", "edit", id, "--subject", fmt.Sprintf("edit %d", n)},
			{"task", "cancel", id},
			{"task", "reopen", id},
		}[n%3]
		p := s.start(verb...)
		if !p.ended(rand.N(12 * time.Millisecond)) {
			p.kill()
			killed++
		}
		s.ok("tick")
		if s.show(id).State == "cancelled" {
			s.ok("task", "reopen", id)
		}
		s.ok("claim", id, "--as", "ann")
		s.ok("release", id, "--as", "ann")
	}
	t.Logf("%d of %d leader verbs were killed", killed, rounds)
	s.healthy()
}

// TestClaimKilled kills claims and submissions before they can tell. The shell
// finds both again.
func TestClaimKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	ann := s.as("ann")
	id := s.add("by hand")
	token := "00112233445566778899aabbccddeeff"
	write(t, s.board("claims", id+".json"), marker(id, "ann", s.spawn("ann"), "token", token, "epoch", 0))
	if got := ann.ok("claim", "--mine", "-q"); got != id {
		t.Errorf("claim --mine finds %q", got)
	}
	ann.fails(4, "already_holding", "claim")
	write(t, s.board("submissions", id+".json"), marker(id, "ann", s.spawn("ann"), "token", token, "submission", "ffee", "status", "completed", "result", "the first"))
	if got := ann.ok("claim", "--mine", "-q"); got != id {
		t.Errorf("claim --mine finds %q", got)
	}
	ann.ok("submit", "--result", "the second")
	if got := s.show(id); got.State != "completed" || got.Result != "the first" || got.LastSubmission.ID != "ffee" {
		t.Errorf("the submission that waited was not decided: %+v", got)
	}
	ann.ok("submit", id) // told once more, decided once
	if n := count(s.history(), "completed", id); n != 1 {
		t.Errorf("completed %d times", n)
	}

	rounds, won, handed := 30, 0, 0
	if *long {
		rounds *= 10
	}
	for n := range rounds {
		id := s.add(fmt.Sprintf("round %d", n))
		p := ann.start("claim", id, "-q")
		if !p.ended(rand.N(10 * time.Millisecond)) {
			p.kill()
		}
		told := strings.TrimSpace(p.wait().out)
		mine := ann.ok("claim", "--mine", "-q")
		if mine != "" && mine != id || told != "" && mine != id {
			t.Fatalf("told %q, found %q", told, mine)
		}
		if mine == "" {
			ann.ok("claim", id)
		} else {
			won++
		}
		p = ann.start("submit", id, "--result", "once")
		if !p.ended(rand.N(12 * time.Millisecond)) {
			p.kill()
		}
		if s.show(id).State != "claimed" {
			handed++
		}
		ann.ok("submit", id, "--result", "again")
		if got := s.show(id); got.State != "completed" {
			t.Fatalf("%+v", got)
		}
		if n := count(s.history(id), "completed", id); n != 1 {
			t.Fatalf("%s was completed %d times", id, n)
		}
	}
	t.Logf("%d rounds: %d killed claims had won, %d killed submissions were on disk", rounds, won, handed)
	s.healthy()
}

// life gives the environment of a life of a teammate.
func (s *site) life(name, spawn string) *site {
	return s.with("TEAMS_NAME="+name, "TEAMS_SPAWN="+spawn)
}

// TestTakeover has a claim told to a worker whose name is taken over.
func TestTakeover(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	old := s.life("ann", s.spawn("ann"))
	id := s.add("task")
	old.ok("claim", id)
	s.ok("join", "ann", "--takeover", "-q")
	old.fails(5, "stale_identity", "submit", id)
	old.fails(5, "stale_identity", "claim")
	if got := s.show(id); got.State != "ready" {
		t.Errorf("after the takeover: %s", got.State)
	}
	now := s.life("ann", s.spawn("ann"))
	now.ok("claim", id)
	now.ok("submit", id)

	// A claim and a takeover at the same time.
	rounds, told := 15, 0
	if *long {
		rounds *= 10
	}
	for n := range rounds {
		id := s.add(fmt.Sprintf("round %d", n))
		old := s.life("ann", s.spawn("ann"))
		claim := old.start("claim", id)
		time.Sleep(rand.N(8 * time.Millisecond))
		join := s.start("join", "ann", "--takeover", "-q")
		c, j := claim.wait(), join.wait()
		if j.code != 0 || c.code != 0 && c.code != 4 && c.code != 5 {
			t.Fatalf("claim: %s\njoin: %s", c, j)
		}
		if c.code == 0 {
			told++
		}
		old.fails(5, "stale_identity", "submit", id)
		s.ok("tick")
		if got := s.show(id); got.State != "ready" {
			t.Fatalf("held by a life that was replaced: %+v", got)
		}
		s.ok("claim", id, "--as", "bob")
		s.ok("submit", id, "--as", "bob")
	}
	t.Logf("%d rounds, %d claims were told before the takeover", rounds, told)
	s.healthy()
}

// TestResubmission hands in once more while a gate of an earlier submission
// runs. The verdict of that gate never counts for the new one.
func TestResubmission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	// The first run passes, after a while; the later ones fail.
	gate := s.aloneGate(fmt.Sprintf(`test $(wc -l <%s/runs) -gt 1 && exit 7; %s; exit 0`, s.base, s.until("first")))
	id := s.add("task", "--verify", gate)
	s.ok("claim", id, "--as", "ann")
	first := s.as("ann").start("submit", id, "--result", "first")
	eventually(t, "the first gate runs", func() bool { return s.runs() == 1 })
	s.ok("task", "cancel", id)
	s.ok("task", "reopen", id)
	s.ok("claim", id, "--as", "bob")
	again := s.as("bob").start("submit", id, "--result", "second")
	eventually(t, "the second submission waits", func() bool { return exists(s.board("submissions", id+".json")) })
	s.goOn("first") // the first gate passes now, unless it was ended already
	second := again.wait()
	if second.code != 1 || !strings.Contains(second.err, "exit code 7") {
		t.Errorf("the second: %s", second)
	}
	if r := first.wait(); r.code != 4 {
		t.Errorf("the first: %s", r)
	}
	if got := s.show(id); got.State != "claimed" || got.ClaimedBy != "bob" || s.runs() != 2 {
		t.Errorf("%d runs, %+v", s.runs(), got)
	}
	if n := count(s.history(), "completed", id); n != 0 {
		t.Error("the pass of the first gate completed the task")
	}

	// The submitter is killed, its gate goes on, and it submits once more.
	id = s.add("task", "--verify", s.aloneGate(s.until("killed")))
	s.ok("claim", id, "--as", "cid")
	p := s.as("cid").start("submit", id, "--result", "killed")
	eventually(t, "the gate runs", func() bool { return s.runs() == 3 })
	p.kill()
	s.goOn("killed")
	s.ok("submit", id, "--as", "cid", "--result", "again")
	if got := s.show(id); got.State != "completed" || got.Result != "killed" || s.runs() != 4 {
		t.Errorf("%d runs, %+v", s.runs(), got)
	}
}
