package worktree

import (
	"bytes"
	"context"
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

const (
	askTime   = time.Minute      // the longest that a question to git may take
	workTime  = 15 * time.Minute // the longest for a checkout, or for storing changes
	killGrace = 2 * time.Second  // TERM to KILL, and how long what a hook has left may hold the output
	maxErrors = 8 << 10          // what is kept of git's error output
	maxOutput = 64 << 20         // what is kept of its output, where nothing smaller is asked for
)

// git is the command, found in PATH.
type git struct{ path string }

func findGit() (git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return git{}, errs.New(errs.Failure, "git is not in PATH, and a worktree needs it").
			WithHint("install git, or use a role without worktree: true")
	}
	return git{path}, nil
}

// call is one run of git.
type call struct {
	dir   string   // where it runs; exists
	env   []string // beside the cleaned environment
	args  []string
	stdin []byte
	limit int64         // how much output is kept, 0 for maxOutput; git is stopped when there is more
	time  time.Duration // 0: askTime
	hooks bool          // let the repository's hooks run

	// started is called when git is there but has not begun yet, with its process,
	// which leads a process group. An error of it lets git never begin, and so
	// does the end of the caller.
	started func(fsx.Process) error
}

// answer is what git said.
type answer struct {
	out []byte
	cut bool // there was more than the limit
}

// text is the output without the line break at its end. What names a path may
// have others inside.
func (a answer) text() string { return strings.TrimSuffix(string(a.out), "\n") }

// fields are the parts of output that ends each with a NUL.
func (a answer) fields() []string {
	s := strings.TrimSuffix(string(a.out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// gitError is a git that answered with an exit code other than 0.
type gitError struct {
	verb string
	code int
	text string // its error output, bounded
}

func (e *gitError) Error() string {
	if e.text == "" {
		return "git " + e.verb + " failed"
	}
	return "git " + e.verb + ": " + e.text
}

// exitCode is the exit code of a git that failed; -1 when it did not run to its
// end.
func exitCode(err error) int {
	var ge *gitError
	if errors.As(err, &ge) {
		return ge.code
	}
	return -1
}

// run runs git and waits for it. The error is a *gitError for an exit code other
// than 0, of code timed_out or interrupted when ctx or the time ended, else
// whatever kept git from running.
func (g git) run(ctx context.Context, c call) (answer, error) {
	limit := c.time
	if limit == 0 {
		limit = askTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "advice.detachedHead=false", "-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "submodule.recurse=false"}, c.args...)
	if !c.hooks {
		args = append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)
	}
	var cmd *exec.Cmd
	if c.started == nil {
		cmd = exec.CommandContext(ctx, g.path, args...)
		if c.stdin != nil {
			cmd.Stdin = bytes.NewReader(c.stdin)
		}
	} else {
		// The shell waits until the process is written down.
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `read -r go || exit 125; exec "$@" </dev/null`, "sh", g.path}, args...)...)
	}
	out, text := &keeper{limit: c.limit, stop: true}, &keeper{limit: maxErrors}
	if c.limit == 0 {
		out.limit = maxOutput
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, append(environ(os.Environ()), c.env...), out, text
	// A group of its own, so that what git has started (a hook, a filter) ends
	// with it, and a terminal's signals do not cut it short.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := start(cmd, c.started)
	if err == nil {
		err = cmd.Wait()
		if ctx.Err() != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what has not heeded the TERM
		}
	}
	a := answer{out: out.buf.Bytes(), cut: out.cut}
	return a, g.outcome(ctx, cmd, a, c, strings.TrimSpace(text.buf.String()), limit, err)
}

