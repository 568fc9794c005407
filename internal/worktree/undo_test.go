package worktree

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Nothing was done: nothing is left.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := snapshot(t, s.project)
	p := s.make("ann")
	for range 2 {
		if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
			t.Error(kept, err)
		}
		same(t, "after undo", before, snapshot(t, s.project))
	}
	if q := s.plan("ann"); q.Path != p.Path {
		t.Errorf("the number %s is lost", p.Path)
	}
}

// What somebody did stays, and what another life made.
func TestUndoKeeps(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		why string
		do  func(s *site, p Plan)
	}{
		"a changed file": {"README", func(s *site, p Plan) { write(s.t, filepath.Join(p.Path, "README"), "more") }},
		"a new file":     {"new", func(s *site, p Plan) { write(s.t, filepath.Join(p.Path, "new"), "more") }},
		"a deleted file": {"README", func(s *site, p Plan) { os.Remove(filepath.Join(p.Path, "README")) }},
		"a hidden change": {"README", func(s *site, p Plan) {
			runGit(s.t, p.Path, "update-index", "--assume-unchanged", "README")
			write(s.t, filepath.Join(p.Path, "README"), "more")
		}},
		"a skipped change": {"README", func(s *site, p Plan) {
			runGit(s.t, p.Path, "update-index", "--skip-worktree", "README")
			write(s.t, filepath.Join(p.Path, "README"), "more")
		}},
		"a commit":       {"HEAD has moved", func(s *site, p Plan) { runGit(s.t, p.Path, "commit", "-q", "--allow-empty", "-m", "x") }},
		"another branch": {"HEAD has moved", func(s *site, p Plan) { runGit(s.t, p.Path, "checkout", "-q", "-b", "mine") }},
		"a commit elsewhere": {"has commits", func(s *site, p Plan) {
			tree := s.git("rev-parse", "HEAD^{tree}")
			commit := s.git("commit-tree", tree, "-m", "x", "-p", "HEAD")
			if err := os.RemoveAll(p.Path); err != nil {
				s.t.Fatal(err)
			}
			s.git("update-ref", "refs/heads/"+p.Branch, commit)
		}},
		"a repository": {"changes", func(s *site, p Plan) {
			runGit(s.t, p.Path, "init", "-q", "inner")
		}},
		"a lock": {"locked: by me", func(s *site, p Plan) { s.git("worktree", "lock", "--reason", "by me", p.Path) }},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			p := s.make("ann")
			c.do(s, p)
			before := snapshot(t, s.project)
			kept, err := Undo(t.Context(), p.Tree)
			if err != nil {
				t.Fatal(err)
			}
			wantIn(t, what, kept, c.why)
			same(t, what, before, snapshot(t, s.project))
		})
	}
	t.Run("of another life", func(t *testing.T) {
		s := newSite(t)
		p := s.make("ann")
		before := snapshot(t, s.project)
		p.Owner = "another"
		if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
			t.Error(kept, err)
		}
		same(t, "another life's", before, snapshot(t, s.project))
	})
	t.Run("without a repository", func(t *testing.T) {
		needGit(t)
		dir := t.TempDir()
		tree := Tree{Project: dir, Path: filepath.Join(dir, ".pi/worktrees/ann-1"), Branch: "teams/ann-1", Owner: "o"}
		if kept, err := Undo(t.Context(), tree); kept != "" || err != nil {
			t.Error(kept, err)
		}
		write(t, filepath.Join(tree.Path, "x"), "x")
		if kept, err := Undo(t.Context(), tree); kept == "" || err != nil {
			t.Error(kept, err)
		}
	})
}

// killAfter kills a process after the nth of m parts of the time that it takes
// as a whole, and says whether that was before its end. The time becomes less
// when the process was faster.
func killAfter(t *testing.T, cmd *exec.Cmd, whole *time.Duration, n, m int) bool {
	t.Helper()
	begin := time.Now()
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		*whole = min(*whole, time.Since(begin))
		return err != nil
	case <-time.After(*whole * time.Duration(n) / time.Duration(m)):
	}
	_ = cmd.Process.Kill()
	return <-ended != nil
}

