package sharedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
)

// hang bounds every call of the command. A MooseFS whose servers stood still for
// long keeps a file that was being written from everybody for two minutes.
const hang = 4 * time.Minute

// host is one of the two that share a session.
type host struct {
	t       *testing.T
	name    string
	root    string
	project string // the same path on both
	env     []string
	starts  chan func()
}

// watchSources is for the program that TestMain has built.
var watchSources = sync.OnceValue(gobuild.Watch)

// twoHosts makes a session of its own that hosta and hostb share. What they have
// started is ended with the test.
func twoHosts(t *testing.T) (a, b *host) {
	t.Helper()
	if err := watchSources(); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	project := filepath.Join(base, "app")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + fmt.Sprint(time.Now().UnixNano())
	newHost := func(name, mount string) *host {
		h := &host{t: t, name: name, project: project, starts: make(chan func())}
		h.env = []string{"PATH=" + filepath.Dir(teamsBin) + ":" + os.Getenv("PATH"), "HOME=" + base, "TEAMS_POLL=100ms"}
		if mount == "" {
			h.root = filepath.Join(base, "root")
			h.env = append(h.env, "TEAMS_SHARED=1")
		} else {
			h.root = filepath.Join(mount, dir, "root")
		}
		h.env = append(h.env, "TEAMS_ROOT="+h.root)
		ready := make(chan error, 1)
		go func() {
			ready <- becomeHost(name)
			for start := range h.starts {
				start()
			}
		}()
		if err := <-ready; err != nil {
			t.Fatal(err)
		}
		return h
	}
	if volume == nil {
		a, b = newHost("hosta", ""), newHost("hostb", "")
	} else {
		a, b = newHost("hosta", volume.A), newHost("hostb", volume.B)
	}
	t.Cleanup(func() {
		endAll(t, a.root, b.root)
		close(a.starts)
		close(b.starts)
		if volume != nil {
			_ = os.RemoveAll(filepath.Dir(a.root))
		}
	})
	return a, b
}

// endAll ends every process whose environment names one of the roots; one that is
// still there at the end of a test is an error.
func endAll(t *testing.T, roots ...string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range dirs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, root := range roots {
			if !bytes.Contains(append([]byte{0}, data...), []byte("\x00TEAMS_ROOT="+root+"\x00")) {
				continue
			}
			var pid int
			if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err != nil {
				continue
			}
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if len(line) == 0 {
				continue // a zombie, or gone
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("left behind: %d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
			break
		}
	}
}

// with is the host with more environment.
func (h *host) with(env ...string) *host {
	c := *h
	c.env = append(append([]string(nil), h.env...), env...)
	return &c
}

// as is the host for a teammate.
func (h *host) as(name string) *host { return h.with("TEAMS_NAME=" + name) }

// proc is a running program.
type proc struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
}

// start starts teams on the host, in a process group of its own.
func (h *host) start(args ...string) *proc { return h.startIn("", args...) }

func (h *host) startIn(stdin string, args ...string) *proc {
	h.t.Helper()
	p := &proc{cmd: exec.Command(teamsBin, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = h.project, h.env
	p.cmd.Stdin = strings.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 5 * time.Second
	started := make(chan error)
	h.starts <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p
}

func (p *proc) ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// kill ends the process with SIGKILL; what it has started stays.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// signalAll sends a signal to the process and what it has started: a work
// loop's command is in a group of its own.
func (p *proc) signalAll(sig syscall.Signal) {
	pids := []int{p.cmd.Process.Pid}
	for i := 0; i < len(pids); i++ {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pids[i], pids[i]))
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, path := range tasks {
			more, _ := os.ReadFile(path)
			data = append(append(data, ' '), more...)
		}
		seen := map[int]bool{}
		for _, word := range strings.Fields(string(data)) {
			var pid int
			if _, err := fmt.Sscan(word, &pid); err == nil && !seen[pid] {
				seen[pid] = true
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

// result is what a program answered.
type result struct {
	code     int
	out, err string
}

func (r result) String() string {
	return fmt.Sprintf("exit %d\nstdout: %.2000s\nstderr: %.2000s", r.code, r.out, r.err)
}

func (p *proc) wait() result {
	if !p.ended(hang) {
		p.signalAll(syscall.SIGKILL)
		<-p.done
		return result{-2, p.out.String(), "it hung: " + p.err.String()}
	}
	code := p.cmd.ProcessState.ExitCode()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return result{code, p.out.String(), p.err.String()}
}

func (h *host) run(args ...string) result { h.t.Helper(); return h.start(args...).wait() }

// exits runs teams and checks the exit code.
func (h *host) exits(code int, args ...string) result {
	h.t.Helper()
	r := h.run(args...)
	if r.code != code {
		h.t.Fatalf("%s: teams %s: want exit %d\n%s", h.name, strings.Join(args, " "), code, r)
	}
	return r
}

// ok runs teams, which must succeed, and returns its trimmed output.
func (h *host) ok(args ...string) string {
	h.t.Helper()
	return strings.TrimSpace(h.exits(0, args...).out)
}

// data runs teams with --json and decodes what it answers into to.
func (h *host) data(to any, args ...string) {
	h.t.Helper()
	r := h.run(append([]string{"--json"}, args...)...)
	var e struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		h.t.Fatalf("teams %s: %v\n%s", strings.Join(args, " "), err, r)
	}
	if err := json.Unmarshal(e.Data, to); err != nil {
		h.t.Fatalf("teams %s: %v\n%s", strings.Join(args, " "), err, r)
	}
}

// addTasks adds n tasks.
func (h *host) addTasks(n int, gate string) {
	h.t.Helper()
	var batch bytes.Buffer
	for i := range n {
		row := map[string]any{"subject": fmt.Sprintf("work %d", i)}
		if gate != "" {
			row["verify"] = gate
		}
		line, _ := json.Marshal(row)
		batch.Write(append(line, '\n'))
	}
	if r := h.startIn(batch.String(), "task", "add", "--batch", "-", "-q").wait(); r.code != 0 {
		h.t.Fatal(r)
	}
}

// event is one line of the history.
type event struct{ Event, Task, Worker, Token, Reason string }

func (h *host) history() []event {
	h.t.Helper()
	var d struct{ Events []event }
	h.data(&d, "log")
	return d.Events
}

// allOnce checks that each of n tasks was completed exactly once.
func (h *host) allOnce(n int) {
	h.t.Helper()
	done := map[string]int{}
	for _, e := range h.history() {
		if e.Event == "completed" {
			done[e.Task]++
		}
	}
	for i := range n {
		if id := fmt.Sprintf("t_%d", i+1); done[id] != 1 {
			h.t.Errorf("%s was completed %d times", id, done[id])
		}
	}
}

// counts is how many tasks are in each state.
func (h *host) counts() map[string]int {
	h.t.Helper()
	var d struct{ Counts map[string]int }
	h.data(&d, "status")
	return d.Counts
}

// eventually waits until ok, at most a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
