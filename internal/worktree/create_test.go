package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	if got := read(t, filepath.Join(p.Path, "src/main.go")); got != "package main\n" {
		t.Error(got)
	}
	if branch := runGit(t, p.Path, "symbolic-ref", "HEAD"); branch != "refs/heads/teams/ann-1" || s.tip("teams/ann-1") != p.Base {
		t.Error(branch)
	}
	// The main checkout does not see it, and is as it was.
	if out := s.git("status", "--porcelain", "--untracked-files=all"); out != "" {
		t.Error(out)
	}
	if out := runGit(t, p.Path, "status", "--porcelain"); out != "" {
		t.Error(out)
	}
	q := s.make("ann")
	if filepath.Base(q.Path) != "ann-2" {
		t.Error(q.Path)
	}
	if n := strings.Count(read(t, filepath.Join(s.project, ".git/info/exclude")), "/.pi/worktrees/\n"); n != 1 {
		t.Errorf("%d lines in info/exclude", n)
	}
	if out := s.git("worktree", "list", "--porcelain"); strings.Contains(out, "locked") {
		t.Error(out)
	}
}

// What is ignored is the project's worktrees and nothing else, whatever the
// path, and what people wrote there stays.
func TestExclude(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"", "deep/er", "a b/st*r", `br[a]ck\et`, "new\nline", "!größe "} {
		s := newSite(t)
		s.write(filepath.Join(sub, ".pi/agents/a.md"), "x")
		exclude := filepath.Join(s.project, ".git/info/exclude")
		write(t, exclude, "# mine\n*.swp") // without a line end
		if err := os.Chmod(exclude, 0o640); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p, err := NewPlan(t.Context(), Request{Project: filepath.Join(s.project, sub), Name: "ann", Owner: "o"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Create(t.Context(), p); err != nil {
				t.Errorf("%q: %v", sub, err)
			}
		}
		s.write(filepath.Join(sub, "seen"), "x")
		out := s.git("-c", "core.quotePath=false", "status", "--porcelain", "-z", "--untracked-files=all")
		if n := strings.Count(out, "\x00"); n != 2 || strings.Contains(out, "worktrees") {
			t.Errorf("%q: git sees %q", sub, out)
		}
		text := read(t, exclude)
		if !strings.HasPrefix(text, "# mine\n*.swp\n/") || strings.Count(text, "\n") != 3 {
			t.Errorf("%q: %q", sub, text)
		}
		if info, err := os.Stat(exclude); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

func TestCreateInOddPlaces(t *testing.T) {
	t.Parallel()
	for _, name := range []string{" with space\n", "größe'\"$(x)`", "\xff\xfe"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			s := newSite(t, name)
			write(t, filepath.Join(s.project, ".git/info/exclude"), "# mine") // without a line end
			before := snapshot(t, s.project)
			p := s.make("ann")
			if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
				t.Error(kept, err)
			}
			same(t, "after undo", before, snapshot(t, s.project))
			p = s.make("ann")
			write(t, filepath.Join(p.Path, "new\nfile ü \xff"), "x")
			r := s.finalise(p, true)
			if r.Commit == "" || !r.Removed || there(p.Path) {
				t.Fatalf("%+v", r)
			}
			out := shell(t, r.Command)
			wantIn(t, "the command", out, "+x")
			list, err := List(t.Context(), s.project)
			if err != nil || len(list) != 0 {
				t.Error(list, err)
			}
			q := s.make("ann")
			if kept, err := Undo(t.Context(), q.Tree); kept != "" || err != nil || there(q.Path) {
				t.Error(kept, err)
			}
		})
	}
}

