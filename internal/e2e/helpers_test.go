package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
	"github.com/seed6990a682/teams/internal/pi/pitest"
)

var (
	long   = flag.Bool("long", false, "run the storms in full")
	update = flag.Bool("update", false, "write the golden files anew")
)

// teamsBin is the built command. Everybody may run it, also another user.
var teamsBin string

// hang bounds every call of the command: whatever takes longer hangs.
const hang = 2 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("6") // most tests wait for processes most of the time
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "teams-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	defer pitest.Clean()
	teamsBin = filepath.Join(dir, "teams")
	if ready := os.Getenv("TEAMS_E2E_BIN"); ready != "" { // an installed command is tested as it is
		data, err := os.ReadFile(ready)
		if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(teamsBin, data, 0o755)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}
	if err := errors.Join(gobuild.Build(context.Background(), gobuild.Teams, teamsBin), os.Chmod(dir, 0o755), os.Chmod(teamsBin, 0o755)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// site is one root with one project: a session of its own.
type site struct {
	t       *testing.T
	base    string // everything of the test lies below it
	root    string
	project string
	env     []string // added to the environment of every call
	cwd     string   // "" is the project
	uid     int      // run as this user; 0 is the one that runs the test
	bin     string   // "" is teamsBin
}

// watchSources is for the program that TestMain has built.
var watchSources = sync.OnceValue(gobuild.Watch)

// newSite makes an empty root and project. When the test ends every process
// that belongs to the root is ended, and one that was still there is an error.
func newSite(t *testing.T) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return siteIn(t, base)
}

func siteIn(t *testing.T, base string) *site {
	t.Helper()
	if err := watchSources(); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, base: base, root: filepath.Join(base, "root"), project: filepath.Join(base, "app")}
	for _, dir := range []string{filepath.Join(s.project, ".git"), filepath.Join(base, "home"), filepath.Join(base, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, p := range s.endAll() {
			t.Errorf("left behind: %s", p)
		}
	})
	return s
}

// with is the same site with more environment.
func (s *site) with(env ...string) *site {
	c := *s
	c.env = append(append([]string(nil), s.env...), env...)
	return &c
}

// as is the site as a teammate sees it.
func (s *site) as(name string) *site { return s.with("TEAMS_NAME=" + name) }

// at is the site from another working directory.
func (s *site) at(dir string) *site {
	c := *s
	c.cwd = dir
	return &c
}

// environ is built from nothing, so that no variable from outside gets in.
func (s *site) environ() []string {
	env := []string{
		"PATH=" + filepath.Dir(teamsBin) + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.base, "home"), "TMPDIR=" + filepath.Join(s.base, "tmp"),
		"LC_ALL=C.UTF-8", "TEAMS_ROOT=" + s.root, "GIT_CONFIG_NOSYSTEM=1",
	}
	return append(env, s.env...)
}

// command prepares any program in the site, in a process group of its own.
func (s *site) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.project, s.environ()
	if s.cwd != "" {
		cmd.Dir = s.cwd
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}
	}
	return cmd
}

// proc is a running program.
type proc struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan struct{} // closed when it has ended and was waited for
}

// start starts a prepared command.
func start(t *testing.T, cmd *exec.Cmd) *proc {
	t.Helper()
	p := &proc{t: t, cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.err
	}
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p
}

func (s *site) start(args ...string) *proc {
	s.t.Helper()
	return start(s.t, s.command(s.program(), args...))
}

// program is the command that the site uses.
func (s *site) program() string {
	if s.bin != "" {
		return s.bin
	}
	return teamsBin
}

func (p *proc) pid() int { return p.cmd.Process.Pid }

// kill ends the process itself with SIGKILL, whatever it has started stays.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// signal sends a signal, unless the process has ended.
func (p *proc) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// ended reports whether the process ends within d.
func (p *proc) ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// wait waits for the end and returns what came of it.
func (p *proc) wait() result {
	if !p.ended(hang) {
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		<-p.done
		return result{code: -2, out: p.out.String(), err: "it hung: " + p.err.String()}
	}
	return result{code: exitCode(p.cmd.ProcessState), out: p.out.String(), err: p.err.String()}
}

// exitCode is the exit status as a shell sees it.
func exitCode(st *os.ProcessState) int {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// result is what a program answered.
type result struct {
	code     int
	out, err string
}

func (r result) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", r.code, clip(r.out), clip(r.err))
}

