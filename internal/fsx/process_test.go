package fsx

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

func want(t *testing.T, what string, p Process, l Liveness) {
	t.Helper()
	if got := p.Liveness(); got != l {
		t.Errorf("%s: %v, want %v (%+v)", what, got, l, p)
	}
}

func TestLiveness(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != os.Getpid() {
		t.Errorf("pid %d", self.PID)
	}
	want(t, "self", self, Alive)

	child := start(t, "sleep")
	child.line(t)
	c, err := ProcessOf(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "child", c, Alive)
	with := func(change func(p *Process)) Process {
		p := c
		change(&p)
		return p
	}
	want(t, "other start time", with(func(p *Process) { p.StartTime++ }), Dead)
	want(t, "number used by another", with(func(p *Process) { p.PID = os.Getpid(); p.StartTime++ }), Dead)
	want(t, "other boot", with(func(p *Process) { p.BootID = "x" }), Dead)
	want(t, "other host", with(func(p *Process) { p.Host = "x" }), Unknown)
	want(t, "other host, other boot", with(func(p *Process) { p.Host, p.BootID = "x", "x" }), Unknown)
	want(t, "other namespace", with(func(p *Process) { p.PIDNamespace = "x" }), Unknown)
	want(t, "other namespace, other boot", with(func(p *Process) { p.PIDNamespace, p.BootID = "x", "x" }), Unknown)
	want(t, "nothing known", Process{}, Unknown)
	for _, field := range []string{"PID", "StartTime", "BootID", "PIDNamespace", "Host"} {
		p := c
		reflect.ValueOf(&p).Elem().FieldByName(field).SetZero()
		want(t, "without "+field, p, Unknown)
	}
	want(t, "negative", with(func(p *Process) { p.PID = -1 }), Unknown)

	restore := SetBootID("another")
	want(t, "after a restart", c, Dead)
	restore()
	restore = SetBootID("")
	want(t, "boot id not to be had", c, Unknown)
	restore()

	if c.Suspended() {
		t.Error("the child is suspended")
	}
	child.Process.Signal(syscall.SIGSTOP)
	eventually(t, "it is suspended", c.Suspended)
	want(t, "suspended", c, Alive)
	child.Process.Signal(syscall.SIGCONT)
	eventually(t, "it goes on", func() bool { return !c.Suspended() })

	// Killed, but not waited for: a zombie does nothing any more.
	child.Process.Kill()
	eventually(t, "the zombie is dead", func() bool { return c.Liveness() == Dead })
	if _, err := ProcessOf(c.PID); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("ProcessOf a zombie: %v", err)
	}
	child.Wait()
	want(t, "reaped", c, Dead)
	if _, err := ProcessOf(c.PID); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("ProcessOf nobody: %v", err)
	}
	for _, pid := range []int{0, -1} {
		if _, err := ProcessOf(pid); errs.CodeOf(err) != errs.Usage {
			t.Errorf("ProcessOf(%d): %v", pid, err)
		}
	}
	want(t, "self still", self, Alive)
}

func TestLivenessString(t *testing.T) {
	for l, s := range map[Liveness]string{Unknown: "unknown", Alive: "alive", Dead: "dead", 99: "unknown"} {
		if l.String() != s {
			t.Errorf("%d is %q", l, l)
		}
	}
	var zero Liveness
	if zero != Unknown {
		t.Error("the zero value is not Unknown")
	}
}

func TestProcessJSON(t *testing.T) {
	b, err := json.Marshal(Process{1, 2, "b", "n", "h"})
	if err != nil || string(b) != `{"pid":1,"startTime":2,"bootId":"b","pidNamespace":"n","host":"h"}` {
		t.Errorf("%s %v", b, err)
	}
}

func TestClocks(t *testing.T) {
	a, err := BootClock()
	if err != nil || a <= 0 {
		t.Fatal(a, err)
	}
	time.Sleep(time.Millisecond)
	if b, err := BootClock(); err != nil || b-a < time.Millisecond || b-a > patience {
		t.Error(a, b, err)
	}
	if BootID() == "" || Host() == "" || PIDNamespace() == "" {
		t.Errorf("%q %q %q", BootID(), Host(), PIDNamespace())
	}
	fixed := time.Unix(5, 0)
	restore := SetNow(func() time.Time { return fixed })
	if !Now().Equal(fixed) {
		t.Error("SetNow")
	}
	restore()
	if time.Since(Now()) > patience {
		t.Error("SetNow restored")
	}
	boom := errors.New("boom")
	restore = SetBootClock(func() (time.Duration, error) { return 7, boom })
	if d, err := BootClock(); d != 7 || err != boom {
		t.Error("SetBootClock")
	}
	SetBootClock(nil)
	if _, err := BootClock(); err != nil {
		t.Error(err)
	}
	restore()
	if d, err := BootClock(); d <= a || err != nil {
		t.Error("SetBootClock restored")
	}
}
