package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPiInheritsNothing looks at what a pi has of its host: neither the pipes of
// the spawn nor the pane that the leader sits in.
func TestPiInheritsNothing(t *testing.T) {
	t.Parallel()
	s, _ := piTeam(t, "fake")
	s = s.with("HERDR_PANE_ID=w1:p1", "HERDR_ENV=1", "TEAMS_HERDR=0")
	s.ok("spawn", "ann", "worker")
	pid := s.resident("ann").Child.PID
	for _, fd := range []int{3, 4} {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && strings.HasPrefix(to, "pipe:") {
			t.Errorf("descriptor %d is %s", fd, to)
		}
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || strings.Contains(string(env), "HERDR_PANE_ID") {
		t.Errorf("it is in the pane of the leader, or cannot be seen: %v", err)
	}
	s.ok("shutdown", "ann")
}
