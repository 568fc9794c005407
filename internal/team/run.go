package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
)

// runResult is how a command ended.
type runResult struct {
	exit   int
	signal string
	stdout string // tail
	stderr string // tail
}

// reason is what a failed command leaves as the task's error message.
func (r *runResult) reason() string {
	head := fmt.Sprintf("the command ended with exit status %d", r.exit)
	if r.signal != "" {
		head = "the command was ended by " + r.signal
	}
	if r.stderr == "" {
		return head
	}
	return head + "\n" + r.stderr
}

// startGate holds a child back until it is recorded: the shell reads a line
// from descriptor 3 and only then becomes the command. When the loop dies
// before, the read fails and nothing is run.
const startGate = `read -r _ <&3 || exit 143; exec 3<&-; exec "$@"`

// gated is a command that startGated starts.
func gated(argv []string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", startGate, "sh"}, argv...)...)
	cmd.WaitDelay = time.Second // a grandchild that holds the output does not hold up the end
	return cmd
}

// startGated starts a command of gated and lets it run once record has made it
// known. On an error nothing of it runs.
func startGated(cmd *exec.Cmd, record func(fsx.Process) error) (child fsx.Process, err error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return child, err
	}
	defer open.Close()
	cmd.ExtraFiles = []*os.File{gate}
	err = cmd.Start()
	gate.Close()
	if err != nil {
		return child, fmt.Errorf("start command: %w", err)
	}
	if child, err = fsx.ProcessOf(cmd.Process.Pid); err == nil {
		err = record(child)
	}
	if err == nil {
		if _, err = io.WriteString(open, "go\n"); errors.Is(err, syscall.EPIPE) {
			err = nil // it was ended meanwhile; its exit status says so
		}
	}
	if err != nil {
		open.Close() // the child sees the end of the file and leaves
		_ = cmd.Wait()
	}
	return child, err
}

// termGrace is the time between asking a command to end and ending it.
const termGrace = 5 * time.Second

// run runs the command for a task. It is recorded as the teammate's child
// before it is let exec, so that a claim is never taken from a worker whose
// command still runs.
func (w *worker) run(ctx context.Context, task *fsboard.TaskView, try int, feedback string) (*runResult, error) {
	file := filepath.Join(w.t.TeammateDir(w.tm.Name), "task.json")
	data, err := json.MarshalIndent(task, "", " ")
	if err != nil {
		return nil, err
	}
	if err := fsx.Replace(file, append(data, '\n')); err != nil {
		return nil, err
	}
	var out, errOut tail
	cmd := gated(w.r.Command)
	cmd.Env = w.environ(task, try, feedback, file)
	cmd.Stdin = strings.NewReader(task.Description)
	cmd.Stdout = tee(&out, w.r.Stdout)
	cmd.Stderr = tee(&errOut, w.r.Stderr)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the loop
	if _, err := startGated(cmd, func(child fsx.Process) error { return w.record(ctx, child, task.ID) }); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go w.endOn(ctx, cmd.Process.Pid, ended)
	err = cmd.Wait()
	close(ended)
	return exitOf(cmd, err, &out, &errOut)
}

// record makes the process the teammate's child, durably.
func (w *worker) record(ctx context.Context, child fsx.Process, task string) error {
	_, err := w.t.Update(ctx, w.tm.Name, w.tm.SpawnID, func(tm *Teammate) error {
		tm.Child, tm.Status, tm.CurrentTask = &child, StatusWorking, task
		return nil
	})
	return err
}

// endOn ends the command's process group when ctx does: TERM, and KILL after a
// grace.
func (w *worker) endOn(ctx context.Context, pid int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(termGrace):
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// environ is the command's environment.
func (w *worker) environ(task *fsboard.TaskView, try int, feedback, file string) []string {
	env := withoutOurs(os.Environ())
	if mark := os.Getenv(envHosted); mark != "" { // a loop that a resident has started is its host's, and so is this
		env = append(env, envHosted+"="+mark)
	}
	for _, v := range w.t.Vars(w.tm) {
		env = append(env, v.Name+"="+v.Value)
	}
	env = append(env, "TEAMS_TASK="+task.ID, "TEAMS_TASK_FILE="+file, "TEAMS_TRY="+strconv.Itoa(try))
	if feedback != "" {
		env = append(env, "TEAMS_FEEDBACK="+feedback)
	}
	return env
}

func exitOf(cmd *exec.Cmd, err error, out, errOut *tail) (*runResult, error) {
	r := &runResult{stdout: out.text(), stderr: errOut.text()}
	if cmd.ProcessState == nil {
		return nil, fmt.Errorf("wait for command: %w", err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.exit, r.signal = 128+int(status.Signal()), status.Signal().String()
		return r, nil
	}
	r.exit = cmd.ProcessState.ExitCode()
	return r, nil
}

// tail keeps the last tailBytes of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(len(p)-tailBytes, 0):]...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(p), nil
}

// text is the tail as text: what is not UTF-8 is replaced, white space at the
// end taken off, and a first character that was cut left out.
func (t *tail) text() string {
	s := string(t.buf[max(len(t.buf)-tailBytes, 0):])
	if len(t.buf) > tailBytes {
		for len(s) > 0 && s[0]&0xC0 == 0x80 {
			s = s[1:]
		}
	}
	return strings.TrimRight(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"), " \t\r\n")
}

// tee writes to a tail and, if there is one, to w. An error of w ends only the
// copy: the command must not fail because nobody reads.
func tee(t *tail, w io.Writer) io.Writer {
	if w == nil {
		return t
	}
	return &teeWriter{t: t, w: w}
}

type teeWriter struct {
	t *tail
	w io.Writer
}

func (tw *teeWriter) Write(p []byte) (int, error) {
	if tw.w != nil {
		if _, err := tw.w.Write(p); err != nil {
			tw.w = nil
		}
	}
	return tw.t.Write(p)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