// Create is killed at any moment, its git goes on, and Undo leaves everything
// as it was before.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 100 {
		s.write(fmt.Sprintf("many/%d/file", i), strings.Repeat("text\n", 5000))
	}
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "many")
	s.git("pack-refs", "--all")
	s.hook("post-checkout", "sleep 0.05")
	before := snapshot(t, s.project)

	begin := time.Now()
	cmd := s.helper("create", "ann", "whole")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	whole := time.Since(begin)
	tree := Tree{Project: s.project, Path: filepath.Join(s.project, ".pi/worktrees/ann-1"), Branch: "teams/ann-1", Owner: "whole"}
	if kept, err := Undo(t.Context(), tree); kept != "" || err != nil {
		t.Fatal(kept, err)
	}
	same(t, "after undo of a whole one", before, snapshot(t, s.project))

	kills := 10
	if *long {
		kills = 200
	}
	killed := 0
	for i := range kills {
		cmd := s.helper("create", "ann", fmt.Sprint("life ", i))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if killAfter(t, cmd, &whole, i+2, kills+2) {
			killed++
		}
		tree.Owner = fmt.Sprint("life ", i)
		if kept, err := Undo(t.Context(), tree); kept != "" || err != nil {
			t.Fatalf("kill %d: kept %q, %v", i, kept, err)
		}
		after := snapshot(t, s.project)
		same(t, fmt.Sprintf("kill %d", i), before, after)
		if t.Failed() {
			t.Fatalf("the creator said: %s", out.String())
		}
	}
	if killed < 2 {
		t.Errorf("only %d were killed", killed)
	}
	if p := s.make("ann"); filepath.Base(p.Path) != "ann-1" {
		t.Error(p.Path)
	}
}

// Git dies alone at any moment: Create tells, and undoes.
func TestGitKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 100 {
		s.write(fmt.Sprintf("many/%d/file", i), strings.Repeat("text\n", 5000))
	}
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "many")
	before := snapshot(t, s.project)
	failed := 0
	for i := range 6 {
		p := s.plan("ann")
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Duration(i) * 2 * time.Millisecond)
			for {
				if rec, _ := p.repo.readRecord(p.Path); rec != nil && rec.Git != nil {
					if git, err := os.FindProcess(rec.Git.PID); err == nil {
						_ = git.Kill()
					}
				}
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		_, err := Create(t.Context(), p)
		close(stop)
		<-done
		if err != nil {
			failed++
		} else if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
			t.Fatal(kept, err)
		}
		same(t, fmt.Sprintf("kill %d, %v", i, err), before, snapshot(t, s.project))
		if t.Failed() {
			t.FailNow()
		}
	}
	if failed == 0 {
		t.Error("git was never killed")
	}
}

// Finalise is killed at any moment, and the next one goes on: whatever was
// there is on the branch, once, and nothing that was not.
func TestFinaliseKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fill := func() Plan {
		p := s.make("ann")
		for i := range 60 {
			write(t, filepath.Join(p.Path, fmt.Sprintf("new/%d/file", i)), fmt.Sprint(i))
		}
		must(t, os.Remove(filepath.Join(p.Path, "README")))
		return p
	}
	p := fill()
	begin := time.Now()
	if out, err := s.helper("finalise", filepath.Base(p.Path), p.Owner).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	whole := time.Since(begin)
	kills := 6
	if *long {
		kills = 100
	}
	killed := 0
	for i := range kills {
		p := fill()
		cmd := s.helper("finalise", filepath.Base(p.Path), p.Owner)
		if killAfter(t, cmd, &whole, i+1, kills+1) {
			killed++
		}
		r := s.finalise(p, true)
		if !r.Removed || there(p.Path) || r.Branch != p.Branch || r.Base == "" {
			t.Errorf("kill %d: %+v", i, r)
		}
		out := s.git("diff", "--name-status", p.Base, p.Branch)
		if strings.Count(out, "A\tnew/") != 60 || strings.Count(out, "\n") != 60 || !strings.HasPrefix(out, "D\tREADME\n") {
			t.Errorf("kill %d: %s", i, out)
		}
		if n := s.git("rev-list", "--count", p.Base+".."+p.Branch); n != "1" {
			t.Errorf("kill %d: %s commits", i, n)
		}
	}
	if killed < 2 {
		t.Errorf("only %d were killed", killed)
	}
	left, err := filepath.Glob(filepath.Join(s.project, ".pi/worktrees/*"))
	hidden, herr := filepath.Glob(filepath.Join(s.project, ".pi/worktrees/.removing*"))
	if len(left)+len(hidden) > 0 || err != nil || herr != nil || there(filepath.Join(s.project, ".git/worktrees")) || there(filepath.Join(s.project, ".git/teams-worktrees")) {
		t.Error(left, hidden, err, herr, shell(t, "cd "+s.project+"/.git && find worktrees teams-worktrees"))
	}
}