// A worktree begins where the checkout is, however it stands there.
func TestCreateWhere(t *testing.T) {
	t.Parallel()
	t.Run("detached", func(t *testing.T) {
		s := newSite(t)
		s.git("checkout", "-q", "--detach")
		p := s.make("ann")
		if s.tip(p.Branch) != s.git("rev-parse", "HEAD") {
			t.Error("not at HEAD")
		}
	})
	t.Run("dirty", func(t *testing.T) {
		s := newSite(t)
		s.write("README", "changed\n")
		p := s.make("ann")
		if got := read(t, filepath.Join(p.Path, "README")); got != "hello\n" {
			t.Error(got)
		}
		if got := read(t, filepath.Join(s.project, "README")); got != "changed\n" {
			t.Error(got)
		}
	})
	t.Run("with a submodule", func(t *testing.T) {
		lib, s := newSite(t), newSite(t)
		s.git("submodule", "--quiet", "add", lib.project, "lib")
		s.git("commit", "-q", "-m", "lib")
		s.git("config", "submodule.recurse", "true")
		p := s.make("ann")
		if r := s.finalise(p, true); r.Commit != "" || !r.Removed {
			t.Errorf("%+v", r)
		}
	})
	t.Run("in a submodule", func(t *testing.T) {
		lib, outer := newSite(t), newSite(t)
		outer.git("submodule", "--quiet", "add", lib.project, "lib")
		s := &site{t, filepath.Join(outer.project, "lib")}
		p := s.make("ann")
		write(t, filepath.Join(p.Path, "new"), "x")
		if out := s.git("status", "--porcelain"); out != "" {
			t.Error(out)
		}
		if r := s.finalise(p, true); !r.Removed {
			t.Errorf("%+v", r)
		}
		s.has(p.Branch, "new", "x")
	})
	t.Run("of a bare repository", func(t *testing.T) {
		s := newSite(t)
		bare := filepath.Join(t.TempDir(), "bare.git")
		s.git("clone", "-q", "--bare", s.project, bare)
		wt := &site{t, filepath.Join(t.TempDir(), "wt")}
		runGit(t, bare, "worktree", "add", "-q", wt.project, "main")
		p := wt.make("ann")
		write(t, filepath.Join(p.Path, "new"), "x")
		if r := wt.finalise(p, true); !r.Removed {
			t.Errorf("%+v", r)
		}
		wt.has(p.Branch, "new", "x")
	})
	t.Run("sparse", func(t *testing.T) {
		s := newSite(t)
		s.git("sparse-checkout", "set", "--cone", "src")
		s.write("top", "x") // cone mode has the files of the top
		p := s.make("ann")
		write(t, filepath.Join(p.Path, "docs/new"), "outside")
		write(t, filepath.Join(p.Path, "src/new"), "inside")
		r := s.finalise(p, true)
		if !r.Removed {
			t.Errorf("%+v", r)
		}
		s.has(p.Branch, "docs/new", "outside")
		s.has(p.Branch, "src/new", "inside")
		s.has(p.Branch, "README", "hello\n")
	})
}

// hook writes a hook of the repository.
func (s *site) hook(name, script string) {
	s.t.Helper()
	s.write(".git/hooks/"+name, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(s.project, ".git/hooks", name), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// A hook of the user is run. If it fails the worktree is good all the same.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hook("post-checkout", `echo out; echo "no toolchain here" >&2; touch "$PWD/made-by-hook.o"; cat; exit 3`)
	p := s.plan("ann")
	warnings, err := Create(t.Context(), p)
	if err != nil || len(warnings) != 1 {
		t.Fatal(warnings, err)
	}
	wantIn(t, "the warning", warnings[0], "post-checkout hook", "no toolchain here")
	if !there(filepath.Join(p.Path, "made-by-hook.o")) {
		t.Error("the hook did not run")
	}
	write(t, filepath.Join(p.Path, "new"), "x")
	s.git("config", "commit.gpgSign", "true")
	for _, name := range []string{"pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "reference-transaction", "post-index-change"} {
		s.hook(name, `touch "`+s.project+`/ran-`+name+`"; exit 1`)
	}
	if r := s.finalise(p, true); !r.Removed {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(s.project, "ran-*")); len(left) > 0 {
		t.Errorf("ran %v", left)
	}
}

// A hook that hangs ends with the caller's time, and all is as before. What it
// has started in the background is nobody's business.
func TestHookHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hook("post-checkout", `exec sleep 600`)
	before := snapshot(t, s.project)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begin := time.Now()
	if _, err := Create(ctx, s.plan("ann")); errs.CodeOf(err) != errs.TimedOut {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	same(t, "after a hook that hung", before, snapshot(t, s.project))

	s.hook("post-checkout", `sleep 30 & echo $! > "`+s.project+`/../pid"`)
	p := s.make("ann")
	if !there(p.Path) {
		t.Error("nothing there")
	}
	shell(t, "kill "+strings.TrimSpace(read(t, filepath.Join(s.project, "../pid"))))
}

// Whatever goes wrong leaves everything as it was, byte for byte.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		code    errs.Code
		parts   []string
		prepare func(s *site, p Plan)
	}{
		"the branch exists": {errs.Conflict, []string{"teams/ann-1", "already"}, func(s *site, p Plan) { s.git("branch", p.Branch) }},
		"the directory exists": {errs.Conflict, []string{"directory", "already"}, func(s *site, p Plan) {
			write(s.t, filepath.Join(p.Path, "x"), "of somebody")
		}},
		"the base is gone": {errs.Failure, []string{"git worktree add"}, func(s *site, p Plan) {
			if err := os.RemoveAll(filepath.Join(s.project, ".git/objects", p.Base[:2])); err != nil {
				s.t.Fatal(err)
			}
		}},
		"the directory is a file": {errs.Corrupt, []string{".pi"}, func(s *site, p Plan) { s.write(".pi", "x") }},
		"the directory is a link": {errs.Corrupt, []string{".pi"}, func(s *site, p Plan) {
			if err := os.Symlink(s.t.TempDir(), filepath.Join(s.project, ".pi")); err != nil {
				s.t.Fatal(err)
			}
		}},
		"the exclude is a directory": {errs.Failure, []string{"info/exclude"}, func(s *site, p Plan) {
			os.Remove(filepath.Join(s.project, ".git/info/exclude"))
			s.write(".git/info/exclude/x", "x")
		}},
		"a filter fails": {errs.Failure, []string{"git worktree add"}, func(s *site, p Plan) {
			s.git("config", "filter.bad.smudge", "false")
			s.git("config", "filter.bad.required", "true")
			s.write(".git/info/attributes", "* filter=bad\n")
		}},
		"an object is missing": {errs.Failure, []string{"git worktree add"}, func(s *site, p Plan) {
			id := s.git("rev-parse", "HEAD:README")
			if err := os.Remove(filepath.Join(s.project, ".git/objects", id[:2], id[2:])); err != nil {
				s.t.Fatal(err)
			}
		}},
		"a branch is locked": {errs.Failure, []string{"git worktree add"}, func(s *site, p Plan) { s.write(".git/refs/heads/teams", "x") }},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			p := s.plan("ann")
			c.prepare(s, p)
			before := snapshot(t, s.project)
			_, err := Create(t.Context(), p)
			if errs.CodeOf(err) != c.code {
				t.Fatalf("%v of code %s", err, errs.CodeOf(err))
			}
			wantIn(t, "the error", err.Error(), c.parts...)
			same(t, what, before, snapshot(t, s.project))
			// Undo of it does nothing, to others neither.
			if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
				t.Error(kept, err)
			}
			same(t, "after undo", before, snapshot(t, s.project))
		})
	}
}

