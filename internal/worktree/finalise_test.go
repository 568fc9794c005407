package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nothing done: no commit, and the branch stays.
func TestFinaliseUnchanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	write(t, filepath.Join(p.Path, "main.o"), "ignored")
	r := s.finalise(p, false)
	if r.Commit != "" || r.Changed || r.Removed || r.Kept != "" || !there(p.Path) || r.Head != p.Base || r.Base != p.Base || r.Branch != p.Branch {
		t.Errorf("%+v", r)
	}
	r = s.finalise(p, true)
	if !r.Removed || there(p.Path) || s.tip(p.Branch) != p.Base {
		t.Errorf("%+v", r)
	}
	if out := s.git("worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		t.Error(out)
	}
	if there(filepath.Join(s.project, ".git/teams-worktrees")) || there(filepath.Join(s.project, ".git/worktrees")) {
		t.Error("records are left")
	}
	// Again: there is nothing to do.
	if again := s.finalise(p, true); !again.Removed || again.Head != p.Base || again.Changed {
		t.Errorf("%+v", again)
	}
}

// All that git can store is stored.
func TestFinaliseChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("old", "to be renamed, and long enough to be found again\n")
	s.write("gone", "x")
	s.write("tool.sh", "#!/bin/sh\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "second")
	p := s.make("ann")
	at := func(name string) string { return filepath.Join(p.Path, name) }
	write(t, at("README"), "changed\n")
	must(t, os.Rename(at("old"), at("renamed")))
	must(t, os.Remove(at("gone")))
	must(t, os.Chmod(at("tool.sh"), 0o755))
	must(t, os.Symlink("../nowhere", at("link")))
	must(t, os.Symlink("src", at("dirlink")))
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	big := make([]byte, 3<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range big {
		big[i] = byte(rng.Uint32())
	}
	write(t, at("big.bin"), string(big))
	for i := range 200 {
		write(t, at(fmt.Sprintf("many/%d/f", i)), fmt.Sprint(i))
	}
	for _, name := range []string{"a b", "ü", "line\nbreak", "tab\t", "\"quoted\"", ":(top)x", "*", "-x", "\xff\xfe"} {
		write(t, at("odd/"+name), name)
	}
	write(t, at("build/ignored"), "x")
	write(t, at("staged"), "first")
	runGit(t, p.Path, "add", "staged")
	write(t, at("staged"), "second")
	must(t, os.MkdirAll(at("empty/dir"), 0o755))

	r := s.finalise(p, true)
	if r.Commit == "" || !r.Removed || !r.Changed || !r.Cut && len(r.Preview) < 60<<10 && !strings.Contains(r.Preview, "many/199") {
		t.Fatalf("%+v", r)
	}
	for name, text := range map[string]string{"README": "changed\n", "renamed": "to be renamed, and long enough to be found again\n", "link": "../nowhere",
		"dirlink": "src", "big.bin": string(big), "many/199/f": "199", "odd/line\nbreak": "line\nbreak", "odd/*": "*", "odd/\xff\xfe": "\xff\xfe", "staged": "second"} {
		if out, err := tryGit(s.project, "cat-file", "blob", p.Branch+":"+name); err != nil || out != text {
			t.Errorf("%q is wrong: %v", name, err)
		}
	}
	for _, name := range []string{"gone", "old", "build/ignored", "pipe"} {
		if _, err := tryGit(s.project, "cat-file", "-e", p.Branch+":"+name); err == nil {
			t.Errorf("%q is there", name)
		}
	}
	if mode := s.git("ls-tree", p.Branch, "tool.sh"); !strings.HasPrefix(mode, "100755 ") {
		t.Error(mode)
	}
	wantIn(t, "the stat", r.Stat, "README", "files changed", "big.bin")
	if parent := s.git("rev-parse", r.Commit+"^"); parent != p.Base {
		t.Error(parent)
	}
	if message := s.git("log", "-1", "--format=%B|%an|%cn", r.Commit); message != "Leftovers\n|ann|ann" {
		t.Errorf("%q", message)
	}
	if out := shell(t, r.Command); !strings.HasPrefix(out, "diff --git") || !strings.Contains(out, "many/42/f") {
		t.Error(out)
	}
	wantIn(t, "the text", r.Text(), p.Branch, r.Commit[:12], r.Command, "files changed")
	if out := s.git("fsck", "--no-dangling"); out != "" {
		t.Error(out)
	}
	again := s.finalise(p, true)
	if again.Commit != "" || again.Head != r.Head || again.Stat != r.Stat || again.Preview != r.Preview || again.Command != r.Command {
		t.Errorf("again: %+v", again)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The preview ends with a line, and the settings of the user do not matter.
func TestPreview(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for key, value := range map[string]string{"diff.noprefix": "true", "diff.external": "false", "color.ui": "always", "core.pager": "false",
		"diff.orderFile": "nowhere", "diff.renames": "false", "diff.relative": "true", "diff.submodule": "log", "core.quotePath": "true", "diff.statGraphWidth": "1"} {
		s.git("config", key, value)
	}
	p := s.make("ann")
	write(t, filepath.Join(p.Path, "long"), strings.Repeat(strings.Repeat("x", 99)+"\n", 5000))
	write(t, filepath.Join(p.Path, "largest"), strings.Repeat("y", 200<<10))
	r := s.finalise(p, false)
	if !r.Cut || len(r.Preview) > 64<<10 || len(r.Preview) < 1 || !strings.HasSuffix(r.Preview, "\n") || !strings.HasPrefix(r.Preview, "diff --git a/largest b/largest\n") {
		t.Errorf("cut %v, %d bytes: %.200q", r.Cut, len(r.Preview), r.Preview)
	}
	wantIn(t, "the text", r.Text(), "[… the rest is cut]")
	s.git("config", "--unset", "diff.external")
	s.git("config", "--unset", "diff.orderFile")
	s.git("config", "--unset", "color.ui")
	if out := shell(t, r.Command); strings.Count(out, "xxx\n") < 4999 {
		t.Errorf("the command shows %d bytes", len(out))
	}
}

// HEAD is not where it should be: nothing is lost.
func TestFinaliseElsewhere(t *testing.T) {
	t.Parallel()
	commit := func(t *testing.T, p Plan, name string) {
		write(t, filepath.Join(p.Path, name), name)
		runGit(t, p.Path, "add", name)
		runGit(t, p.Path, "commit", "-q", "-m", name)
	}
	for what, c := range map[string]struct {
		branch string
		others string
		files  []string // on branch
		do     func(t *testing.T, s *site, p Plan)
	}{
		"detached and changed": {"teams/ann-1-detached", "", []string{"left"}, func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "checkout", "-q", "--detach")
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"detached with a commit": {"teams/ann-1-detached", "", []string{"c"}, func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "checkout", "-q", "--detach")
			commit(t, p, "c")
		}},
		"detached beside its branch": {"teams/ann-1-detached", "teams/ann-1", []string{"c", "left"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "own")
			runGit(t, p.Path, "checkout", "-q", "--detach", "HEAD^")
			commit(t, p, "c")
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"detached before its branch": {"teams/ann-1", "", []string{"own"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "own")
			runGit(t, p.Path, "checkout", "-q", "--detach", "HEAD^")
		}},
		"detached, and the name is taken": {"teams/ann-1-detached-2", "", []string{"c"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "other")
			runGit(t, p.Path, "branch", "teams/ann-1-detached")
			runGit(t, p.Path, "reset", "-q", "--hard", "HEAD^")
			runGit(t, p.Path, "checkout", "-q", "--detach")
			commit(t, p, "c")
		}},
		"on a branch of its own": {"mine", "", []string{"c", "left"}, func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "checkout", "-q", "-b", "mine")
			commit(t, p, "c")
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"on an orphan": {"alone", "teams/ann-1", []string{"left", "README"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "own")
			runGit(t, p.Path, "checkout", "-q", "--orphan", "alone")
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"its branch was deleted": {"teams/ann-1", "", []string{"left"}, func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "update-ref", "-d", "refs/heads/teams/ann-1")
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"in a rebase": {"teams/ann-1-detached", "teams/ann-1", []string{"theirs", "left"}, func(t *testing.T, s *site, p Plan) {
			write(t, filepath.Join(p.Path, "README"), "mine\n")
			runGit(t, p.Path, "commit", "-q", "-a", "-m", "mine")
			s.write("theirs", "theirs")
			s.write("README", "yours\n")
			s.git("add", "-A")
			s.git("commit", "-q", "-m", "yours")
			if _, err := tryGit(p.Path, "rebase", "-q", "main"); err == nil {
				t.Fatal("there is no conflict")
			}
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
		"in a merge": {"teams/ann-1", "", []string{"theirs"}, func(t *testing.T, s *site, p Plan) {
			write(t, filepath.Join(p.Path, "README"), "mine\n")
			runGit(t, p.Path, "commit", "-q", "-a", "-m", "mine")
			s.write("theirs", "theirs")
			s.write("README", "yours\n")
			s.git("add", "-A")
			s.git("commit", "-q", "-m", "yours")
			if _, err := tryGit(p.Path, "merge", "-q", "main"); err == nil {
				t.Fatal("there is no conflict")
			}
		}},
		"in a merge without conflicts": {"teams/ann-1", "", []string{"theirs"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "own")
			s.write("theirs", "theirs")
			s.git("add", "-A")
			s.git("commit", "-q", "-m", "yours")
			runGit(t, p.Path, "merge", "-q", "--no-commit", "--no-ff", "main")
		}},
		"in a cherry-pick": {"teams/ann-1", "", []string{"left"}, func(t *testing.T, s *site, p Plan) {
			commit(t, p, "own")
			s.write("own", "yours\n")
			s.git("add", "-A")
			s.git("commit", "-q", "-m", "yours")
			if _, err := tryGit(p.Path, "cherry-pick", "main"); err == nil {
				t.Fatal("there is no conflict")
			}
			write(t, filepath.Join(p.Path, "left"), "left")
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			p := s.make("ann")
			c.do(t, s, p)
			refs := s.git("for-each-ref", "--format=%(objectname)", "refs/heads")
			first := s.finalise(p, false)
			if out := runGit(t, p.Path, "status", "--porcelain"); out != "" {
				t.Errorf("not clean: %s", out)
			}
			// What was under way on its branch is over; a rebase can be taken up again.
			if out := runGit(t, p.Path, "status"); strings.Contains(what, "merge") && !strings.Contains(out, "nothing to commit") || strings.Contains(out, "merging") || strings.Contains(out, "cherry-pick") {
				t.Error(out)
			}
			r := s.finalise(p, true)
			if r.Branch != c.branch || strings.Join(r.Others, " ") != c.others || !r.Removed || r.Commit != "" || r.Head != first.Head || first.Branch != c.branch {
				t.Errorf("first %+v\nthen %+v", first, r)
			}
			for _, name := range c.files {
				if name == "README" {
					continue
				}
				s.has(c.branch, name, name)
			}
			for id := range strings.Lines(refs) {
				if out := s.git("branch", "--contains", strings.TrimSpace(id)); out == "" {
					t.Errorf("%s is lost", id)
				}
			}
			if what == "in a merge" {
				if parents := s.git("log", "-1", "--format=%P", first.Commit); len(strings.Fields(parents)) != 2 || len(first.Conflicts) != 1 || first.Conflicts[0] != "README" {
					t.Errorf("%s %v", parents, first.Conflicts)
				}
				wantIn(t, "the message", s.git("log", "-1", "--format=%B", first.Commit), "merge was under way", "README")
			}
			shell(t, r.Command)
			if list := s.git("branch", "--list", "*detached*"); strings.Contains(c.branch, "detached") != (list != "") {
				t.Error(list)
			}
		})
	}
}

// What cannot be committed keeps the directory.
func TestFinaliseKeeps(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		why string
		do  func(t *testing.T, s *site, p Plan)
	}{
		"a repository": {"clone/", func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "clone", "-q", s.project, "clone")
		}},
		"an empty repository": {"inner/", func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "init", "-q", "inner")
		}},
		"a repository that was committed": {"repository clone", func(t *testing.T, s *site, p Plan) {
			runGit(t, p.Path, "clone", "-q", s.project, "clone")
			runGit(t, filepath.Join(p.Path, "clone"), "commit", "-q", "--allow-empty", "-m", "x")
			runGit(t, p.Path, "add", "clone")
		}},
		"its .git is another": {"another repository", func(t *testing.T, s *site, p Plan) {
			must(t, os.Remove(filepath.Join(p.Path, ".git")))
			runGit(t, p.Path, "init", "-q")
		}},
		"a lock": {"locked: by me", func(t *testing.T, s *site, p Plan) {
			s.git("worktree", "lock", "--reason", "by me", p.Path)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			p := s.make("ann")
			c.do(t, s, p)
			write(t, filepath.Join(p.Path, "left"), "left")
			for range 2 {
				r := s.finalise(p, true)
				if r.Removed || !there(filepath.Join(p.Path, "left")) || !there(filepath.Join(s.project, ".git/worktrees/ann-1")) {
					t.Errorf("%+v", r)
				}
				wantIn(t, "why", r.Kept, c.why)
				wantIn(t, "the text", r.Text(), "stays", c.why)
			}
			s.has(p.Branch, "left", "left")
		})
	}
}

