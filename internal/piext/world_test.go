package piext_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
	"github.com/seed6990a682/teams/internal/pi/pitest"
)

var built struct {
	once sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// program is the teams program, built once.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "teams-piext")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "teams")
		built.err = gobuild.Build(context.Background(), gobuild.Teams, built.path)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// world is a project, an agent directory that is the root too, and a model.
type world struct {
	t       *testing.T
	pi      string
	teams   string
	root    string
	project string
	model   *model
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pi: pitest.RealPi(t), teams: program(t), model: newModel(t)}
	w.root, w.project = w.model.agentDir(t), t.TempDir()
	put(t, filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(w.project, ".pi", "agents", "worker.md"), "---\nname: worker\ndescription: works; use when there is work\ntools: read, bash\n---\nWork.\n")
	t.Cleanup(func() {
		for _, args := range [][]string{{"shutdown", "--all", "--now"}, {"session", "end", "--now"}, {"harness", "stop"}} {
			_, _ = w.run(args...)
		}
	})
	return w
}

// env is the environment of pi and of the shell beside it.
func (w *world) env(more ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TEAMS_") || strings.HasPrefix(name, "PI_") || strings.HasPrefix(name, "HERDR") || strings.HasSuffix(name, "_API_KEY") {
			continue
		}
		env = append(env, kv)
	}
	env = append(env, "PI_CODING_AGENT_DIR="+w.root, "PI_OFFLINE=1", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "HOME="+w.root, "TEAMS_HERDR=off")
	return append(env, more...)
}

func (w *world) run(args ...string) (string, error) {
	cmd := exec.Command(w.teams, args...)
	cmd.Dir, cmd.Env = w.project, w.env()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("teams %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// data runs a verb with --json and decodes its data.
func (w *world) data(into any, args ...string) {
	w.t.Helper()
	out, err := w.run(append([]string{"--json"}, args...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &struct{ Data any }{into}); err != nil {
		w.t.Fatalf("teams %v: %v\n%s", args, err, out)
	}
}

func (w *world) install(args ...string) {
	w.t.Helper()
	if _, err := w.run(append([]string{"pi", "install"}, args...)...); err != nil {
		w.t.Fatal(err)
	}
}

// event is a line of pi.
type event struct {
	Type        string
	ID          string
	Method      string
	Message     json.RawMessage // of a message event an object, of notify a text
	ToolName    string
	IsError     bool
	Result      struct{ Content []struct{ Text string } }
	WidgetLines []string
	Success     bool
	Error       string
	raw         string
}

// custom is the custom message that the event carries.
func (e event) custom() (m struct {
	Role, CustomType, Content string
}) {
	_ = json.Unmarshal(e.Message, &m)
	return m
}

// note is the text of a notification.
func (e event) note() (s string) {
	if e.Type == "extension_ui_request" && e.Method == "notify" {
		_ = json.Unmarshal(e.Message, &s)
	}
	return s
}

func (e event) text() (s string) {
	for _, c := range e.Result.Content {
		s += c.Text
	}
	return s
}

// session is one pi in rpc mode.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	errs   *bytes.Buffer
	exited chan struct{}

	mu    sync.Mutex
	more  chan struct{}
	lines []event
	taken int
}

func (w *world) start(env []string, args ...string) *session {
	w.t.Helper()
	s := &session{t: w.t, errs: new(bytes.Buffer), exited: make(chan struct{}), more: make(chan struct{})}
	s.cmd = exec.Command(w.pi, append([]string{"--mode", "rpc", "--session", filepath.Join(w.t.TempDir(), "s.jsonl"), "-np", "--no-themes", "-nc"}, args...)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = w.project, env, s.errs
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			var e event
			if json.Unmarshal(line, &e) == nil {
				e.raw = string(line)
				s.mu.Lock()
				s.lines = append(s.lines, e)
				close(s.more)
				s.more = make(chan struct{})
				s.mu.Unlock()
			}
			if err != nil {
				break
			}
		}
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	w.t.Cleanup(func() {
		select {
		case <-s.exited:
		default:
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			<-s.exited
		}
		if w.t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, e := range s.lines {
				if e.Type != "message_update" {
					w.t.Logf("%.600s", e.raw)
				}
			}
			w.t.Logf("stderr: %s", s.errs)
		}
	})
	s.send(map[string]any{"type": "get_state", "id": "ready"})
	s.wait("pi to answer", func(e event) bool { return e.ID == "ready" })
	return s
}

func (s *session) send(v any) {
	s.t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		_, err = s.in.Write(append(data, '\n'))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) prompt(text string) {
	s.t.Helper()
	s.send(map[string]any{"type": "prompt", "message": text, "id": "p"})
}

// wait returns the next event that fits, behind the last one that was waited for.
func (s *session) wait(what string, fits func(event) bool) event {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		s.mu.Lock()
		for s.taken < len(s.lines) {
			e := s.lines[s.taken]
			s.taken++
			if fits(e) {
				s.mu.Unlock()
				return e
			}
		}
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-s.exited:
			s.t.Fatalf("pi has ended, and it was waited for %s", what)
		case <-deadline:
			s.t.Fatalf("no %s within a minute", what)
		}
	}
}

// call has the model call a tool, and returns its end.
func (s *session) call(tool string, args any) event {
	s.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	s.prompt("CALL " + tool + " " + string(data))
	end := s.wait("end of "+tool, func(e event) bool { return e.Type == "tool_execution_end" && e.ToolName == tool })
	s.wait("end of the run", func(e event) bool { return e.Type == "agent_end" })
	return end
}

// quit ends pi as a client does that goes away.
func (s *session) quit() {
	s.t.Helper()
	_ = s.in.Close()
	select {
	case <-s.exited:
	case <-time.After(time.Minute):
		s.t.Fatal("pi does not end")
	}
}

// eventually waits until f answers true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not within 30 s: %s", what)
}

func alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// teammate and task are what the tests look at.
type teammate struct{ Name, Agent, Status, SpawnID string }

type listed struct {
	Teammates []teammate
	Tasks     []struct{ ID, State, Subject, Result, ClaimedBy string }
}

type harness struct {
	Running bool
	PID     int
}
