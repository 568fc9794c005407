package term

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Closing ends whatever the shell has started, also what has left its group or
// its session, or does not listen; and nothing else.
func TestCloseEndsTheTree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm, other := d.open(), d.open()
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "sleep 1001 & nohup sleep 1002 >/dev/null 2>&1 & sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' &")
	d.send(tm.ID, "setsid sleep 1003; (setsid sleep 1004 &); echo rea''dy; sleep 1005")
	if _, err := exec.LookPath("setsid"); err != nil {
		d.send(tm.ID, "echo rea''dy")
	}
	time.Sleep(300 * time.Millisecond)
	if n := len(marked(tm.Mark)); n < 4 {
		t.Fatalf("%d processes", n)
	}
	begin := time.Now()
	closed, err := d.Close(t.Context(), tm.ID)
	if err != nil || closed.State != StateClosed {
		t.Fatalf("%+v %v", closed, err)
	}
	if n := len(marked(tm.Mark)); n != 0 || time.Since(begin) > 15*time.Second {
		t.Errorf("%d processes are left after %s", n, time.Since(begin))
	}
	if now, err := d.Get(other.ID); err != nil || now.State != StateOpen {
		t.Errorf("%+v %v", now, err)
	}
	if _, err := d.Close(t.Context(), tm.ID); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := d.Close(t.Context(), "term-9"); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
}

// A holder that is killed leaves a terminal that is closed, and closing ends what
// is left of it.
func TestHolderIsKilled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "nohup sleep 1006 >/dev/null 2>&1 &")
	time.Sleep(200 * time.Millisecond)
	h, err := os.ReadFile(filepath.Join(d.Dir, tm.ID, "alive.lock"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(h), `"pid":`)
	pid, err := strconv.Atoi(rest[:strings.IndexAny(rest, ",}")])
	if err != nil {
		t.Fatalf("%s: %v", h, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if now, err := d.Get(tm.ID); err != nil || time.Now().After(end) {
			t.Fatal(err, now)
		} else if now.State == StateClosed {
			break
		}
	}
	if err := d.Send(t.Context(), tm.ID, "x"); errs.CodeOf(err) != errs.Stopped {
		t.Errorf("%v", err)
	}
	if _, err := d.Close(t.Context(), tm.ID); err != nil || len(marked(tm.Mark)) != 0 {
		t.Errorf("%v, %d left", err, len(marked(tm.Mark)))
	}
}

// A session that is removed takes its terminals with it.
func TestDirectoryIsRemoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	if err := os.RemoveAll(d.Dir); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(15 * time.Second); len(marked(tm.Mark)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its processes are left")
		}
	}
}

func TestAtMostEight(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var wg sync.WaitGroup
	refused := make(chan error, 12)
	for range 11 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := d.Open(context.Background(), d.options2()); err != nil {
				refused <- err
			}
		}()
	}
	wg.Wait()
	close(refused)
	n := 0
	for err := range refused {
		n++
		if errs.CodeOf(err) != errs.Conflict {
			t.Errorf("%v", err)
		}
	}
	list, problems, err := d.List()
	if n != 3 || len(list) != MaxOpen || len(problems) != 0 || err != nil {
		t.Errorf("%d refused, %d open, %v %v", n, len(list), problems, err)
	}
	if _, err := d.Close(t.Context(), list[2].ID); err != nil {
		t.Fatal(err)
	}
	if tm := d.open(); tm.ID != "term-9" {
		t.Errorf("%s", tm.ID)
	}
}

// options2 does not write the holder's script again, while others start it.
func (d *desk) options2() Options {
	return sync.OnceValue(func() Options {
		wrapper := filepath.Join(d.base, "holder")
		if _, err := os.Stat(wrapper); err == nil {
			return Options{Cwd: d.base, Holder: []string{wrapper}, Env: []string{"PATH=" + os.Getenv("PATH"), "PS1=$ "}, Limit: 10 * time.Second}
		}
		return d.options()
	})()
}
