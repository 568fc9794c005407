package pi

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/pi/pitest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// leaveChildren is a command that leaves processes of all kinds: in its own
// group, in the background, in sessions of their own, ones that ignore signals.
// Their numbers are written to files.
const leaveChildren = `RUN (trap "" TERM HUP; sleep 300) & echo $! > a.pid; setsid sleep 301 & echo $! > b.pid; setsid bash -c 'trap "" TERM; echo $$ > c.pid; while :; do sleep 1; done' & nohup sleep 302 >/dev/null 2>&1 & echo $! > d.pid; while ! test -s c.pid; do sleep 0.01; done; touch ready; `

// children reads the numbers that leaveChildren has written.
func (r *rig) children() (list []fsx.Process) {
	r.t.Helper()
	r.until("its children", func() bool { _, err := os.Stat(filepath.Join(r.c.Dir, "ready")); return err == nil })
	for _, name := range []string{"a", "b", "c", "d"} {
		pid, err := strconv.Atoi(strings.TrimSpace(read(r.t, filepath.Join(r.c.Dir, name+".pid"))))
		if err != nil {
			r.t.Fatal(err)
		}
		q, ok := lookup(pid)
		if !ok {
			r.t.Fatalf("child %s, %d, is gone", name, pid)
		}
		list = append(list, q)
	}
	return list
}

// lookup finds a living process by its number.
func lookup(pid int) (fsx.Process, bool) {
	p, err := fsx.ProcessOf(pid)
	return p, err == nil
}

func wantGone(t *testing.T, list []fsx.Process) {
	t.Helper()
	for _, q := range list {
		if now, ok := lookup(q.PID); ok && now.StartTime == q.StartTime {
			t.Errorf("process %d lives", q.PID)
			_ = syscall.Kill(q.PID, syscall.SIGKILL)
		}
	}
}

// A stop leaves nothing, whatever the tools have started: while one runs, and
// when it has long ended.
func TestStopLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		for _, test := range []struct {
			name, after string
			now         bool
		}{{"running", "sleep 303", false}, {"ended", "true", false}, {"at once", "sleep 304", true}} {
			if b.name == "real" && test.name != "running" {
				continue
			}
			r := start(t, b, pitest.Settings{}, nil)
			other := exec.Command("sleep", "100")
			other.Env = append(os.Environ(), "TEAMS_HOSTED="+marked(r.c)+"0", "X=TEAMS_HOSTED="+marked(r.c))
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			r.say(leaveChildren+test.after, Steer)
			list := r.children()
			if test.name == "ended" {
				r.rest()
			}
			me, _ := lookup(r.PID())
			list = append(list, me)
			ctx, cancel := context.WithCancel(t.Context())
			if test.now {
				cancel()
			}
			begin := time.Now()
			if err := r.Stop(ctx, 500*time.Millisecond); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			cancel()
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%s: took %v", test.name, took)
			}
			wantGone(t, list)
			if err := other.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("%s: a stranger was ended: %v", test.name, err)
			}
			_ = other.Process.Kill()
			_ = other.Wait()
			if r.State() != Ended {
				t.Errorf("%s: state %v", test.name, r.State())
			}
			if e := r.Exit(); !test.now && (e.Status != 0 || e.Signal != "") {
				t.Errorf("%s: %+v", test.name, e)
			}
		}
	})
}

// However pi ends, its tools do not outlive it.
func TestExitLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{}, nil)
		r.say(leaveChildren+"sleep 305", Steer)
		list := r.children()
		r.grace.Store(int64(300 * time.Millisecond))
		out := make(chan Outcome, 1)
		go func() {
			o, _ := r.tell("x", "never seen", Steer)
			out <- o
		}()
		time.Sleep(50 * time.Millisecond)
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if o := <-out; o != Lost {
			t.Errorf("%v", o)
		}
		<-r.Done()
		wantGone(t, list)
		if e := r.Exit(); e.Signal != "killed" || e.Status != 137 || !strings.Contains(e.Reason(), "ended by killed") {
			t.Errorf("%+v", e)
		}
		if len(r.watch.exits) != 1 {
			t.Errorf("exits %+v", r.watch.exits)
		}
		if o, err := r.tell("y", "too late", Steer); o != Lost || err == nil {
			t.Errorf("%v, %v", o, err)
		}
		if err := r.Interrupt(t.Context()); err == nil {
			t.Error("no error of Interrupt")
		}
		if err := r.WaitIdle(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The table of the reference: which endings of pi leave its tool alive.
func TestShutdownTable(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		for _, test := range []struct {
			name     string
			end      func(r *raw)
			exit     int
			survives bool
		}{
			{"end of input", func(r *raw) { _ = r.in.Close() }, 0, true},
			{"SIGTERM", func(r *raw) { _ = r.cmd.Process.Signal(syscall.SIGTERM) }, 143, false},
			{"SIGHUP", func(r *raw) { _ = r.cmd.Process.Signal(syscall.SIGHUP) }, 129, false},
			{"SIGKILL", func(r *raw) { _ = r.cmd.Process.Kill() }, -9, true},
		} {
			if b.name == "real" && (test.name == "SIGHUP" || test.name == "SIGKILL") {
				continue
			}
			r, _ := rawRig(t, b, pitest.Settings{})
			r.send(`{"id":"a","type":"prompt","message":"RUN echo $$ > tool.pid; exec sleep 300"}`)
			r.event("tool_execution_start")
			file := filepath.Join(r.cmd.Dir, "tool.pid")
			pid := 0
			for end := time.Now().Add(patience); pid == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				data, _ := os.ReadFile(file)
				pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
			}
			tool, ok := lookup(pid)
			if !ok {
				t.Fatalf("%s: no tool", test.name)
			}
			test.end(r)
			if code := r.exit(); code != test.exit {
				t.Errorf("%s: exit %d", test.name, code)
			}
			lives := true
			for range 40 { // a killed one needs a moment
				now, ok := lookup(pid)
				if lives = ok && now.StartTime == tool.StartTime; lives == test.survives {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			if lives != test.survives {
				t.Errorf("%s: the tool lives: %v", test.name, lives)
			}
		}
	})
}

// What will not end is killed; what does not answer is not waited for.
func TestStopStubborn(t *testing.T) {
	r := fakeWith(t, "stubborn", nil)
	r.say("RUN sleep 306", Steer)
	begin := time.Now()
	if err := r.Stop(t.Context(), 200*time.Millisecond); err != nil {
		t.Error(err)
	}
	if e := r.Exit(); e.Signal != "killed" {
		t.Errorf("%+v", e)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if err := r.Stop(t.Context(), 0); err != nil { // again
		t.Error(err)
	}
	r = fakeWith(t, "", nil)
	if err := syscall.Kill(-r.PID(), syscall.SIGSTOP); err != nil { // it hangs
		t.Fatal(err)
	}
	// Its threads stop one after the other, and until then it may answer.
	for range 200 {
		time.Sleep(5 * time.Millisecond)
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(r.PID()) + "/task/*/stat")
		running := false
		for _, task := range tasks {
			line, err := os.ReadFile(task)
			_, rest, found := strings.Cut(string(line), ") ")
			running = running || err == nil && found && !strings.HasPrefix(rest, "T")
		}
		if !running {
			break
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.Interrupt(ctx); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	if err := r.Stop(t.Context(), 200*time.Millisecond); err != nil {
		t.Error(err)
	}
}
