package agentdefs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// needGit skips a test where git is not installed.
func needGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// managed maps the names of agents to what git says of them.
func (tr *tree) managed() map[string]bool {
	s := tr.discover()
	s.AskGit(tr.t.Context())
	out := map[string]bool{}
	for _, a := range s.Agents {
		out[a.Name] = a.GitManaged
	}
	return out
}

func (tr *tree) wantManaged(what string, want map[string]bool) {
	tr.t.Helper()
	got := tr.managed()
	for name, managed := range want {
		if now, ok := got[name]; !ok || now != managed {
			tr.t.Errorf("%s: %s is managed: %v, want %v", what, name, now, managed)
		}
	}
}

// The scope is an assumption, the index the answer.
func TestGitManaged(t *testing.T) {
	needGit(t)
	tr := newTree(t)
	tr.write(Project, "tracked.md", good("tracked", "d"))
	tr.write(Project, "new.md", good("new", "d"))
	tr.write(ProjectLocal, "own.local.md", good("own", "d"))
	leaked := tr.write(ProjectLocal, "leaked.local.md", good("leaked", "d"))
	tr.write(User, "home.md", good("home", "d"))
	assumed := map[string]bool{"tracked": true, "new": true, "own": false, "leaked": false, "home": false}
	tr.wantManaged("no repository", assumed)

	app := tr.dirs.Project
	tr.git(app, "init", "-q")
	tr.git(app, "add", ".pi/agents/tracked.md", ".pi/agents/leaked.local.md")
	answer := map[string]bool{"tracked": true, "new": false, "own": false, "leaked": true, "home": false}
	tr.wantManaged("in the index", answer)
	tr.git(app, "commit", "-q", "-m", "roles")
	tr.wantManaged("committed", answer)

	s := tr.discover()
	if has(s.Check(), Warning, leaked, 0, "git tracks") {
		t.Error("told before git was asked")
	}
	s.AskGit(t.Context())
	if list := s.Check(); len(list) != 1 || !has(list, Warning, leaked, 0, "git tracks", "git rm --cached") {
		t.Error(dump(list))
	}

	// Whatever a hook has set points elsewhere.
	t.Run("hook", func(t *testing.T) {
		t.Setenv("GIT_DIR", t.TempDir())
		t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "index"))
		t.Setenv("GIT_LITERAL_PATHSPECS", "1")
		tr.wantManaged("in a hook", answer)
	})
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		tr.wantManaged("without git", assumed)
	})
	t.Run("broken repository", func(t *testing.T) {
		index := filepath.Join(app, ".git", "index")
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(index, before, 0o600)
		if err := os.WriteFile(index, []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
		tr.wantManaged("with a broken index", assumed)
	})
	t.Run("ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := tr.discover()
		s.AskGit(ctx)
		if a, _ := s.Resolve("new"); !a.GitManaged {
			t.Error("no answer is no answer")
		}
	})

	// A linked worktree has an index of its own.
	t.Run("worktree", func(t *testing.T) {
		wt := &tree{t, Dirs{Root: tr.dirs.Root, Project: filepath.Join(filepath.Dir(app), "wt")}}
		tr.git(app, "worktree", "add", "-q", wt.dirs.Project, "-b", "side")
		wt.wantManaged("in a worktree", map[string]bool{"tracked": true, "leaked": true})
		wt.write(Project, "new.md", good("new", "d"))
		wt.git(wt.dirs.Project, "rm", "-q", "--cached", ".pi/agents/tracked.md")
		wt.git(wt.dirs.Project, "add", ".pi/agents/new.md")
		wt.wantManaged("in a worktree", map[string]bool{"tracked": false, "new": true})
		tr.wantManaged("in the main checkout", answer)
	})
}

// A definition of the user in a repository of the user is managed too.
func TestGitManagedUser(t *testing.T) {
	needGit(t)
	tr := newTree(t)
	tr.write(User, "a.md", good("a", "d"))
	tr.write(User, "ä b\n.md", good("b", "d")) // git quotes such names
	tr.write(User, "sub/c.md", good("c", "d"))
	tr.git(tr.dirs.Root, "init", "-q")
	tr.git(tr.dirs.Root, "add", ".")
	tr.wantManaged("the user's", map[string]bool{"a": true, "b": true})
}

// A git that hangs is not waited for.
func TestGitHangs(t *testing.T) {
	tr := newTree(t)
	tr.write(Project, "a.md", good("a", "d"))
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	s := tr.discover()
	s.AskGit(ctx)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("waited %v", took)
	}
	if a, _ := s.Resolve("a"); !a.GitManaged {
		t.Error("no answer is no answer")
	}
}
