package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// all is the tree of a directory with everything in it: dot-names too, and the
// lock files that there are, though not what they hold.
func all(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			text := info.Mode().String()
			if info.Mode().IsRegular() && !strings.HasSuffix(path, ".lock") {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += " " + string(data)
			}
			out[path] = text
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return out
}

// refusal is a spawn that must be refused.
type refusal struct {
	code int
	errs string
	env  string
	args []string
}

func (r refusal) String() string { return fmt.Sprintf("%s teams %q", r.env, r.args) }

// refusals are all the ways in which a spawn of bot is refused.
func refusals() []refusal {
	cmd := func(args ...string) []string { return append(append([]string{"spawn"}, args...), "--", "true") }
	list := []refusal{
		{code: 3, errs: "not_found", args: cmd("bot", "nobody")},
		{code: 3, errs: "not_found", args: cmd("bot", "Worker!")},
		{code: 1, errs: "failure", args: []string{"spawn", "bot", "worker", "--", "no-such-command-here"}},
		{code: 1, errs: "failure", args: []string{"spawn", "bot", "worker", "do it", "--", "./not-there"}},
		{code: 1, errs: "failure", args: cmd("bot", "tree")},                                                     // .git is no repository
		{code: 1, errs: "failure", env: "PATH=/usr/bin:/bin", args: []string{"spawn", "bot", "worker", "do it"}}, // no pi
		{code: 64, errs: "usage", args: []string{"spawn", "bot", "worker", "--host", "exec"}},
		{code: 1, errs: "herdr_unavailable", args: cmd("bot", "worker", "--host", "herdr")},
		{code: 64, errs: "usage", args: cmd("bot", "worker", "--host", "nothing")},
		{code: 64, errs: "usage", args: cmd("bot", "worker", "")},
		{code: 64, errs: "usage", env: "TEAMS_MAX=none", args: cmd("bot", "worker")},
		{code: 5, errs: "wrong_identity", env: "TEAMS_NAME=ann", args: cmd("bot", "worker")},
	}
	for _, name := range []string{"../x", ".", "..", "-rf", "a/b", "LEADER", "leader", "harness", "board", "all", "human", "Con", "", strings.Repeat("n", 33), "bot\u00e9", "🤖", "a b", "a\nb", "a.b", "1a"} {
		args := cmd("--", name, "worker")[:0]
		args = append(args, "spawn", "--host", "exec", name, "worker", "--", "true")
		list = append(list, refusal{code: 64, errs: "usage", args: args})
	}
	return list
}

// TestSpawnRefused refuses spawns in every way, in a root where nothing is yet
// and in one where a team lives: nothing is left of any of them.
func TestSpawnRefused(t *testing.T) {
	t.Parallel()
	t.Run("no session yet", func(t *testing.T) {
		t.Parallel()
		s := newTeam(t)
		s.refuses(refusals())
	})
	t.Run("a team lives", func(t *testing.T) {
		t.Parallel()
		s := newTeam(t)
		s.ok("task", "cancel", s.add("task"))
		s.spawnExec("ann", "", "true")
		s.spawnExec("bot", "hello", "true")
		s.idle("bot", 2) // it was asked for its report
		s.noMail("bot")
		s.ok("shutdown", "bot")
		s.ok("tick")
		more := append(refusals(),
			refusal{code: 4, errs: "name_taken", args: []string{"spawn", "ann", "worker", "--", "true"}},
			refusal{code: 4, errs: "name_taken", args: []string{"spawn", "ann", "nobody", "--", "true"}}, // the name comes first
			refusal{code: 4, errs: "conflict", env: "TEAMS_MAX=1", args: []string{"spawn", "bot", "worker", "--", "true"}},
			refusal{code: 4, errs: "conflict", env: "TEAMS_MAX=1", args: []string{"spawn", "cid", "nobody", "--", "true"}},
		)
		s.refuses(more)
		s.ok("spawn", "bot", "worker", "--", "true")
	})
}

