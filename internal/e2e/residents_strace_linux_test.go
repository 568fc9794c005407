package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/team"
)

// straced returns the pinned command, or skips the test where nobody may trace.
func straced(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(path, "-qq", "-o", "/dev/null", "-e", "trace=close", "-e", "inject=close:delay_enter=0:when=1", "/bin/sh", "-c", ":").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %s", out)
	}
	bin, err := odd()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// killedCalls are the system calls before which the process is killed.
var killedCalls = []string{"openat", "write", "fsync", "linkat", "renameat", "unlinkat", "flock"}

// occurrences goes through the occurrences of a call: all of them with -long,
// else a few, each run others. try says whether there was one.
func occurrences(step int, call string, try func(inject string) bool) (kills int) {
	if *long {
		step = 1
	}
	for n := 1 + int(time.Now().UnixNano())%step; n < 2000; n += step {
		if !try(fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)) {
			break
		}
		kills++
	}
	return kills
}

// TestSpawnKilledAtCalls kills the spawning process at its system calls.
func TestSpawnKilledAtCalls(t *testing.T) {
	t.Parallel()
	bin := straced(t)
	s := newTeam(t)
	s.git()
	args := []string{"spawn", "bot", "tree", "do it", "--", "sleep", "600"}
	round, steps := 0, map[string]int{"openat": 41, "write": 17, "fsync": 13, "flock": 11}
	for _, call := range killedCalls {
		kills := occurrences(max(steps[call], 5), call, func(inject string) bool {
			round++
			strace := append([]string{"-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", inject, bin}, args...)
			r := start(t, s.command("strace", strace...)).wait()
			if r.code != 0 && r.code != 137 {
				t.Fatalf("%s: %s", inject, r)
			}
			if up := r.code == 0; up || round%2 == 0 {
				s.ok("tick")
				up = s.came("bot", inject)
				if r.code == 0 && !up {
					t.Errorf("%s: spawn was told to have succeeded", inject)
				}
				if !up {
					s.ok(args...)
				}
			} else if next := s.run(args...); next.code != 0 && next.code != 4 {
				t.Errorf("%s, the next spawn: %s", inject, next)
			}
			if !s.came("bot", inject+", then a spawn") {
				t.Errorf("%s: the next spawn left no teammate", inject)
				return false
			}
			s.ok("shutdown", "bot", "--now")
			s.noWorktreeOf()
			s.nothingOf("bot", inject+", shut down")
			return r.code == 137 && !t.Failed()
		})
		t.Logf("%s: %d kills", call, kills)
	}
	s.healthy()
}

// TestHostKilledAtCalls kills the host at its system calls, while it starts and
// in its first turn: the spawn fails and leaves nothing, or the teammate is found
// dead by the next tick.
func TestHostKilledAtCalls(t *testing.T) {
	t.Parallel()
	bin := straced(t)
	s := newTeam(t)
	s.git()
	lib := s.library()
	ctx := context.Background()
	board, err := lib.Board(team.BoardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.ok("join", "ann", "-q") // the session is there
	wrapper := filepath.Join(s.base, "host")
	steps := map[string]int{"openat": 37, "write": 13, "fsync": 11, "flock": 9}
	failed, died := 0, 0
	for _, call := range killedCalls {
		kills := occurrences(max(steps[call], 5), call, func(inject string) bool {
			// With -D the host is the child of the spawn, and strace is not.
			script := fmt.Sprintf("#!/bin/sh\nexec strace -D -qq -o /dev/null -e trace=%s -e %s '%s' \"$@\"\n", call, inject, bin)
			if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			was := len(s.told("stopped"))
			tm, err := lib.Spawn(ctx, board, team.SpawnRequest{
				Name: "bot", Agent: "tree", Text: "do it", Kind: team.KindExec, Command: []string{"true"}, Program: wrapper,
			})
			if err != nil {
				failed++
				if !strings.Contains(err.Error(), "host") {
					t.Errorf("%s: %v", inject, err)
				}
				// The spawn has undone it; no tick is needed.
				if s.came("bot", inject) {
					t.Errorf("%s: the spawn failed, and the teammate lives", inject)
				}
				return !t.Failed()
			}
			killed := false
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
				if killed = !alive(tm.PID); killed {
					break
				}
				if r := s.resident("bot"); r.Turns > 0 && r.Status == "idle" {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s: %+v", inject, s.resident("bot"))
				}
			}
			if killed {
				died++
				eventually(t, "nothing of it runs", func() bool { return len(s.processes()) == 0 })
				s.ok("tick")
				s.ok("tick")
				if r := s.resident("bot"); r.Status != "stopped" {
					t.Errorf("%s: %+v", inject, r)
				}
				if n := len(s.told("stopped")) - was; n != 1 {
					t.Errorf("%s: %d notices", inject, n)
				}
			} else {
				s.ok("shutdown", "bot")
			}
			s.noWorktreeOf()
			s.nothingOf("bot", inject)
			return killed && !t.Failed()
		})
		t.Logf("%s: %d kills", call, kills)
	}
	s.ok("spawn", "bot", "worker", "--", "true")
	s.healthy()
	t.Logf("%d times the spawn failed, %d times the host died later", failed, died)
}