// An interrupted caller leaves nothing either.
func TestCreateInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hook("post-checkout", `exec sleep 600`)
	before := snapshot(t, s.project)
	ctx, cancel := context.WithCancel(t.Context())
	p := s.plan("ann")
	go func() {
		for !there(filepath.Join(p.Path, "README")) {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := Create(ctx, p); errs.CodeOf(err) != errs.Interrupted {
		t.Error(err)
	}
	same(t, "after an interrupt", before, snapshot(t, s.project))
}

// Of two who planned the same one makes it, and the other is told.
func TestCreateTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p, q := s.plan("ann"), s.plan("ann")
	q.Owner = "another life"
	failed := make([]error, 2)
	var wg sync.WaitGroup
	for i, plan := range []Plan{p, q} {
		wg.Go(func() { _, failed[i] = Create(t.Context(), plan) })
	}
	wg.Wait()
	loser, winner := q, p
	if failed[0] != nil {
		loser, winner = p, q
	}
	if (failed[0] == nil) == (failed[1] == nil) || errs.CodeOf(failed[0])+errs.CodeOf(failed[1]) != errs.Conflict {
		t.Fatal(failed)
	}
	// The loser's undo leaves the winner's alone.
	if kept, err := Undo(t.Context(), loser.Tree); kept != "" || err != nil {
		t.Error(kept, err)
	}
	if r := s.finalise(winner, false); r.Head != winner.Base || !there(winner.Path) {
		t.Errorf("%+v", r)
	}
	if again := s.make("ann"); filepath.Base(again.Path) != "ann-2" {
		t.Error(again.Path)
	}
}

// Many at once get one each.
func TestCreateMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const n = 8
	errors := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for {
				p, err := NewPlan(t.Context(), Request{Project: s.project, Name: "ann", Owner: fmt.Sprint(i)})
				if err == nil {
					_, err = Create(t.Context(), p)
				}
				if errors[i] = err; errs.CodeOf(err) != errs.Conflict {
					return
				}
			}
		})
	}
	wg.Wait()
	list, err := List(t.Context(), s.project)
	if err != nil || len(list) != n {
		t.Fatal(len(list), err, errors)
	}
	owners := map[string]bool{}
	for _, i := range list {
		if i.Problem != "" || i.Dirty || !i.Managed || !i.Merged || i.Unready {
			t.Errorf("%+v", i)
		}
		owners[i.Owner] = true
	}
	if len(owners) != n {
		t.Error(owners)
	}
}
