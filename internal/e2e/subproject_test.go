package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// subproject makes the project a directory of a repository, marked by its .pi.
func (s *site) subproject() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.project, ".git")); err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.project, "src"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(s.project, "src", "f"), "one\n")
	r := s.at(s.base).sh(`git init -q -b main . && git add app && git -c user.name=lee -c user.email=lee@example.org commit -q -m first`)
	if r.code != 0 {
		s.t.Fatalf("git: %s", r)
	}
}

// TestProjectInARepository: a teammate in its worktree of a project that is a
// directory of a repository finds the same board, and gates run at the same place.
func TestProjectInARepository(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.subproject()

	first := s.add("with a worktree", "--verify", "pwd; test -f src/f", "--role", "tree")
	s.ok("spawn", "mo", "tree", "do it", "--", "sh", "-c", "teams claim "+first+" && teams submit")
	s.idle("mo", 1)
	r := s.resident("mo")
	there := filepath.Join(r.Worktree, "app")
	teammate, _ := s.at(filepath.Join(there, "src")).json("where")
	if got := string(teammate.Data); !strings.Contains(got, `"project":"`+s.project+`"`) || !strings.Contains(got, filepath.Base(s.team())) {
		t.Errorf("from the worktree: %s", got)
	}
	if got := s.show(first); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
	if log := read(t, s.board("gates", first+".1.log")); log != there+"\n" {
		t.Errorf("the gate ran in %q, want %s", log, there)
	}
	second := s.add("without", "--verify", "pwd; test -f src/f")
	s.ok("claim", second, "--as", "ann")
	s.ok("submit", second, "--as", "ann")
	if log := read(t, s.board("gates", second+".1.log")); log != s.project+"\n" {
		t.Errorf("the gate ran in %q, want %s", log, s.project)
	}
}
