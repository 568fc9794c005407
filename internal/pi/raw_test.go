package pi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// raw is a pi without the client: what it says to what it is told, line by
// line.
type raw struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	said  []string // all lines so far
	log   []string // the same and what was sent, with < and > before
	errs  *stderrTail
	ended chan struct{}
}

func startRaw(t *testing.T, b backend, agentDir string, args ...string) *raw {
	t.Helper()
	c := config(t, b, agentDir)
	argv, err := Args(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{t: t, cmd: exec.Command(c.Command, append(argv, args...)...), lines: make(chan string, 1000), errs: new(stderrTail), ended: make(chan struct{})}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stderr = c.Dir, c.environ(), r.errs
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r.cmd.WaitDelay = 5 * time.Second
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for br := bufio.NewReader(out); ; {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			r.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		for range r.lines {
		}
		_ = r.cmd.Wait()
		if _, err := left(c); err != nil {
			t.Error(err)
		}
	})
	return r
}

// send writes lines in one piece.
func (r *raw) send(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		r.log = append(r.log, "> "+line)
	}
	if _, err := io.WriteString(r.in, strings.Join(lines, "\n")+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// wait reads until a line for which f is true.
func (r *raw) wait(what string, f func(m map[string]any) bool) map[string]any {
	r.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("ended before %s: %s\n%s", what, r.errs.text(), strings.Join(r.said, "\n"))
			}
			r.said = append(r.said, line)
			r.log = append(r.log, "< "+line)
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				r.t.Fatalf("%v: %s", err, line)
			}
			if f(m) {
				return m
			}
		case <-timer.C:
			r.t.Fatalf("never: %s\n%s", what, strings.Join(r.said, "\n"))
		}
	}
}

// event waits for the next event of a type.
func (r *raw) event(kind string) map[string]any {
	r.t.Helper()
	return r.wait(kind, func(m map[string]any) bool { return m["type"] == kind })
}

// response waits for the response to the command with an id.
func (r *raw) response(id string) map[string]any {
	r.t.Helper()
	return r.wait("response "+id, func(m map[string]any) bool { return m["type"] == "response" && m["id"] == id })
}

// user waits until a message of the user is shown.
func (r *raw) user(text string) {
	r.t.Helper()
	r.wait("user "+text, func(m map[string]any) bool { return m["type"] == "message_start" && userText(m) == text })
}

func userText(m map[string]any) string {
	msg, _ := m["message"].(map[string]any)
	if msg["role"] != "user" {
		return ""
	}
	blocks, _ := msg["content"].([]any)
	var s string
	for _, b := range blocks {
		b, _ := b.(map[string]any)
		text, _ := b["text"].(string)
		s += text
	}
	return s
}

// state asks for the state.
func (r *raw) state(id string) map[string]any {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"id":%q,"type":"get_state"}`, id))
	data, _ := r.response(id)["data"].(map[string]any)
	return data
}

// settled waits until it neither runs nor is about to.
func (r *raw) settled() {
	r.t.Helper()
	for n := 0; ; n++ {
		s := r.state(fmt.Sprintf("settled%d", n))
		if s["isStreaming"] == false && s["isCompacting"] == false {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// exit waits for the exit and returns the status, that of a signal negative.
func (r *raw) exit() int {
	r.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	for line := range r.lines {
		r.said = append(r.said, line)
	}
	_ = r.cmd.Wait()
	if w, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -int(w.Signal())
	}
	return r.cmd.ProcessState.ExitCode()
}

func rawRig(t *testing.T, b backend, s pitest.Settings) (*raw, *pitest.Model) {
	t.Helper()
	m := pitest.NewModel(t)
	return startRaw(t, b, m.AgentDir(t, s)), m
}