// refuses checks refusals and that nothing is left of them.
func (s *site) refuses(list []refusal) {
	s.t.Helper()
	for _, r := range list {
		before := all(s.t, s.root, s.project)
		at := s
		if r.env != "" {
			at = s.with(r.env)
		}
		e, got := at.json(r.args...)
		if got.code != r.code || e.Error == nil || e.Error.Code != r.errs && r.errs != "wrong_identity" {
			s.t.Errorf("%s: want exit %d and %s\n%s", r, r.code, r.errs, got)
		}
		sameTree(s.t, r.String(), before, all(s.t, s.root, s.project))
	}
}

// TestSpawnFailsLate refuses spawns of a first team that pass every look, and
// fail at what they then do.
func TestSpawnFailsLate(t *testing.T) {
	t.Parallel()
	t.Run("worktree", func(t *testing.T) {
		t.Parallel()
		s := newTeam(t)
		s.git()
		s.spawnExec("ann", "", "true")
		// Nothing can be made below .pi/worktrees, as on a disk that fails.
		write(t, filepath.Join(s.project, ".pi", "worktrees"), "in the way\n")
		before := all(t, s.root, filepath.Join(s.project, ".pi"), filepath.Join(s.project, ".git", "refs"))
		r := s.exits(1, "spawn", "bot", "tree", "do it", "--", "true")
		if !strings.Contains(r.err, "worktrees") {
			t.Errorf("it does not say what is wrong: %s", r)
		}
		sameTree(t, "no worktree", before, all(t, s.root, filepath.Join(s.project, ".pi"), filepath.Join(s.project, ".git", "refs")))
		if err := os.Remove(filepath.Join(s.project, ".pi", "worktrees")); err != nil {
			t.Fatal(err)
		}
		s.ok("spawn", "bot", "tree", "do it", "--", "true")
	})
	t.Run("command is not in the worktree", func(t *testing.T) {
		t.Parallel()
		s := newTeam(t)
		s.git()
		s.ok("spawn", "ann", "tree", "hello", "--", "true") // .pi/worktrees is excluded from here on
		s.idle("ann", 1)
		s.ok("shutdown", "ann")
		s.noWorktreeOf()
		write(t, filepath.Join(s.project, "tool"), "#!/bin/sh\necho\n") // not committed
		if err := os.Chmod(filepath.Join(s.project, "tool"), 0o755); err != nil {
			t.Fatal(err)
		}
		pi, refs := filepath.Join(s.project, ".pi"), filepath.Join(s.project, ".git", "refs")
		before := all(t, s.root, pi, refs)
		for _, name := range []string{"bot", "ann"} { // one that never lived, and one that has
			r := s.exits(1, "spawn", name, "tree", "do it", "--", "./tool")
			if !strings.Contains(r.err, "./tool") {
				t.Errorf("%s", r)
			}
		}
		after := all(t, s.root, pi, refs)
		for path := range after { // the leader's message had its number
			if strings.Contains(path, "/leader/last-id") {
				delete(after, path)
				delete(before, path)
			}
		}
		sameTree(t, "not there", before, after)
		s.nothingOf("bot", "refused")
	})
	t.Run("command is no program", func(t *testing.T) {
		t.Parallel()
		s := newTeam(t)
		write(t, filepath.Join(s.project, "tool"), "echo\n") // not executable
		before := all(t, s.root, s.project)
		s.exits(1, "spawn", "bot", "worker", "--", "./tool")
		sameTree(t, "no program", before, all(t, s.root, s.project))
	})
}

// TestNinthTeammate refuses the ninth resident; shells and work loops do not
// count, and a shutdown makes room.
func TestNinthTeammate(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.ok("join", "shelly", "-q")
	for i := range 8 {
		s.ok("spawn", fmt.Sprintf("bot%d", i), "worker", "--", "true")
	}
	before := all(t, s.root, s.project)
	e := s.fails(4, "conflict", "spawn", "bot8", "worker", "--", "true")
	if !strings.Contains(e.Error.Message, "8") || !strings.Contains(e.Error.Hint, "TEAMS_MAX") {
		t.Errorf("%+v", e.Error)
	}
	sameTree(t, "the ninth", before, all(t, s.root, s.project))
	s.with("TEAMS_MAX=9").ok("spawn", "bot8", "worker", "--", "true")
	s.ok("shutdown", "bot3")
	s.fails(4, "conflict", "spawn", "bot3", "worker", "--", "true") // 8 are left
	s.ok("shutdown", "bot4")
	s.ok("spawn", "bot3", "worker", "--", "true")
}

