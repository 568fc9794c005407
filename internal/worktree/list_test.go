package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// list lists the worktrees by the names of their directories.
func (s *site) list() map[string]Info {
	s.t.Helper()
	list, err := List(s.t.Context(), s.project)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]Info{}
	for i, info := range list {
		if i > 0 && list[i-1].Path > info.Path {
			s.t.Error("not in order")
		}
		out[filepath.Base(info.Path)] = info
	}
	if len(out) != len(list) {
		s.t.Errorf("%+v", list)
	}
	return out
}

func free(Info) string { return "" }

func TestList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got := s.list(); len(got) != 0 {
		t.Error(got)
	}
	commit := func(p Plan) {
		write(t, filepath.Join(p.Path, "c"), "12345")
		runGit(t, p.Path, "add", "c")
		runGit(t, p.Path, "commit", "-q", "-m", p.Branch)
	}
	clean, dirty, ahead, merged, merging, moved, gone := s.make("clean"), s.make("dirty"), s.make("ahead"), s.make("merged"), s.make("merging"), s.make("moved"), s.make("gone")
	write(t, filepath.Join(dirty.Path, "README"), "changed")
	write(t, filepath.Join(clean.Path, "build/ignored"), strings.Repeat("x", 1000))
	must(t, os.Link(filepath.Join(clean.Path, "build/ignored"), filepath.Join(clean.Path, "build/again")))
	must(t, os.Symlink(s.project, filepath.Join(clean.Path, "build/link")))
	commit(ahead)
	commit(merged)
	commit(merging)
	s.git("merge", "-q", "--no-ff", "-m", "merge", merged.Branch)
	runGit(t, merging.Path, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "main")
	elsewhere := filepath.Join(filepath.Dir(s.project), "elsewhere")
	s.git("worktree", "move", moved.Path, elsewhere)
	s.git("worktree", "add", "-q", "-b", "mine", filepath.Join(filepath.Dir(s.project), "mine"))
	s.git("worktree", "add", "-q", "-b", "pi/wf/run-1", filepath.Join(s.project, ".pi/worktrees/run-1"))
	s.git("worktree", "add", "-q", "--detach", filepath.Join(s.project, ".pi/worktrees/loose"))
	must(t, os.RemoveAll(gone.Path))
	s.write(".pi/worktrees/stray/file", "123")
	s.write(".pi/worktrees/file", "123")
	s.write(".pi/worktrees/.removing-x-1/file", "123")

	got := s.list()
	for name, want := range map[string]Info{
		"clean-1":   {Branch: "teams/clean-1", Merged: true, Managed: true},
		"dirty-1":   {Branch: "teams/dirty-1", Merged: true, Managed: true, Dirty: true},
		"ahead-1":   {Branch: "teams/ahead-1", Managed: true},
		"merged-1":  {Branch: "teams/merged-1", Merged: true, Managed: true},
		"merging-1": {Branch: "teams/merging-1", Managed: true, Dirty: true},
		"elsewhere": {Branch: "teams/moved-1", Merged: true, Managed: true},
		"gone-1":    {Branch: "teams/gone-1", Merged: true, Managed: true, Missing: true},
		"run-1":     {Branch: "pi/wf/run-1", Merged: true, Managed: true},
		"loose":     {Merged: true, Managed: true},
		"stray":     {Dirty: true, Problem: "git does not know it"},
	} {
		i, ok := got[name]
		i2 := Info{Branch: i.Branch, Merged: i.Merged, Managed: i.Managed, Missing: i.Missing, Dirty: i.Dirty, Problem: i.Problem, Partial: i.Partial, Unready: i.Unready}
		if !ok || i2 != want {
			t.Errorf("%s: %+v, want %+v", name, i2, want)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d worktrees: %v", len(got), got)
	}
	if i := got["clean-1"]; i.Base != clean.Base || i.Head != clean.Base || i.Owner != clean.Owner {
		t.Errorf("%+v", i)
	}
	if got["stray"].Bytes != 3 {
		t.Error(got["stray"].Bytes)
	}
	if n := got["clean-1"].Bytes - got["run-1"].Bytes; n < 1000 || n > 1500 {
		t.Errorf("the ignored file with two names and the link count %d bytes", n)
	}

	// gc removes exactly what is clean and merged.
	for name, why := range map[string]string{
		"clean-1": "", "merged-1": "", "gone-1": "", "dirty-1": "changes", "ahead-1": "not merged", "merging-1": "changes",
		"elsewhere": "does not lie in", "run-1": "not a teammate's", "loose": "not a teammate's", "stray": "git does not know it",
	} {
		refs := s.git("for-each-ref")
		if kept, err := RemoveClean(t.Context(), s.project, got[name], func(Info) string { return "somebody is there" }, false); kept == "" || err != nil {
			t.Errorf("%s in use: %q %v", name, kept, err)
		}
		dry, err := RemoveClean(t.Context(), s.project, got[name], free, true)
		if _, gone := os.Lstat(got[name].Path); err != nil || gone != nil && name != "gone-1" {
			t.Errorf("%s: %v, is gone after a dry run: %v", name, err, gone)
		}
		kept, err := RemoveClean(t.Context(), s.project, got[name], free, false)
		if kept != dry {
			t.Errorf("%s: a dry run says %q, then it is %q", name, dry, kept)
		}
		if err != nil || !strings.Contains(kept, why) || (why == "") != (kept == "") {
			t.Errorf("%s: %q %v, want %q", name, kept, err, why)
		}
		if left := there(got[name].Path); left == (why == "") {
			t.Errorf("%s: is there %v", name, left)
		}
		if now := s.git("for-each-ref"); now != refs {
			t.Errorf("%s: the branches changed", name)
		}
	}
	must(t, FinishRemovals(t.Context(), s.project))
	if there(filepath.Join(s.project, ".pi/worktrees/.removing-x-1")) {
		t.Error("a removal was not finished")
	}
	if n := len(s.list()); n != 7 {
		t.Errorf("%d are left", n)
	}
}

// What changed since it was listed is looked at again.
func TestRemoveCleanLooksAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.make("ann")
	info := s.list()["ann-1"]
	write(t, filepath.Join(p.Path, "new"), "x")
	if kept, err := RemoveClean(t.Context(), s.project, info, free, false); kept == "" || err != nil || !there(p.Path) {
		t.Error(kept, err)
	}
	must(t, os.Remove(filepath.Join(p.Path, "new")))
	runGit(t, p.Path, "update-index", "--assume-unchanged", "README")
	write(t, filepath.Join(p.Path, "README"), "x")
	if kept, err := RemoveClean(t.Context(), s.project, info, free, false); kept == "" || err != nil || !there(p.Path) {
		t.Error(kept, err)
	}
}

// Where there is no repository there are no worktrees, but perhaps something is
// there all the same.
func TestListWithoutRepository(t *testing.T) {
	t.Parallel()
	needGit(t)
	s := &site{t, t.TempDir()}
	if got := s.list(); len(got) != 0 {
		t.Error(got)
	}
	s.write(".pi/worktrees/ann-1/x", "123")
	got := s.list()
	if i := got["ann-1"]; len(got) != 1 || i.Managed || i.Bytes != 3 || !strings.Contains(i.Problem, "not a git repository") {
		t.Errorf("%+v", got)
	}
	if _, err := List(t.Context(), filepath.Join(s.project, "gone")); err == nil {
		t.Error("a missing project is listed")
	}
}
