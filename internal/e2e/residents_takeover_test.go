package e2e

import (
	"strings"
	"testing"
)

// TestTakeoverOfResident takes the name of a resident that lives: its processes
// end, its work is committed and told of, its row of the ledger is closed.
func TestTakeoverOfResident(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.git()
	s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", makesWork)
	r := s.idle("bot", 1)
	s.ok("join", "bot", "--takeover", "-q")
	eventually(t, "the host has ended", func() bool { return !alive(r.PID) })
	s.commits(r.Branch, "bot")
	s.diffNotice(r.Branch)
	if exists(r.Worktree) {
		t.Error("its worktree is still there")
	}
	if rows := s.ledger(); len(rows) == 0 || rows[len(rows)-1].Status != "closed" {
		t.Errorf("ledger %+v", rows)
	}
	if now := s.resident("bot"); now.Kind != "shell" || now.PreviousSpawnID != r.SpawnID || now.Status != "idle" {
		t.Errorf("%+v", now)
	}
}

// TestJoinAfterDeath gives the name of a resident that died to a shell: its work
// is committed first, and the leader is told of both.
func TestJoinAfterDeath(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.git()
	s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", makesWork)
	s.idle("bot", 1)
	r := s.killHost("bot")
	s.ok("join", "bot", "-q")
	s.commits(r.Branch, "bot")
	s.diffNotice(r.Branch)
	if list := s.toldOf("stopped", 1); len(list) > 0 && !strings.Contains(list[0].Body, "bot") {
		t.Errorf("%+v", list)
	}
}