// TestSameNameTwice spawns one name twice at once, over and over: one gets it,
// and nothing is left of the other.
func TestSameNameTwice(t *testing.T) {
	t.Parallel()
	rounds := 30
	if *long {
		rounds = 100
	}
	s := newTeam(t)
	for round := range rounds {
		var both []*proc
		for range 2 {
			both = append(both, s.start("--json", "spawn", "bot", "worker", "--", "true"))
		}
		won := 0
		for _, p := range both {
			switch r := p.wait(); {
			case r.code == 0:
				won++
			case r.code != 4 || !strings.Contains(r.out, `"name_taken"`):
				t.Errorf("round %d: %s", round, r)
			}
		}
		if won != 1 {
			t.Fatalf("round %d: %d got the name", round, won)
		}
		if hosts := s.processes(); len(hosts) != 1 {
			t.Fatalf("round %d: %v", round, hosts)
		}
		s.ok("shutdown", "bot")
	}
	if n := len(s.ledger()); n != 2*rounds {
		t.Errorf("%d rows in the ledger after %d lives", n, rounds)
	}
	s.noProcess()
	s.healthy()
}

// TestCommandFromBelow spawns from below the project, with a command that is
// given by its path from there.
func TestCommandFromBelow(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	dir := filepath.Join(s.project, "sub", "dir")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tool"), "#!/bin/sh\npwd > "+filepath.Join(s.base, "ran")+"\n")
	if err := os.Chmod(filepath.Join(dir, "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.at(dir).ok("spawn", "bot", "worker", "do it", "--", "./tool")
	s.idle("bot", 1)
	if got := strings.TrimSpace(read(t, filepath.Join(s.base, "ran"))); got != dir {
		t.Errorf("it ran in %s", got)
	}
}

// TestLastSlot lets several names race for the last slot: one gets it.
func TestLastSlot(t *testing.T) {
	t.Parallel()
	s := newTeam(t).with("TEAMS_MAX=2")
	s.ok("spawn", "ann", "worker", "--", "true")
	for round := range 3 {
		var list []*proc
		for i := range 4 {
			list = append(list, s.start("--json", "spawn", fmt.Sprintf("bot%d", i), "worker", "--", "true"))
		}
		won := ""
		for i, p := range list {
			switch r := p.wait(); {
			case r.code == 0 && won == "":
				won = fmt.Sprintf("bot%d", i)
			case r.code != 4 || !strings.Contains(r.out, `"conflict"`):
				t.Errorf("round %d: %s", round, r)
			}
		}
		if won == "" {
			t.Fatalf("round %d: nobody got it", round)
		}
		s.ok("shutdown", won)
	}
}

// TestSpawnAgainstJoin lets a spawn and a shell race for one name: one gets it.
func TestSpawnAgainstJoin(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	for round := range 8 {
		name := fmt.Sprintf("bot%d", round)
		spawn := s.start("spawn", name, "worker", "--", "true")
		if round%2 == 0 {
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		}
		join := s.start("join", name, "-q", "--pid", strconv.Itoa(os.Getpid()))
		a, b := spawn.wait(), join.wait()
		if !(a.code == 0 && b.code == 4 || a.code == 4 && b.code == 0) {
			t.Errorf("round %d: %s\n%s", round, a, b)
		}
		if a.code == 0 {
			s.ok("shutdown", name)
		} else if n := len(s.processes()); n > 0 {
			t.Errorf("round %d: %d processes", round, n)
		}
	}
	s.healthy()
}
