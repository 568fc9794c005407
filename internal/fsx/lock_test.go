package fsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// countUp adds one to a counter n times, under a lock.
func countUp(lock, counter string, n int) error {
	for range n {
		l, err := Acquire(context.Background(), lock, patience)
		if err != nil {
			return err
		}
		b, err := ReadFile(counter, 100)
		if err != nil {
			return err
		}
		i, err := strconv.Atoi(string(b))
		if err != nil {
			return err
		}
		if err := ReplaceHint(counter, [][]byte{strconv.AppendInt(nil, int64(i+1), 10)}); err != nil {
			return err
		}
		if err := l.Unlock(); err != nil {
			return err
		}
	}
	return nil
}

func mustTry(t *testing.T, path string) *Lock {
	t.Helper()
	l, ok, err := TryAcquire(path)
	if err != nil || !ok {
		t.Fatalf("TryAcquire: %v %v", ok, err)
	}
	t.Cleanup(func() { l.Unlock() })
	return l
}

func mustTenure(t *testing.T, path string) *Lock {
	t.Helper()
	l, ok, err := AcquireTenure(path, patience)
	if err != nil || !ok {
		t.Fatalf("AcquireTenure: %v %v", ok, err)
	}
	t.Cleanup(func() { l.Unlock() })
	return l
}

func wantHeld(t *testing.T, path string, want bool) {
	t.Helper()
	if got, err := Held(path); err != nil || got != want {
		t.Errorf("Held = %v, %v", got, err)
	}
}

func TestLockCounts(t *testing.T) {
	for _, shared := range []bool{false, true} {
		SetSharedMode(shared)
		defer SetSharedMode(false)
		dir := t.TempDir()
		lock, counter := filepath.Join(dir, "x.lock"), filepath.Join(dir, "n")
		write(t, counter, "0")
		var peers []*peer
		times := 100
		if shared {
			times = 5
		}
		for range 5 {
			peers = append(peers, start(t, "count", lock, counter, strconv.Itoa(times)))
		}
		if err := countUp(lock, counter, times); err != nil {
			t.Error(err)
		}
		for _, p := range peers {
			p.finish(t)
		}
		wantContent(t, counter, strconv.Itoa(6*times))
	}
}

func TestLockWithinProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	wantHeld(t, path, false)
	wantMissing(t, path)
	l := mustTry(t, path)
	wantHeld(t, path, true)
	if l.Path() != path {
		t.Errorf("Path() = %q", l.Path())
	}
	if _, ok, err := TryAcquire(path); ok || err != nil {
		t.Errorf("taken twice: %v", err)
	}
	for range 2 {
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
		wantHeld(t, path, false)
	}
	l2 := mustTry(t, path)
	l.Unlock() // must not free the lock of another
	wantHeld(t, path, true)
	l2.Unlock()
}

func TestForgottenLockStaysHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	if _, ok, err := TryAcquire(path); !ok {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	wantHeld(t, path, true)
}

func TestLockFreedByKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	p := start(t, "hold", path)
	p.line(t)
	wantHeld(t, path, true)
	got := make(chan error)
	go func() {
		l, err := Acquire(t.Context(), path, patience)
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond)
	p.kill(t)
	if err := <-got; err != nil {
		t.Error(err)
	}
	wantHeld(t, path, false)
}

func TestBusyNamesHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	before := time.Now().Add(-time.Second)
	p := start(t, "hold", path)
	p.line(t)
	for _, shared := range []bool{false, true} {
		SetSharedMode(shared)
		defer SetSharedMode(false)
		_, err := Acquire(t.Context(), path, 30*time.Millisecond)
		var e *errs.Error
		if !errors.As(err, &e) || e.Code != errs.Busy || e.Path != path {
			t.Fatalf("error is %v", err)
		}
		h, ok := e.Details["holder"].(Holder)
		if !ok || h.PID != p.Process.Pid || h.Host != Host() || h.Since.Before(before) || time.Until(h.Since) > 0 {
			t.Errorf("holder is %+v", h)
		}
		want := fmt.Sprintf("held by pid %d on %s (%s) since %s",
			h.PID, h.Host, h.Command, h.Since.Local().Format(time.RFC3339))
		if e.Msg != want {
			t.Errorf("%q, want %q", e.Msg, want)
		}
	}
	if _, err := Acquire(canceled(), path, 0); errs.CodeOf(err) != errs.Interrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := Acquire(ctx, path, 0)
	if errs.CodeOf(err) != errs.TimedOut || !strings.Contains(err.Error(), "held by pid") {
		t.Errorf("deadline: %v", err)
	}
	p.finish(t)
	l, err := Acquire(t.Context(), path, patience)
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestLateArrivalGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l := mustTry(t, path)
	for range 5 {
		if _, err := Acquire(t.Context(), path, time.Millisecond); errs.CodeOf(err) != errs.Busy {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := Acquire(ctx, path, 0); errs.CodeOf(err) != errs.Interrupted {
		t.Fatal(err)
	}
	l.Unlock()
	mustTenure(t, path).Unlock() // unless a late arrival keeps it
}

// A process that tries again and again must not gather blocked threads.
func TestWaitersAreTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	p := start(t, "hold", path)
	p.line(t)
	before := runtime.NumGoroutine()
	for range 30 {
		if _, err := Acquire(t.Context(), path, time.Millisecond); errs.CodeOf(err) != errs.Busy {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines more", n-before)
	}
	time.AfterFunc(5*time.Millisecond, func() { p.in.Close() })
	l, err := Acquire(t.Context(), path, patience)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := ReadHolder(path); err != nil || h.PID != os.Getpid() {
		t.Errorf("holder %+v %v", h, err)
	}
	l.Unlock()
	p.finish(t)
	eventually(t, "no goroutine left", func() bool { return runtime.NumGoroutine() <= before })
}

// Waiters that give up at the very moment the lock arrives neither lose it nor
// keep it.
func TestArrivalAgainstTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for i := range 200 {
		l := mustTenure(t, path)
		d := time.Duration(1+i%10) * 100 * time.Microsecond
		time.AfterFunc(d, func() { l.Unlock() })
		if l2, err := Acquire(t.Context(), path, d); err == nil {
			l2.Unlock()
		} else if errs.CodeOf(err) != errs.Busy {
			t.Fatal(err)
		}
		mustTenure(t, path).Unlock()
	}
}

