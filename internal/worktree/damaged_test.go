package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// Locks, damage and absence in git's own files.
func TestFinaliseDamaged(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(t *testing.T, s *site, p Plan){
		"a stale index.lock": func(t *testing.T, s *site, p Plan) { s.write(".git/worktrees/ann-1/index.lock", "") },
		"no index": func(t *testing.T, s *site, p Plan) {
			must(t, os.Remove(filepath.Join(s.project, ".git/worktrees/ann-1/index")))
		},
		"a broken index": func(t *testing.T, s *site, p Plan) { s.write(".git/worktrees/ann-1/index", "garbage") },
		"no .git":        func(t *testing.T, s *site, p Plan) { must(t, os.Remove(filepath.Join(p.Path, ".git"))) },
		"a left index":   func(t *testing.T, s *site, p Plan) { s.write(".git/worktrees/ann-1/teams-index-1", "x") },
		"no record": func(t *testing.T, s *site, p Plan) {
			must(t, os.RemoveAll(filepath.Join(s.project, ".git/teams-worktrees")))
		},
		"assume-unchanged": func(t *testing.T, s *site, p Plan) { runGit(t, p.Path, "update-index", "--assume-unchanged", "README") },
		"skip-worktree":    func(t *testing.T, s *site, p Plan) { runGit(t, p.Path, "update-index", "--skip-worktree", "README") },
		"split index":      func(t *testing.T, s *site, p Plan) { runGit(t, p.Path, "update-index", "--split-index") },
		"read-only directories": func(t *testing.T, s *site, p Plan) {
			write(t, filepath.Join(p.Path, "build/mod/x/y"), "x")
			must(t, os.Chmod(filepath.Join(p.Path, "build/mod/x"), 0o500))
			must(t, os.Chmod(filepath.Join(p.Path, "build/mod"), 0o500))
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			before := snapshot(t, filepath.Join(s.project, "src"))
			p := s.make("ann")
			do(t, s, p)
			write(t, filepath.Join(p.Path, "README"), "changed\n")
			write(t, filepath.Join(p.Path, "left"), "left")
			r := s.finalise(p, true)
			if !r.Removed || there(p.Path) || r.Base != p.Base {
				t.Errorf("%+v", r)
			}
			if out := s.git("diff", "--name-status", p.Base, p.Branch); out != "M\tREADME\nA\tleft" {
				t.Error(out)
			}
			if out := s.git("status", "--porcelain"); out != "" || s.git("rev-parse", "main") != p.Base {
				t.Errorf("the main checkout: %s", out)
			}
			same(t, "the main checkout", before, snapshot(t, filepath.Join(s.project, "src")))
		})
	}
}

// The directory is gone, or is nobody's.
func TestFinaliseGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	write(t, filepath.Join(p.Path, "c"), "c")
	runGit(t, p.Path, "add", "c")
	runGit(t, p.Path, "commit", "-q", "-m", "c")
	other := filepath.Join(filepath.Dir(s.project), "other")
	s.git("worktree", "add", "-q", "-b", "other", other)
	must(t, os.RemoveAll(other))
	must(t, os.RemoveAll(p.Path))
	r := s.finalise(p, true)
	if !r.Removed || !r.Changed || r.Base != p.Base || there(filepath.Join(s.project, ".git/worktrees/ann-1")) {
		t.Errorf("%+v", r)
	}
	if !there(filepath.Join(s.project, ".git/worktrees/other")) {
		t.Error("git's record of somebody else's worktree is gone")
	}
	write(t, filepath.Join(p.Path, "x"), "of somebody")
	r, err := Finalise(t.Context(), s.finish(p, true))
	if errs.CodeOf(err) != errs.Conflict || r.Kept == "" || !there(filepath.Join(p.Path, "x")) {
		t.Errorf("%+v %v", r, err)
	}
}

// What cannot be read or stored is told, the rest is committed, nothing goes.
func TestFinaliseUnreadable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	s.git("config", "filter.bad.clean", "false")
	s.git("config", "filter.bad.required", "true")
	s.write(".git/info/attributes", "bad* filter=bad\n")
	write(t, filepath.Join(p.Path, "bad"), "bad")
	write(t, filepath.Join(p.Path, "good"), "good")
	r, err := Finalise(t.Context(), s.finish(p, true))
	if err == nil || r.Removed || r.Kept == "" || !there(filepath.Join(p.Path, "bad")) {
		t.Fatalf("%+v %v", r, err)
	}
	wantIn(t, "why", r.Kept, "bad")
	s.git("config", "--unset", "filter.bad.required")
	s.git("config", "--unset", "filter.bad.clean")
	if r := s.finalise(p, true); !r.Removed {
		t.Errorf("%+v", r)
	}
	s.has(p.Branch, "bad", "bad")
	s.has(p.Branch, "good", "good")
}

// A tree without any file is one too.
func TestFinaliseEmpty(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	for _, name := range []string{"README", "src", ".gitignore"} {
		must(t, os.RemoveAll(filepath.Join(p.Path, name)))
	}
	if r := s.finalise(p, true); !r.Removed || s.git("ls-tree", p.Branch) != "" {
		t.Errorf("%+v", r)
	}
	s.git("merge", "-q", p.Branch)
	p = s.make("ann")
	if r := s.finalise(p, false); r.Commit != "" {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(p.Path, "new"), "x")
	if r := s.finalise(p, true); !r.Removed || r.Commit == "" {
		t.Errorf("%+v", r)
	}
}

// A record that cannot be read keeps the directory, and nothing else.
func TestFinaliseBrokenRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	s.write(".git/teams-worktrees/ann-1.json", "garbage")
	write(t, filepath.Join(p.Path, "left"), "left")
	r := s.finalise(p, true)
	if r.Removed || r.Commit == "" || r.Base != p.Base {
		t.Errorf("%+v", r)
	}
	wantIn(t, "why", r.Kept, "ann-1.json", "is not the record")
	s.has(p.Branch, "left", "left")
	if i := s.list()["ann-1"]; !strings.Contains(i.Problem, "is not the record") {
		t.Errorf("%+v", i)
	}
	must(t, os.Remove(filepath.Join(s.project, ".git/teams-worktrees/ann-1.json")))
	if r := s.finalise(p, true); !r.Removed {
		t.Errorf("%+v", r)
	}
}

// A git that still works there keeps the directory.
func TestFinaliseBusy(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("there is no /proc to see processes in")
	}
	s := newSite(t)
	p := s.make("ann")
	write(t, filepath.Join(p.Path, "left"), "left")
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir = p.Path
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	lock := filepath.Join(s.project, ".git/worktrees/ann-1/index.lock")
	write(t, lock, "")
	r := s.finalise(p, true)
	if r.Removed || r.Commit == "" || !there(lock) {
		t.Errorf("%+v", r)
	}
	wantIn(t, "why", r.Kept, "a git seems to be at work")
	stdin.Close()
	must(t, cmd.Wait())
	if r := s.finalise(p, true); !r.Removed || r.Commit != "" {
		t.Errorf("%+v", r)
	}
	s.has(p.Branch, "left", "left")
}
