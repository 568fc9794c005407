package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// at asks f at every operation op, once.
func at(op Op, f func(path string) error) (restore func()) {
	done := false
	return SetFault(func(o Op, path string) error {
		if o != op || done {
			return nil
		}
		done = true
		return f(path)
	})
}

// A rename may be carried out and reported as failed, too.
func TestReplaceDoneButReported(t *testing.T) {
	for _, what := range []string{"replace", "hint"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		write(t, path, oldContent)
		restore := at(OpRename, func(p string) error {
			if err := os.Rename(filepath.Join(dir, temps(t, dir)[0]), p); err != nil {
				t.Error(err)
			}
			return syscall.EIO
		})
		err := operation(what)(path)
		restore()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		wantContent(t, path, newContent)
		wantNoTemps(t, dir)
	}
}

// noFlags is a file system that cannot rename without replacing; then is asked
// at the plain calls in its place.
func noFlags(op Op, then func(path string) error) (restore func()) {
	first := true
	return SetFault(func(o Op, path string) error {
		switch {
		case o == OpRename && first:
			first = false
			return syscall.ENOTSUP
		case o == op:
			return then(path)
		}
		return nil
	})
}

func TestMoveByLinkDoneButReported(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	write(t, src, "x")
	restore := noFlags(OpLink, func(p string) error {
		if err := os.Link(src, p); err != nil {
			t.Error(err)
		}
		return syscall.EEXIST
	})
	err := Move(src, dst)
	restore()
	if err != nil {
		t.Error(err)
	}
	wantMissing(t, src)
	wantContent(t, dst, "x")
}

func TestMoveByLinkFails(t *testing.T) {
	for op, wantBoth := range map[Op]bool{OpLink: false, OpUnlink: true} {
		dir := t.TempDir()
		src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
		write(t, src, "x")
		restore := noFlags(op, func(string) error { return syscall.EIO })
		err := Move(src, dst)
		restore()
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		wantContent(t, src, "x")
		if wantBoth {
			wantContent(t, dst, "x")
		} else {
			wantMissing(t, dst)
		}
	}
}

// Two names of one file are two files to Move.
func TestMoveOntoOtherName(t *testing.T) {
	for _, flags := range []bool{true, false} {
		dir := t.TempDir()
		src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
		write(t, src, "x")
		if err := os.Link(src, dst); err != nil {
			t.Fatal(err)
		}
		restore := func() {}
		if !flags {
			restore = noFlags("", nil)
		}
		err := Move(src, dst)
		restore()
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("flags=%v: %v", flags, err)
		}
		wantContent(t, src, "x")
		wantContent(t, dst, "x")
	}
}

func TestMoveDirectoryWithoutFlags(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	for _, d := range []string{src, dst} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(src, "x"), "x")
	restore := noFlags("", nil)
	err := Move(src, dst) // rename(2) would replace an empty directory
	restore()
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a directory: %v", err)
	}
	if err := os.Remove(dst); err != nil {
		t.Fatal(err)
	}
	restore = noFlags("", nil)
	err = Move(src, dst)
	restore()
	if err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(dst, "x"), "x")
	wantMissing(t, src)
}

// Somebody else creates the file while Append is about to.
func TestAppendOvertaken(t *testing.T) {
	for _, by := range []string{"file", "link"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "log")
		restore := at(OpLink, func(p string) error {
			if by == "file" {
				write(t, p, oldContent)
				return nil
			}
			return os.Symlink(filepath.Join(dir, "elsewhere"), p)
		})
		err := Append(path, []byte(newContent), true)
		restore()
		if by == "file" {
			if err != nil {
				t.Error(err)
			}
			wantContent(t, path, oldContent+newContent)
		} else if !errors.Is(err, ErrIrregular) {
			t.Errorf("overtaken by a link: %v", err)
		}
		wantMissing(t, filepath.Join(dir, "elsewhere"))
		wantNoTemps(t, dir)
	}
}

// The name of a file that is still empty may not be durable yet.
func TestAppendToEmpty(t *testing.T) {
	for _, fail := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "log")
		write(t, path, "")
		var steps []Op
		restore := SetFault(func(op Op, _ string) error {
			steps = append(steps, op)
			if fail && op == OpFsyncDir {
				return syscall.EIO
			}
			return nil
		})
		err := Append(path, []byte("x\n"), true)
		restore()
		if errors.Is(err, ErrUncertain) != fail || !fail && err != nil {
			t.Error(err)
		}
		if !slices.Equal(steps, []Op{OpOpen, OpWrite, OpFsync, OpFsyncDir}) {
			t.Error(steps)
		}
		wantContent(t, path, "x\n")
	}
}

// Without sync nothing is fsynced, not even a new file.
func TestAppendUnsynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	defer SetFault(func(op Op, _ string) error {
		if op == OpFsync || op == OpFsyncDir {
			t.Error(op)
		}
		return nil
	})()
	for range 2 {
		if err := Append(path, []byte("x\n"), false); err != nil {
			t.Error(err)
		}
	}
	wantContent(t, path, "x\nx\n")
}
