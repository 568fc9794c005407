package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// came waits until it is decided what a spawn of a name that was killed comes
// to, and says whether the teammate lives. One tick is all that is needed, and
// the time that a host takes to come up or to end. There must be a whole life,
// or nothing at all.
func (s *site) came(name, what string) bool {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r, held := s.resident(name), false
		if r.Name != "" {
			held, _ = fsx.Held(s.team(name, "alive.lock"))
		}
		switch {
		case held && (r.Status == "idle" || r.Status == "working"):
			return true
		case !held && (r.Name == "" || r.Status == "stopped"):
			s.nothingOf(name, what)
			return false
		}
		if time.Now().After(end) {
			s.t.Errorf("%s: half of %s is left, its lock held %v: %+v", what, name, held, r)
			return false
		}
	}
}

// nothingOf checks that nothing is left of a spawn but, of a name that has lived,
// its record.
func (s *site) nothingOf(name, what string) {
	s.t.Helper()
	left := s.processes()
	for end := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(end); left = s.processes() {
		time.Sleep(10 * time.Millisecond)
	}
	for _, p := range left {
		s.t.Errorf("%s: still running: %s", what, p)
	}
	if names := s.running(); slices.Contains(names, name) {
		s.t.Errorf("%s: the ledger says that %s runs", what, name)
	}
	if trees, _ := filepath.Glob(filepath.Join(s.project, ".pi", "worktrees", "*")); len(trees) > 0 {
		s.t.Errorf("%s: left: %q", what, trees)
	}
	if info, err := os.Stat(filepath.Join(s.project, ".git", "HEAD")); err != nil || !info.Mode().IsRegular() {
		return // no repository
	}
	if out := s.sh("git branch --list 'teams/*'; git worktree list | tail -n +2").out; out != "" {
		s.t.Errorf("%s: git has\n%s", what, out)
	}
}

// noWorktreeOf takes the branch of a life away that was whole, so that what the
// next one leaves can be told from it.
func (s *site) noWorktreeOf() {
	s.t.Helper()
	s.sh("git worktree prune; git branch --list --format='%(refname:short)' 'teams/*' | xargs -r git branch -q -D")
}

// TestSpawnKilled kills spawns at random points, with a worktree and without:
// after the next tick or spawn there is a whole teammate or nothing.
func TestSpawnKilled(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"worker", "tree"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			rounds := 8
			if *long {
				rounds = 200
			}
			s := newTeam(t)
			s.git()
			args := []string{"spawn", "bot", agent, "do it", "--", "sleep", "600"}
			begin := time.Now()
			s.ok(args...)
			takes := time.Since(begin)
			s.ok("shutdown", "bot", "--now")
			s.noWorktreeOf()
			lived, halves := 0, 0
			for round := range rounds {
				p := s.start(args...)
				time.Sleep(time.Duration(rand.Int64N(int64(takes * 9 / 8))))
				p.kill()
				if r := s.resident("bot"); r.Status == "starting" {
					halves++
				}
				up := false
				if round%2 == 0 {
					s.ok("tick")
					up = s.came("bot", "killed, then a tick")
				}
				if !up {
					r := s.run(args...)
					switch r.code {
					case 0, 4: // 4: the host of the killed one came up
					default:
						t.Errorf("the next spawn: %s", r)
					}
					if !s.came("bot", "killed, then a spawn") {
						t.Errorf("the next spawn left no teammate: %s", r)
						continue
					}
				} else {
					lived++
				}
				// The host of the killed one has nothing any more, and is on its way out.
				eventually(t, "one host and its child are left", func() bool { return len(s.processes()) <= 2 })
				s.ok("shutdown", "bot", "--now")
				s.noWorktreeOf()
				s.nothingOf("bot", "shut down")
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
			s.healthy()
			t.Logf("%d spawns killed within %v, %d left half a record, %d went on by themselves", rounds, takes.Round(time.Millisecond), halves, lived)
		})
	}
}

// TestSpawnTerminated ends spawns with SIGTERM and SIGINT, as a person does: they
// take everything back themselves.
func TestSpawnTerminated(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.git()
	// What a slow start would be: the checkout of a worktree takes a while.
	hook := filepath.Join(s.project, ".git", "hooks", "post-checkout")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, hook, "#!/bin/sh\ntouch "+filepath.Join(s.base, "hooked")+"\nsleep 20\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	p := s.start("spawn", "bot", "tree", "--", "true")
	eventually(t, "git is at it", func() bool { return exists(filepath.Join(s.base, "hooked")) })
	p.signal(syscall.SIGINT)
	if r := p.wait(); r.code == 0 || !strings.Contains(r.err, "interrupt") {
		t.Errorf("%s", r)
	}
	s.nothingOf("bot", "interrupted")
	if r := s.resident("bot"); r.Name != "" {
		t.Errorf("it is there: %+v", r)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	s.ok("spawn", "bot", "tree", "--", "true")
	s.healthy()
}
