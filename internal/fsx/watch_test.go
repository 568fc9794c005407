package fsx

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func wantSignal(t *testing.T, w *Watcher, what string) {
	t.Helper()
	select {
	case <-w.C:
	case <-time.After(patience):
		t.Fatalf("no signal: %s", what)
	}
}

// settleDown waits until the events on their way have arrived.
func settleDown(w *Watcher) {
	for {
		select {
		case <-w.C:
		case <-time.After(30 * time.Millisecond):
			return
		}
	}
}

func TestWatcherEvents(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	w := NewWatcher(time.Hour, a, b+"/")
	defer w.Close()
	if w.Polling() {
		t.Skip("no events to be had here")
	}
	for _, dir := range []string{a, b} {
		file := filepath.Join(dir, "x")
		for _, step := range []struct {
			what string
			do   func() error
		}{
			{"publish", func() error { return Publish(file, []byte("1\n")) }},
			{"replace", func() error { return Replace(file, []byte("2\n")) }},
			{"append", func() error { return Append(file, []byte("3\n"), false) }},
			{"move", func() error { return Move(file, file+"2") }},
			{"remove", func() error { return Remove(file + "2") }},
		} {
			settleDown(w)
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			wantSignal(t, w, step.what)
		}
	}
	// What happens all the time, or is not visible yet, is no news.
	settleDown(w)
	l, _, err := TryAcquire(filepath.Join(a, "x.lock"))
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
	write(t, filepath.Join(a, ".temp"), "")
	os.Chmod(a, 0o700)
	select {
	case <-w.C:
		t.Error("woken by a lock or a temporary file")
	case <-time.After(50 * time.Millisecond):
	}
	// Many events leave one signal.
	for range 100 {
		write(t, filepath.Join(a, "y"), "")
	}
	time.Sleep(20 * time.Millisecond)
	if len(w.C) > 1 {
		t.Errorf("%d signals wait", len(w.C))
	}
}

func TestWatcherOfFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	w := NewWatcher(time.Hour, file)
	defer w.Close()
	if w.Polling() {
		t.Skip("no events to be had here")
	}
	for range 2 {
		if err := Replace(file, []byte("x")); err != nil {
			t.Fatal(err)
		}
		wantSignal(t, w, "replaced file")
		settleDown(w)
	}
}

func TestWatcherPolls(t *testing.T) {
	SetSharedMode(true)
	defer SetSharedMode(false)
	w := NewWatcher(5*time.Millisecond, t.TempDir())
	defer w.Close()
	for range 3 {
		if !w.Polling() {
			t.Fatal("not polling")
		}
		wantSignal(t, w, "poll")
	}
}

// A directory may come later, go, and come back.
func TestWatcherMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	w := NewWatcher(10*time.Millisecond, dir)
	defer w.Close()
	for _, gone := range []func(){
		func() { os.Remove(dir) },
		func() { os.Rename(dir, dir+"-old") },
	} {
		if !w.Polling() {
			t.Fatal("not polling for a missing directory")
		}
		wantSignal(t, w, "poll")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		eventually(t, "events of the new directory", func() bool { return !w.Polling() })
		settleDown(w)
		if err := Publish(filepath.Join(dir, "x"), nil); err != nil {
			t.Fatal(err)
		}
		wantSignal(t, w, "publish")
		os.Remove(filepath.Join(dir, "x"))
		gone()
		eventually(t, "polling again", w.Polling)
	}
}

func TestWatcherClose(t *testing.T) {
	for _, shared := range []bool{false, true} {
		SetSharedMode(shared)
		dir := t.TempDir()
		w := NewWatcher(0, dir)
		SetSharedMode(false)
		for i := range 1000 {
			if i%10 == 0 {
				write(t, filepath.Join(dir, "x"), "")
			}
		}
		within(t, "Close", func() { w.Close(); w.Close() })
		for len(w.C) > 0 {
			<-w.C
		}
		write(t, filepath.Join(dir, "x"), "")
		time.Sleep(5 * time.Millisecond)
		if len(w.C) > 0 {
			t.Error("signal after Close")
		}
	}
}
