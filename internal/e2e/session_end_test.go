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

// A spawn that waits while the session ends begins the next one.
func TestSpawnBesideSessionEnd(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	for round := range 6 {
		s.ok("spawn", "old", "worker", "--", "sh", "-c", "cat >/dev/null")
		end := s.start("session", "end", "--now")
		spawn := s.start("spawn", "bot", "worker", "--", "sh", "-c", "cat >/dev/null")
		for _, r := range []result{end.wait(), spawn.wait()} {
			// 3 and 4: the spawn was quicker, or was ended with the session.
			if r.code != 0 && r.code != 4 && r.code != 75 || strings.Contains(r.err, "no such file") {
				t.Errorf("round %d: %s", round, r)
			}
		}
		if r := s.run("session", "end", "--now"); r.code != 0 && r.code != 3 { // 3: it has ended
			t.Errorf("round %d: %s", round, r)
		}
	}
	s.noProcess()
}
