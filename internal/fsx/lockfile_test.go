package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestDataFileLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m")
	if l, ok, err := LockFile(path); l != nil || ok || err != nil {
		t.Errorf("missing: %v %v", ok, err)
	}
	wantMissing(t, path)
	write(t, path, "content")
	l, ok, err := LockFile(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := LockFile(path); ok || err != nil {
		t.Errorf("locked: %v %v", ok, err)
	}
	if err := errors.Join(l.Unlock(), l.Unlock()); err != nil {
		t.Error(err)
	}
	wantContent(t, path, "content") // no holder in it
	for name, make := range map[string]func(string) error{
		"dir":  func(p string) error { return os.Mkdir(p, 0o700) },
		"link": func(p string) error { return os.Symlink(path, p) },
		"fifo": func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		p := filepath.Join(dir, name)
		if err := make(p); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := LockFile(p); ok || !errors.Is(err, ErrIrregular) {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
}

// TestDataFileReplaced: a file that was replaced by the one who had its lock
// is locked by nobody any more; whoever has the lock is alone until then.
func TestDataFileReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	write(t, path, "")
	rounds := 300
	if *long {
		rounds = 10_000
	}
	var inside, taken atomic.Int32
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range rounds {
				l, ok, err := LockFile(path)
				if err != nil {
					t.Error(err)
				}
				if !ok {
					continue
				}
				taken.Add(1)
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				// From the replacement on the new file is anybody's.
				inside.Add(-1)
				if err := ReplaceHint(path, nil); err != nil {
					t.Error(err)
				}
				l.Unlock()
			}
		})
	}
	work.Wait()
	t.Logf("taken %d times", taken.Load())
}

func TestUnlink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	write(t, path, "")
	if err := Unlink(path); err != nil {
		t.Error(err)
	}
	if err := Unlink(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: %v", err)
	}
}

func TestMoveUnique(t *testing.T) {
	for _, fallback := range []bool{false, true} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		write(t, at("a"), "a")
		write(t, at("b"), "b")
		restore := SetFault(func(op Op, path string) error {
			if fallback && op == OpRename && filepath.Base(path) != "c" {
				return syscall.EINVAL
			}
			return nil
		})
		if err := MoveUnique(at("a"), at("b")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("onto another: %v", err)
		}
		if err := MoveUnique(at("a"), at("c")); err != nil {
			t.Error(err)
		}
		if err := MoveUnique(at("a"), at("c")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("again: %v", err)
		}
		if err := MoveUnique(at("b"), at("none/c")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nowhere: %v", err)
		}
		restore()
		wantMissing(t, at("a"))
		wantContent(t, at("b"), "b")
		wantContent(t, at("c"), "a")
	}
}
