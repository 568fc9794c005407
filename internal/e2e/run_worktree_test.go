package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run whose worktree cannot be made is none, and the next one is as if there
// had been no try.
func TestRunWorktreeFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if r := s.sh("git init -q -b main . && git -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m x"); r.code != 0 {
		t.Skip(r)
	}
	hook := filepath.Join(s.project, ".git", "hooks", "post-checkout")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho refused >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := s.exits(1, "run", "start", "job", "--worktree"); !strings.Contains(r.err, "refused") {
			t.Error(r)
		}
		if r := s.sh("git branch --list 'pi/*'; git worktree list | tail -n +2; ls -A .pi 2>/dev/null"); r.out != "" {
			t.Errorf("it is left: %s", r.out)
		}
		if out := s.ok("run", "list", "-q"); out != "" {
			t.Errorf("%s", out)
		}
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if id := s.ok("run", "start", "job", "--worktree", "-q"); id != "job-1" {
		t.Error(id)
	}
}
