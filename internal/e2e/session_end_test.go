package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A session with a shell in it that may live is not ended: whether it does nobody
// can tell when it joined without its process.
func TestSessionEndBesideShell(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("a task")
	s.ok("join", "ann", "-q")
	s.send("ann", "do it")
	if e := s.fails(4, "conflict", "session", "end"); !strings.Contains(e.Error.Message, "ann may live") || !strings.Contains(e.Error.Hint, "--now") {
		t.Errorf("%+v", e.Error)
	}
	if n := s.as("ann").mail("inbox").Unread; n != 1 {
		t.Errorf("%d unread", n)
	}
	s.as("ann").ok("leave", "-q")
	s.ok("session", "end")
	s.noTeam()
	s.ok("join", "ann", "-q")
	s.ok("session", "end", "--now")
	s.noTeam()
}

// noTeam wants nothing of the running team to be left.
func (s *site) noTeam() {
	s.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(s.root, "teammate", "*", "*")); len(left) > 0 {
		s.t.Errorf("left: %q", left)
	}
}
