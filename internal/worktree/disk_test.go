package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tinySite is a site on a file system of its own, of a few MiB.
func tinySite(t *testing.T, size string) *site {
	t.Helper()
	needGit(t)
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root on Linux can mount a tmpfs")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	s := &site{t, filepath.Join(dir, "app")}
	must(t, os.Mkdir(s.project, 0o755))
	s.git("init", "-q", "-b", "main")
	s.write("README", "hello\n")
	for _, name := range []string{"a", "b", "c", "d"} {
		s.write(name, strings.Repeat(name, 100<<10))
	}
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	return s
}

// stuff fills the file system but for some bytes, and returns how to make room.
func (s *site) stuff(leave int) func() {
	s.t.Helper()
	path := filepath.Join(filepath.Dir(s.project), "stuffing")
	f, err := os.Create(path)
	must(s.t, err)
	var size int64
	for {
		n, err := f.Write(make([]byte, 4096))
		size += int64(n)
		if err != nil {
			break
		}
	}
	must(s.t, f.Truncate(max(0, size-int64(leave))))
	must(s.t, f.Close())
	return func() { must(s.t, os.Remove(path)) }
}

// A full disk lets nothing be half made, wherever it runs full.
func TestCreateOnFullDisk(t *testing.T) {
	t.Parallel()
	s := tinySite(t, "8m")
	p := s.make("bob") // so that the lock and the directories are there
	if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
		t.Fatal(kept, err)
	}
	failed := 0
	for leave := 0; leave < 600<<10; leave += 48 << 10 {
		p := s.plan("ann")
		empty := s.stuff(leave)
		before := snapshot(t, s.project)
		_, err := Create(t.Context(), p)
		if err != nil {
			failed++
			// Of a file that it cannot write git does not tell why.
			if text := strings.ToLower(err.Error()); !strings.Contains(text, "no space left on device") && !strings.Contains(text, "unable to write file") {
				t.Error(err)
			}
			same(t, "on a full disk", before, snapshot(t, s.project))
		}
		empty()
		if err == nil {
			if kept, err := Undo(t.Context(), p.Tree); kept != "" || err != nil {
				t.Fatal(kept, err)
			}
		}
		if t.Failed() {
			t.Fatalf("with %d bytes left: %v", leave, err)
		}
	}
	if failed < 6 || failed > 12 {
		t.Errorf("it failed %d times", failed)
	}
	s.make("ann")
}

// A full disk keeps the directory with all changes, and says why; with room
// again all is committed.
func TestFinaliseOnFullDisk(t *testing.T) {
	t.Parallel()
	for _, leave := range []int{0, 8 << 10, 16 << 10, 32 << 10, 128 << 10} {
		s := tinySite(t, "8m")
		p := s.make("ann")
		text := randomText(400 << 10)
		write(t, filepath.Join(p.Path, "big"), text)
		write(t, filepath.Join(p.Path, "small"), "small")
		empty := s.stuff(leave)
		r, err := Finalise(t.Context(), s.finish(p, true))
		if err == nil || r.Removed || r.Kept == "" || read(t, filepath.Join(p.Path, "big")) != text || read(t, filepath.Join(p.Path, "small")) != "small" {
			t.Errorf("with %d bytes left: %+v %v", leave, r, err)
			continue
		}
		wantIn(t, "the reason", strings.ToLower(r.Kept), "no space left on device")
		wantIn(t, "the text", r.Text(), "stays")
		empty()
		if r := s.finalise(p, true); !r.Removed {
			t.Errorf("%+v", r)
		}
		s.has(p.Branch, "big", text)
		s.has(p.Branch, "small", "small")
		if out, err := tryGit(s.project, "fsck", "--no-dangling"); err != nil {
			t.Error(out)
		}
	}
}
