package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoleGone takes away the definition of a role that a teammate joined with:
// what it claims then is not completed without the gate that nobody knows any
// more. A role that never had a definition has no gate.
func TestRoleGone(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	file := filepath.Join(s.project, ".pi", "agents", "coder.md")
	write(t, file, "---\nname: coder\ndescription: use when code is to be written\nverify: \"true\"\n---\nYou code.\n")
	s.ok("join", "ann", "--agent", "coder", "-q")
	s.ok("join", "bob", "--agent", "never", "-q")
	s.spawnExec("res", "", "true")
	for range 4 {
		s.add("task")
	}
	s.ok("claim", "t_1", "--as", "ann")
	s.ok("submit", "t_1", "--as", "ann")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.ok("claim", "t_2", "--as", "ann")
	if r := s.exits(1, "submit", "t_2", "--as", "ann"); !strings.Contains(r.out+r.err, "the gate of agent coder is not known: its definition is gone") {
		t.Errorf("%s", r)
	}
	if got := s.show("t_2"); got.Status != "claimed" || got.LastGate == nil || got.LastGate.Verdict != "could_not_start" {
		t.Errorf("%+v", got)
	}
	s.ok("claim", "t_3", "--as", "bob")
	s.ok("submit", "t_3", "--as", "bob")
	if got := s.show("t_3"); got.Status != "completed" || got.LastGate != nil {
		t.Errorf("%+v", got)
	}
	// With a definition again, it is that one's gate.
	write(t, file, "---\nname: coder\ndescription: use when code is to be written\n---\nYou code.\n")
	s.ok("release", "t_2", "--as", "ann")
	s.ok("claim", "t_2", "--as", "ann")
	s.ok("submit", "t_2", "--as", "ann")
	// A resident's role counts as well.
	if err := os.Remove(filepath.Join(s.project, ".pi", "agents", "worker.md")); err != nil {
		t.Fatal(err)
	}
	res := s.life("res", s.spawn("res"))
	res.ok("claim", "t_4")
	if r := res.exits(1, "submit", "t_4"); !strings.Contains(r.out+r.err, "agent worker") {
		t.Errorf("%s", r)
	}
}
