package term

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
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

// It ends those too that have lost the mark with their environment: the shell's
// children, what these have started in a session of its own, and what is left in
// the shell's session by parents that have ended.
func TestCloseEndsWithoutMark(t *testing.T) {
	t.Parallel()
	need(t, "setsid")
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	stub := filepath.Join(d.base, "stub")
	text := "trap '' HUP TERM INT\necho $$ > \"$1.new\"\nmv \"$1.new\" \"$1\"\nwhile :; do sleep 1; done\n"
	if err := os.WriteFile(stub, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.send(tm.ID, `clean() { env -i "PATH=$PATH" "$@"; }; clean sh stub child &`)
	d.send(tm.ID, `clean sh -c 'setsid sh stub session; sleep 1000' &`)
	d.send(tm.ID, `(clean sh stub orphan &)`)
	var all []fsx.Process
	for _, name := range []string{"child", "session", "orphan"} {
		var pid int
		for end := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			b, _ := os.ReadFile(filepath.Join(d.base, name))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		p, err := fsx.ProcessOf(pid)
		if err != nil {
			t.Fatal(name, err)
		}
		t.Cleanup(func() {
			if p.Liveness() == fsx.Alive {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		})
		all = append(all, p)
	}
	if slices.ContainsFunc(marked(tm.Mark), func(pid int) bool { return pid == all[0].PID || pid == all[1].PID || pid == all[2].PID }) {
		t.Fatal("they have the mark")
	}
	if _, err := d.Close(t.Context(), tm.ID); err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		if p.Liveness() != fsx.Dead {
			t.Errorf("number %d is left", i)
		}
	}
}

// The number of a shell that is gone may lead the session of somebody else.
func TestCloseSparesStrangers(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1008")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p, err := fsx.ProcessOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	was := p
	was.StartTime--
	tm := &Terminal{Mark: fsx.RandomID(), shell: was}
	if err := tm.endTree(0); err != nil || p.Liveness() != fsx.Alive {
		t.Errorf("%v, it is %s", err, p.Liveness())
	}
	stranger := process{pid: p.PID, start: was.StartTime}
	if stranger.signal(syscall.SIGKILL); p.Liveness() != fsx.Alive {
		t.Error("another one was signalled")
	}
	stranger.start = p.StartTime
	stranger.signal(syscall.SIGKILL)
	if _ = cmd.Wait(); p.Liveness() != fsx.Dead {
		t.Error("it was not signalled")
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
	pid := d.holder(tm.ID)
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

// Whoever is on another host, in another pid namespace, or on a machine of the
// same name finds nothing, and does not take that for the end.
func TestElsewhere(t *testing.T) {
	d := newDesk(t)
	tm := d.open()
	path := filepath.Join(d.Dir, tm.ID, "shell.json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fsx.SetSharedMode(true) // where a boot id proves nothing; for all of the process
	defer fsx.SetSharedMode(false)
	for _, set := range []func(*fsx.Process){
		func(p *fsx.Process) { p.Host = "elsewhere" },
		func(p *fsx.Process) { p.PIDNamespace = "pid:[1]" },
		func(p *fsx.Process) { p.BootID = "of another one" },
	} {
		st := started{Shell: tm.shell, StartedAt: 1}
		set(&st.Shell)
		data, err := writeJSON(st)
		if err != nil {
			t.Fatal(err)
		}
		if err := fsx.Replace(path, data); err != nil {
			t.Fatal(err)
		}
		_, err = d.Close(t.Context(), tm.ID)
		for _, err := range []error{err, d.Send(t.Context(), tm.ID, "x"), d.Signal(t.Context(), tm.ID, "ctrl+d")} {
			var e *errs.Error
			if !errors.As(err, &e) || e.Code != errs.Conflict || !strings.Contains(e.Msg, st.Shell.Host) || !strings.Contains(e.Hint, "it there") {
				t.Errorf("%v", err)
			}
		}
		if now, err := d.Get(tm.ID); err != nil || now.State != StateOpen {
			t.Errorf("%+v %v", now, err)
		}
	}
	if err := fsx.Replace(path, was); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Close(t.Context(), tm.ID); err != nil {
		t.Error(err)
	}
}

// A terminal is not over while its holder lives, whatever became of the shell.
func TestHolderDoesNotEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	pid := d.holder(tm.ID)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := d.Close(t.Context(), tm.ID)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if errs.CodeOf(err) != errs.Busy {
		t.Errorf("%v", err)
	}
	if now, err := d.Close(t.Context(), tm.ID); err != nil || now.State != StateClosed {
		t.Errorf("%+v %v", now, err)
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

// holder is the process that holds a terminal.
func (d *desk) holder(id string) int {
	d.t.Helper()
	h, err := fsx.ReadHolder(filepath.Join(d.Dir, id, "alive.lock"))
	if err != nil {
		d.t.Fatal(err)
	}
	return h.PID
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