func TestFinaliseSubmodule(t *testing.T) {
	t.Parallel()
	lib := newSite(t)
	make := func(t *testing.T) (*site, Plan, string) {
		s := newSite(t)
		s.git("submodule", "--quiet", "add", lib.project, "lib")
		s.git("commit", "-q", "-m", "lib")
		p := s.make("ann")
		runGit(t, p.Path, "submodule", "--quiet", "update", "--init")
		return s, p, filepath.Join(p.Path, "lib")
	}
	t.Run("clean", func(t *testing.T) {
		s, p, _ := make(t)
		if r := s.finalise(p, true); !r.Removed || r.Commit != "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("dirty", func(t *testing.T) {
		s, p, sub := make(t)
		write(t, filepath.Join(sub, "new"), "x")
		r := s.finalise(p, true)
		wantIn(t, "why", r.Kept, "changes: lib")
		if r.Removed || !there(filepath.Join(sub, "new")) {
			t.Errorf("%+v", r)
		}
	})
	t.Run("with a commit", func(t *testing.T) {
		s, p, sub := make(t)
		runGit(t, sub, "commit", "-q", "--allow-empty", "-m", "x")
		r := s.finalise(p, true)
		wantIn(t, "why", r.Kept, "repository lib in it has something of its own")
		if r.Removed || r.Commit == "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("moved", func(t *testing.T) {
		lib.git("commit", "-q", "--allow-empty", "-m", "later")
		s, p, sub := make(t)
		runGit(t, sub, "checkout", "-q", "HEAD^")
		if r := s.finalise(p, true); !r.Removed || r.Commit == "" {
			t.Errorf("%+v", r)
		}
		lib.git("reset", "-q", "--hard", "HEAD^")
	})
}
