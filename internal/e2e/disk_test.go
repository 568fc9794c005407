package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mountTmpfs makes the root of a site a file system of its own.
func (s *site) mountTmpfs(options string) {
	s.t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		s.t.Skip("only root on Linux can mount a tmpfs")
	}
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", s.root).CombinedOutput(); err != nil {
		s.t.Skipf("a tmpfs cannot be mounted here: %s", out)
	}
	s.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", s.root).CombinedOutput(); err != nil {
			s.t.Errorf("umount: %s", out)
		}
	})
}

// stuff fills the file system and returns how to make room again.
func (s *site) stuff() (empty func()) {
	s.t.Helper()
	path := filepath.Join(s.root, "stuffing")
	f, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestFullDisk fills a 64 KiB file system: every verb that writes fails with
// the path and the reason, leaves what was there, and works once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=64k,mode=700")
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	for i := range 6 {
		s.add(fmt.Sprintf("task %d", i+1))
	}
	s.ok("claim", "t_1", "--as", "ann")
	s.ok("claim", "t_2", "--as", "bob", "--lease", "1h")
	s.ok("task", "cancel", "t_6")
	s.ok("tick")
	empty := s.stuff()
	before := tree(t, s.board())
	for _, args := range [][]string{
		{"task", "add", "more"}, {"task", "edit", "t_3", "--subject", "longer than before"}, {"task", "cancel", "t_4"}, {"task", "reopen", "t_6"},
		{"claim", "--as", "cid"}, {"claim", "t_3", "--as", "ann", "--max", "2"}, {"submit", "--as", "ann"}, {"renew", "t_2", "--as", "bob"}, {"release", "t_1", "--as", "ann"},
		{"work", "--once", "--", "true"}, {"gc", "--older-than", "1ns"}, {"join", "dee"},
	} {
		r := s.run(args...)
		if r.code != 1 || !strings.Contains(r.err, s.root) || !strings.Contains(r.err, "no space left on device") {
			t.Errorf("full: teams %q: %s", args, r)
		}
		if _, r := s.json(args...); r.code != 1 {
			t.Errorf("full: teams --json %q: %s", args, r)
		}
	}
	sameTree(t, "full", before, tree(t, s.board()))
	for _, args := range [][]string{{"task", "list"}, {"task", "show", "t_1"}, {"log"}, {"export"}, {"claim", "--mine", "--as", "ann"}, {"tick"}, {"doctor"}, {"sessions"}} {
		if r := s.run(args...); r.code != 0 {
			t.Errorf("full: looking: teams %q: %s", args, r)
		}
	}
	empty()
	s.ok("task", "edit", "t_3", "--subject", "there is room")
	s.ok("submit", "--as", "ann")
	s.ok("renew", "t_2", "--as", "bob")
	s.ok("claim", "--as", "cid")
	if n := count(s.history(), "completed", ""); n != 1 {
		t.Errorf("completed %d times", n)
	}
	s.healthy()
}

// TestDiskFillsUp adds tasks until nothing goes any more: what was acknowledged
// is there, with its history, and the rest is not.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=192k,mode=700")
	s.ok("join", "ann", "-q")
	told, full := 0, false
	for i := range 600 {
		r := s.run("task", "add", fmt.Sprintf("task %d %s", i, strings.Repeat("x", 150)), "-q")
		if r.code != 0 {
			if r.code != 1 || !strings.Contains(r.err, "no space left on device") {
				t.Fatalf("%s", r)
			}
			full = true
			break
		}
		told++
		if want := fmt.Sprintf("t_%d", told); strings.TrimSpace(r.out) != want {
			t.Fatalf("%s, want %s", r, want)
		}
	}
	if !full {
		t.Fatal("it never filled up")
	}
	if got := len(s.tasks()); got != told {
		t.Errorf("%d tasks were told, %d are there", told, got)
	}
	if n := count(s.history(), "added", ""); n != told {
		t.Errorf("%d tasks were told, history has %d", told, n)
	}
	// The history may not be complete on disk, and what it lacks stands in the
	// snapshot; with more room nothing is missing.
	if out, err := exec.Command("mount", "-o", "remount,size=4m", s.root).CombinedOutput(); err != nil {
		t.Fatalf("remount: %s", out)
	}
	s.ok("task", "add", "after")
	if n := count(s.history(), "added", ""); n != told+1 {
		t.Errorf("%d tasks were told, history has %d", told+1, n)
	}
	t.Logf("full after %d tasks", told)
	s.healthy()
}

// TestReadOnlyFileSystem looks and does not write on a file system that is
// mounted read-only.
func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=1m,mode=700")
	s.add("task")
	s.ok("claim", "--as", "ann")
	s.ok("tick")
	if out, err := exec.Command("mount", "-o", "remount,ro", s.root).CombinedOutput(); err != nil {
		t.Fatalf("remount: %s", out)
	}
	for _, args := range [][]string{{"task", "list"}, {"task", "show", "t_1"}, {"log"}, {"export"}, {"claim", "--mine", "--as", "ann"}, {"where"}, {"tick"}, {"doctor"}, {"sessions"}, {"wait", "t_1", "--until", "claimed"}} {
		if r := s.run(args...); r.code != 0 {
			t.Errorf("teams %q: %s", args, r)
		}
	}
	for _, args := range [][]string{{"task", "add", "x"}, {"submit", "--as", "ann"}, {"release", "t_1"}, {"join", "bob"}, {"claim", "--as", "bob"}, {"work", "--once", "--", "true"}, {"verify", "t_1"}} {
		r := s.run(args...)
		if args[0] == "verify" && r.code == 4 {
			continue // it has no gate
		}
		if r.code != 1 || !strings.Contains(r.err, s.root) || !strings.Contains(r.err, "read-only file system") {
			t.Errorf("teams %q: %s", args, r)
		}
	}
}