func TestTenure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l := mustTry(t, path)
	if _, ok, err := AcquireTenure(path, 30*time.Millisecond); ok || err != nil {
		t.Errorf("held by another: %v %v", ok, err)
	}
	l.Unlock()
	// Others look at the lock all the time.
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		for !stop.Load() {
			if _, err := Held(path); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 50 {
		l, ok, err := AcquireTenure(path, patience)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		l.Unlock()
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Somebody removes the lock file while another waits for it.
func TestLockFileReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first := mustTry(t, path)
	got := make(chan *Lock, 1)
	waiting := make(chan struct{}, 10)
	defer SetFault(func(op Op, _ string) error {
		if op == OpFlock {
			waiting <- struct{}{}
		}
		return nil
	})()
	go func() {
		l, err := Acquire(t.Context(), path, patience)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	<-waiting
	<-waiting // the blocking call
	time.Sleep(10 * time.Millisecond)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second := mustTry(t, path) // of the new file
	first.Unlock()
	select {
	case l := <-got:
		t.Errorf("two holders: %v", l)
	case <-time.After(50 * time.Millisecond):
	}
	second.Unlock()
	select {
	case l := <-got:
		l.Unlock()
	case <-time.After(patience):
		t.Fatal("never got it")
	}
}

func TestLockInterruptedAndFailing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for _, errno := range []error{syscall.EINTR, syscall.EIO, syscall.ENOLCK} {
		for _, op := range []Op{OpFlock, OpOpen} {
			var fails atomic.Bool
			restore := SetFault(func(o Op, _ string) error {
				if o == op && fails.Swap(false) {
					return errno
				}
				return nil
			})
			check := func(what string, err error) {
				t.Helper()
				if errno == syscall.EINTR && err != nil || errno != syscall.EINTR && !errors.Is(err, errno) {
					t.Errorf("%s after %s %v: %v", what, op, errno, err)
				}
				if err != nil && !strings.Contains(err.Error(), path) {
					t.Errorf("%s does not name the file: %v", what, err)
				}
				wantHeld(t, path, false)
			}
			fails.Store(true)
			l, _, err := TryAcquire(path)
			if err == nil {
				l.Unlock()
			}
			check("TryAcquire", err)

			// The blocking call: the first flock meets a held lock.
			holder := mustTry(t, path)
			go func() {
				time.Sleep(5 * time.Millisecond)
				fails.Store(true)
				if op == OpOpen {
					holder.Unlock()
				}
			}()
			if op == OpFlock {
				n := 0
				restore2 := SetFault(func(o Op, _ string) error {
					if n++; o == OpFlock && n == 2 {
						time.AfterFunc(5*time.Millisecond, func() { holder.Unlock() })
						return errno
					}
					return nil
				})
				l, err = Acquire(t.Context(), path, patience)
				restore2()
				holder.Unlock()
				fails.Store(false)
			} else {
				l, err = Acquire(t.Context(), path, patience)
			}
			if err == nil {
				l.Unlock()
			}
			time.Sleep(10 * time.Millisecond)
			fails.Store(false)
			check("Acquire", err)

			if op == OpFlock {
				fails.Store(true)
				_, err = Held(path)
				check("Held", err)
			}
			restore()
		}
	}
}

func TestHolderLine(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	for _, command := range []string{"", "teams submit", `quo"te\n`, "\x1b[31m\n\x00\xff", strings.Repeat("é", 300), strings.Repeat(`"`, 300)} {
		for _, host := range []string{"", "box", strings.Repeat("h", 300)} {
			line := holderLine(1<<22, host, command, since)
			if len(line) != holderSize || strings.IndexByte(string(line), '\n') != holderSize-1 {
				t.Errorf("%q is %d bytes", line, len(line))
			}
			var h Holder
			if err := json.Unmarshal(line, &h); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if h.PID != 1<<22 || !h.Since.Equal(since) || !strings.HasPrefix(SafeLine(host), h.Host) ||
				!strings.HasPrefix(SafeLine(command), h.Command) {
				t.Errorf("%q gives %+v", line, h)
			}
			if command == "teams submit" && h.Command != command {
				t.Errorf("command is cut: %q", h.Command)
			}
		}
	}
	c := command.Load()
	defer command.Store(c)
	SetCommand("teams task add")
	path := filepath.Join(t.TempDir(), "x.lock")
	mustTry(t, path)
	if h, err := ReadHolder(path); err != nil || h.Command != "teams task add" || h.PID != os.Getpid() {
		t.Errorf("%+v %v", h, err)
	}
}

func TestReadHolderOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	if _, err := ReadHolder(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for content, want := range map[string]errs.Code{
		"":                   errs.NotFound,
		"\n":                 errs.NotFound,
		"   \n{}":            errs.NotFound,
		"{}\n":               errs.Corrupt,
		"12\n":               errs.Corrupt,
		"\x00\x00":           errs.Corrupt,
		`{"pid":3}` + "\nxx": "",
	} {
		write(t, path, content)
		h, err := ReadHolder(path)
		if errs.CodeOf(err) != want || (err == nil) != (h.PID == 3) {
			t.Errorf("%q: %+v %v", content, h, err)
		}
		// Whatever it holds, it can be locked and is repaired by that.
		l := mustTenure(t, path)
		if h, err := ReadHolder(path); err != nil || h.PID != os.Getpid() {
			t.Errorf("%q locked: %+v %v", content, h, err)
		}
		_, err = Acquire(t.Context(), path, time.Millisecond)
		if !strings.Contains(err.Error(), "held by pid") {
			t.Error(err)
		}
		l.Unlock()
	}
}
