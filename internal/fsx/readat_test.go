package fsx

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestFileReadAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "0123456789")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	// A replaced file goes on to be read.
	if err := Replace(path, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if f.Size() != 10 {
		t.Errorf("size %d", f.Size())
	}
	for _, tt := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{{0, 3, "012", nil}, {7, 3, "789", nil}, {7, 4, "789", io.EOF}, {10, 1, "", io.EOF}, {3, 0, "", nil}} {
		buf := make([]byte, tt.n)
		n, err := f.ReadAt(buf, tt.off)
		if string(buf[:n]) != tt.want || err != tt.err {
			t.Errorf("%d bytes at %d: %q %v, want %q %v", tt.n, tt.off, buf[:n], err, tt.want, tt.err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrIrregular) {
		t.Errorf("a directory: %v", err)
	}
}
