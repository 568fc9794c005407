package e2e

import (
	"testing"
)

// TestStaleLook: whoever acts as a life that is over is told so by every verb that
// looks at the session, and by none that helps to mend it. As anybody else it may
// look.
func TestStaleLook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.roles()
	s.ok("join", "ann", "-q")
	s.ok("join", "bob", "-q")
	now := s.life("ann", s.spawn("ann"))
	id := s.add("a task")
	mail := s.send("ann", "hello")
	s.ok("run", "start", "r")
	looks := [][]string{
		{"task", "list"}, {"task", "show", id}, {"task", "why", id}, {"task", "graph"}, {"list"}, {"status"}, {"log"}, {"export"},
		{"inbox"}, {"read", mail, "--peek"}, {"thread", mail}, {"sent"}, {"asks"}, {"todo", "list"}, {"activity", "bob"}, {"handoff", "bob"},
		{"ledger"}, {"worktrees"}, {"harness", "status"}, {"run", "list"}, {"run", "show", "r"}, {"run", "line"}, {"term", "list"},
	}
	stale := append(looks, [][]string{{"wait", "--timeout", "1ms"}, {"watch", id}, {"follow", "--peek"}, {"ledger", "show", "x"}}...)
	mend := [][]string{
		{"help"}, {"version"}, {"where"}, {"env", "ann"}, {"completion", "bash"}, {"man"}, {"doctor"}, {"sessions"}, {"agents"}, {"guide", "worker"},
	}
	before := tree(t, s.root)
	for _, old := range []*site{s.life("ann", "00000000-0000-4000-8000-000000000000"), s.life("cid", s.spawn("ann")), s.with("TEAMS_SPAWN=" + s.spawn("ann"))} {
		for _, args := range stale {
			old.fails(5, "stale_identity", args...)
		}
		for _, args := range mend {
			old.ok(args...)
		}
	}
	sameTree(t, "refused", before, tree(t, s.root))
	for _, args := range looks {
		if r := now.run(args...); r.code == 5 {
			t.Errorf("as the present life: %q: %s", args, r)
		}
	}
	old := s.life("ann", "00000000-0000-4000-8000-000000000000")
	for _, args := range [][]string{{"task", "list"}, {"list"}, {"inbox"}} {
		old.ok(append(args, "--as", "bob")...)
		s.as("ann").ok(args...)
	}
	// A record that cannot be read hides nothing else.
	write(t, s.team("ann", "teammate.json"), "{")
	now.ok("task", "list")
}