func clip(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// run runs teams to its end.
func (s *site) run(args ...string) result {
	s.t.Helper()
	return s.start(args...).wait()
}

// runIn is run with something on standard input.
func (s *site) runIn(stdin string, args ...string) result {
	s.t.Helper()
	cmd := s.command(s.program(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	return start(s.t, cmd).wait()
}

// sh runs a line of shell, in which teams is in the PATH.
func (s *site) sh(line string) result {
	s.t.Helper()
	return start(s.t, s.command("/bin/sh", "-c", line)).wait()
}

// exits runs teams and checks the exit code.
func (s *site) exits(code int, args ...string) result {
	s.t.Helper()
	r := s.run(args...)
	if r.code != code {
		s.t.Fatalf("teams %s: want exit %d\n%s", strings.Join(args, " "), code, r)
	}
	return r
}

// ok runs teams, which must succeed, and returns its trimmed output.
func (s *site) ok(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.exits(0, args...).out)
}

// envelope is what --json prints.
type envelope struct {
	Schema int             `json:"schema"`
	OK     bool            `json:"ok"`
	Data   json.RawMessage `json:"data"`
	Error  *struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Hint    string         `json:"hint"`
		Details map[string]any `json:"details"`
	} `json:"error"`
}

// json runs teams with --json and reads the one value it prints.
func (s *site) json(args ...string) (envelope, result) {
	s.t.Helper()
	r := s.run(append([]string{"--json"}, args...)...)
	var e envelope
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		s.t.Fatalf("teams --json %s: %v\n%s", strings.Join(args, " "), err, r)
	}
	return e, r
}

// fails checks that teams refuses with an exit code and an error code, and
// returns the error.
func (s *site) fails(exit int, code string, args ...string) envelope {
	s.t.Helper()
	e, r := s.json(args...)
	if r.code != exit || e.OK || e.Error == nil || e.Error.Code != code {
		s.t.Fatalf("teams %s: want exit %d and %s\n%s", strings.Join(args, " "), exit, code, r)
	}
	return e
}

// task is what tests look at in a task.
type task struct {
	ID           string   `json:"id"`
	Subject      string   `json:"subject"`
	Description  string   `json:"description"`
	Status       string   `json:"status"`
	State        string   `json:"state"`
	DependsOn    []string `json:"dependsOn"`
	Verify       string   `json:"verify"`
	ClaimedBy    string   `json:"claimedBy"`
	Result       string   `json:"result"`
	ErrorMessage string   `json:"errorMessage"`
	Attempt      int      `json:"attempt"`
	Epoch        int64    `json:"epoch"`
	NotBefore    int64    `json:"notBefore"`
	GateRuns     int      `json:"gateRuns"`
	GateFailures int      `json:"gateFailures"`
	Claim        *struct {
		Token, Worker, SpawnID string
		LeaseUntil             int64
	} `json:"claim"`
	LastGate *struct {
		Run         int
		Verdict     string
		ExitCode    int
		Signal      string
		DurationMs  int64
		Log, Reason string
		OutputBytes int64
	} `json:"lastGate"`
	LastSubmission *struct{ ID, Outcome string } `json:"lastSubmission"`
}

// show is a task as teams task show tells it.
func (s *site) show(id string) task {
	s.t.Helper()
	e, r := s.json("task", "show", id)
	var d struct{ Task task }
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil {
		s.t.Fatalf("task show %s: %s", id, r)
	}
	return d.Task
}

// add adds a task and returns its id.
func (s *site) add(subject string, flags ...string) string {
	s.t.Helper()
	return s.ok(append([]string{"task", "add", "-q", subject}, flags...)...)
}

// event is one line of the history.
type event struct {
	Rev              int64
	N, Of            int
	Event, Task      string
	Epoch            int64
	Worker, SpawnID  string
	Token, Reason    string
	Submission       string
	Verdict, Message string
}

// history is what teams log tells, of one task or of all.
func (s *site) history(id ...string) []event {
	s.t.Helper()
	e, r := s.json(append([]string{"log"}, id...)...)
	var d struct{ Events []event }
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil {
		s.t.Fatalf("log: %s", r)
	}
	return d.Events
}

// count counts the events of a name, of one task or with "" of all.
func count(events []event, name, id string) (n int) {
	for _, e := range events {
		if e.Event == name && (id == "" || e.Task == id) {
			n++
		}
	}
	return n
}

// board is the directory of the session's board.
func (s *site) board(parts ...string) string {
	s.t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(s.root, "tasks", "*"))
	if len(dirs) != 1 {
		s.t.Fatalf("boards: %q", dirs)
	}
	return filepath.Join(append([]string{dirs[0]}, parts...)...)
}

// team is the directory of the session's team.
func (s *site) team(parts ...string) string {
	s.t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(s.root, "teammate", "*"))
	if len(dirs) != 1 {
		s.t.Fatalf("teams: %q", dirs)
	}
	return filepath.Join(append([]string{dirs[0]}, parts...)...)
}

// healthy checks that doctor finds nothing wrong but what it is told to expect.
func (s *site) healthy(but ...string) {
	s.t.Helper()
	e, r := s.json("doctor")
	var d struct {
		Findings []struct{ Code, Severity, Path, Message string }
	}
	if e.Data != nil {
		_ = json.Unmarshal(e.Data, &d)
	}
next:
	for _, f := range d.Findings {
		for _, b := range but {
			if f.Code == b {
				continue next
			}
		}
		if f.Severity != "info" {
			s.t.Errorf("doctor: %s %s %s: %s", f.Severity, f.Code, f.Path, f.Message)
		}
	}
	if r.code != 0 {
		s.t.Errorf("doctor: %s", r)
	}
}

// eventually waits until ok, at most a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
