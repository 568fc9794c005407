package fsx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// On a shared file system only a lock that is held for a while names its holder,
// and it does so no longer when it is free.
func TestLateName(t *testing.T) {
	SetSharedMode(true)
	defer SetSharedMode(false)
	path := filepath.Join(t.TempDir(), "l")
	take := func() *Lock {
		t.Helper()
		l, ok, err := TryAcquire(path)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return l
	}
	size := func() int64 {
		t.Helper()
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	for range 3 {
		take().Unlock()
	}
	if size() != 0 {
		t.Error("a lock of an instant names its holder")
	}
	l := take()
	since := time.Now()
	eventually(t, "the holder is named", func() bool {
		h, err := ReadHolder(path)
		return err == nil && h.PID == os.Getpid() && h.Host == Host() && h.Since.Before(since.Add(nameAfter/2))
	})
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHolder(path); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("after the end: %v", err)
	}
	// What is held for as long as something runs says so at once.
	l, ok, err := AcquireTenure(path, time.Second)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if h, err := ReadHolder(path); err != nil || h.PID != os.Getpid() {
		t.Errorf("of a tenure: %+v %v", h, err)
	}
	l.Unlock()
	// A file that was replaced meanwhile is not written into.
	l = take()
	if err := os.Rename(path, path+"-old"); err != nil {
		t.Fatal(err)
	}
	write(t, path, "another's\n")
	time.Sleep(nameAfter + 100*time.Millisecond)
	l.Unlock()
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(data)) != "another's" {
		t.Errorf("%q %v", data, err)
	}
}
