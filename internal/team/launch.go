package team

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// A spawn and the host that it starts talk over two pipes, so that neither
// leaves anything behind when the other dies:
//
//	host  -> spawn: {"state":"ready"}   it holds the life's lock, and its program runs
//	spawn -> host:  "go\n"              the kickoff is queued: live on
//	host  -> spawn: {"state":"up"}      the record says idle, the ledger has its row
//
// or {"state":"failed",…} in place of any of the host's lines. A host that reads
// the end of the pipe in place of go was given up.
const (
	hostReady  = "ready"
	hostUp     = "up"
	hostFailed = "failed"

	hostReadyWait = 3 * time.Minute // starts of pi are staggered
	hostUpWait    = 30 * time.Second
	hostExitWait  = 15 * time.Second
)

// The descriptors that a host finds open.
const (
	hostSays  = 3
	hostHears = 4
)

// hostLine is one line of a host to its spawn.
type hostLine struct {
	State   string    `json:"state"`
	Code    errs.Code `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	Path    string    `json:"path,omitempty"`
}

// launched is a host that a spawn has started.
type launched struct {
	cmd   *exec.Cmd
	lines chan hostLine // closed when the host says nothing more
	hears *os.File      // nil when it was told to go
	log   string        // where it writes
	up    bool
}

// launchHost starts the process that hosts a teammate. It has a session of its
// own, and so outlives whoever starts it.
func (t *Team) launchHost(ctx context.Context, r *SpawnRequest, tm Teammate) (*launched, error) {
	program, err := r.program()
	if err != nil {
		return nil, errs.New(errs.Failure, "cannot find the teams program: %w", err)
	}
	log := openActivityLog(t.ActivityLog(tm.Name))
	log.Event("started %s (agent %s, %s)", tm.Name, tm.Agent, tm.Kind)
	defer log.Close()
	cmd := exec.Command(program, "harness", "--teammate", tm.Name)
	cmd.Args[0] = "teams"
	cmd.Dir = t.Project
	cmd.Env = t.hostEnviron(tm)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if log.f != nil {
		cmd.Stdout, cmd.Stderr = log.f, log.f
	}
	says, saysEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	hearsEnd, hears, err := os.Pipe()
	if err != nil {
		says.Close()
		saysEnd.Close()
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{saysEnd, hearsEnd}
	err = cmd.Start()
	saysEnd.Close()
	hearsEnd.Close()
	if err != nil {
		says.Close()
		hears.Close()
		return nil, errs.New(errs.Failure, "cannot start the host of %s: %w", tm.Name, err)
	}
	l := &launched{cmd: cmd, lines: make(chan hostLine, 4), hears: hears, log: log.path}
	go func() {
		defer close(l.lines)
		defer says.Close()
		sc := bufio.NewScanner(io.LimitReader(says, 1<<20))
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var line hostLine
			if json.Unmarshal(sc.Bytes(), &line) == nil {
				l.lines <- line
			}
		}
	}()
	return l, nil
}

// hostEnviron is the environment of a host: that of the caller, but for who the
// caller is.
func (t *Team) hostEnviron(tm Teammate) []string {
	env := withoutOurs(os.Environ())
	for _, v := range t.Vars(tm) {
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}

// withoutOurs leaves out the variables that say who somebody is, and which task
// or gate it works on.
func withoutOurs(environ []string) []string {
	env := make([]string, 0, len(environ)+8)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case EnvRoot, EnvSession, EnvName, EnvSpawn, EnvProject, envHosted,
			"TEAMS_TASK", "TEAMS_TASK_FILE", "TEAMS_TRY", "TEAMS_FEEDBACK", "TEAMS_GATE", "TEAMS_KICKOFF", "TEAMS_PROMPT":
			continue
		}
		env = append(env, kv)
	}
	return env
}

// await waits until the host has come to a state.
func (l *launched) await(ctx context.Context, state string, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, ok := <-l.lines:
		switch {
		case !ok:
			return errs.New(errs.Failure, "the host ended while it was starting%s", l.lastWords())
		case line.State == hostFailed:
			e := errs.New(line.Code, "%s", line.Message)
			e.Hint, e.Path = line.Hint, line.Path
			return e
		case line.State != state:
			return errs.New(errs.Internal, "the host said %q and not %q", line.State, state)
		}
		l.up = l.up || state == hostUp
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return errs.New(errs.Failure, "the host was not %s within %s", state, patience)
	}
}

// lastWords is the last line that the host has written, which goes with the
// spawn.
func (l *launched) lastWords() string {
	tail, _, err := fsx.ReadTail(l.log, maxActivityLine)
	if text := lastLine(string(tail)); err == nil && text != "" {
		return ": " + text
	}
	return ""
}

// release lets the host live on.
func (l *launched) release() error {
	_, err := io.WriteString(l.hears, "go\n")
	l.hears.Close()
	l.hears = nil
	if err != nil {
		return errs.New(errs.Failure, "the host ended while it was starting: %w", err)
	}
	return nil
}

// close lets go of a host: one that is up goes on, any other is ended, and has
// ended when close returns.
func (l *launched) close() {
	if l.hears != nil {
		l.hears.Close()
	}
	if l.up {
		go func() { _ = l.cmd.Wait() }() // a caller that lives on keeps no zombie
		return
	}
	ended := make(chan struct{})
	go func() { _ = l.cmd.Wait(); close(ended) }()
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(hostExitWait):
		_ = l.cmd.Process.Kill()
		<-ended
	}
}

// sayHost writes a line of the host to its spawn.
func sayHost(w io.Writer, line hostLine) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// failedLine tells an error.
func failedLine(err error) hostLine {
	line := hostLine{State: hostFailed, Code: errs.CodeOf(err), Message: err.Error()}
	var e *errs.Error
	if errors.As(err, &e) {
		line.Hint, line.Path, line.Message = e.Hint, e.Path, e.Msg
	}
	return line
}