// start starts cmd, and lets it begin once started has taken note of it.
func start(cmd *exec.Cmd, started func(fsx.Process) error) error {
	if started == nil {
		return cmd.Start()
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer pipe.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	p, err := fsx.ProcessOf(cmd.Process.Pid)
	if err == nil {
		err = started(p)
	}
	if err == nil {
		_, err = pipe.Write([]byte("go\n"))
	}
	if err != nil {
		pipe.Close() // which ends it
		_ = cmd.Wait()
	}
	return err
}

func (g git) outcome(ctx context.Context, cmd *exec.Cmd, a answer, c call, text string, limit time.Duration, err error) error {
	verb := c.args[0]
	switch {
	case err == nil, a.cut, errors.Is(err, exec.ErrWaitDelay):
		// Git was stopped because nobody wants to know more, or something that a
		// hook has left behind still holds the output.
		return nil
	case ctx.Err() != nil:
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
			return &errs.Error{Code: errs.Interrupted, Op: "git " + verb, Msg: "was interrupted", Err: ctx.Err()}
		}
		e := errs.New(errs.TimedOut, "did not end in time (at most %v)", limit)
		e.Op, e.Err = "git "+verb, ctx.Err()
		return e.WithHint("a hook or a filter of the repository may hang")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.Exited() {
			return &gitError{verb: verb, code: exit.ExitCode(), text: text}
		}
		return errs.New(errs.Failure, "git %s: %v", verb, exit)
	}
	return &errs.Error{Code: errs.Failure, Op: "git " + verb, Msg: err.Error(), Err: err}
}

// ask returns the text of a question to git.
func (g git) ask(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	a, err := g.run(ctx, call{dir: dir, env: env, args: args})
	return a.text(), err
}

// keeper keeps the first bytes that are written to it.
type keeper struct {
	buf   bytes.Buffer
	limit int64
	stop  bool // refuse more than the limit, which ends the writer
	cut   bool
}

func (k *keeper) Write(p []byte) (int, error) {
	left := k.limit - int64(k.buf.Len())
	if int64(len(p)) <= left {
		return k.buf.Write(p)
	}
	k.cut = true
	k.buf.Write(p[:left])
	if k.stop {
		return int(left), io.ErrShortWrite
	}
	return len(p), nil
}

// environ is the environment without what would point git to another
// repository, as in a hook, or make it answer differently.
func environ(env []string) []string {
	out := make([]string, 0, len(env)+4)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !misleading(name) {
			out = append(out, kv)
		}
	}
	return append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "GIT_OPTIONAL_LOCKS=0")
}

func misleading(name string) bool {
	if name == "LC_ALL" || name == "LANGUAGE" {
		return true
	}
	rest, ours := strings.CutPrefix(name, "GIT_")
	if !ours {
		return false
	}
	for _, prefix := range []string{"TRACE", "AUTHOR_", "COMMITTER_", "NOTES_", "REDIRECT_", "TEST_"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	switch rest {
	case "DIR", "WORK_TREE", "IMPLICIT_WORK_TREE", "COMMON_DIR", "INDEX_FILE", "INDEX_VERSION", "PREFIX", "NAMESPACE", "CONFIG", "CONFIG_PARAMETERS",
		"OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "QUARANTINE_PATH", "GRAFT_FILE", "SHALLOW_FILE", "NO_REPLACE_OBJECTS", "REPLACE_REF_BASE",
		"INTERNAL_SUPER_PREFIX", "ATTR_SOURCE", "LITERAL_PATHSPECS", "GLOB_PATHSPECS", "NOGLOB_PATHSPECS", "ICASE_PATHSPECS", "OPTIONAL_LOCKS",
		"EDITOR", "SEQUENCE_EDITOR", "EXTERNAL_DIFF", "DIFF_OPTS", "PAGER", "PAGER_IN_USE", "REFLOG_ACTION", "MERGE_AUTOEDIT", "FLUSH", "TERMINAL_PROMPT":
		return true
	}
	return false
}

// firstLine is the first line of git's error output, without the word in front.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimPrefix(strings.TrimSpace(line), "fatal: ")
	return fsx.SafeLine(strings.TrimPrefix(line, "error: "))
}
