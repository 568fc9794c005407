package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shell is not looked up in PATH: the PATH of cron or of a worktree must not
// decide which shell judges the work.
const shell = "/bin/sh"

// Run runs one gate to its end and returns what came of it. It returns when
// the shell has exited, or was ended by the time limit or ctx, and everything
// else that belongs to the gate is gone (see the package comment).
//
// The error is nil whenever there is a verdict. It is [ErrInterrupted] when
// ctx was cancelled before the shell had exited: then the gate was ended, the
// receipt has no verdict, and the gate should be run again. It has code usage
// for a gate that cannot be one, such as an empty command or run id; nothing
// was started then.
func Run(ctx context.Context, g Gate) (Receipt, error) {
	g, err := g.checked()
	if err != nil {
		return Receipt{ExitCode: -1}, err
	}
	if ctx.Err() != nil {
		return Receipt{ExitCode: -1}, ErrInterrupted
	}
	r := Receipt{ExitCode: -1, Commit: headCommit(g.Dir)}
	out := newOutput(nil, g.MaxLog)
	if g.Log != "" {
		if log, err := openLog(g.Log); err != nil {
			r.because("no log: " + err.Error())
		} else {
			r.Log, out.log = g.Log, log
		}
	}

	begin := time.Now()
	proc, pipe, err := start(g)
	if err != nil {
		r.Verdict = CouldNotStart
		r.because(err.Error())
		err = nil
	} else {
		s := supervision{gate: g, proc: proc, pipe: pipe, out: out, begin: begin}
		err = s.run(ctx, &r)
	}

	r.OutputBytes, r.OutputSHA256 = out.bytes, out.digest()
	r.FinishedAt = time.Now().UnixMilli()
	if err := out.finish(); err != nil {
		r.because("the log is incomplete: " + err.Error())
	}
	if r.Log != "" {
		syncDir(r.Log)
	}
	return r, err
}

// start starts the shell and returns it with the read end of its output.
func start(g Gate) (*os.Process, *os.File, error) {
	if g.Dir != "" {
		// Seen from the error of a start, no directory looks like no shell.
		if info, err := os.Stat(g.Dir); err != nil {
			return nil, nil, fmt.Errorf("cannot run in the directory: %w", err)
		} else if !info.IsDir() {
			return nil, nil, fmt.Errorf("cannot run in %s: not a directory", g.Dir)
		}
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer stdin.Close()
	pipe, stdout, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer stdout.Close()
	base := g.Env
	if base == nil {
		base = os.Environ()
	}
	// Fd, which StartProcess calls, makes the write end blocking, as programs
	// expect their output to be; the read end stays with the poller.
	proc, err := os.StartProcess(shell, []string{"sh", "-c", g.Command}, &os.ProcAttr{
		Dir:   g.Dir,
		Env:   g.environment(base),
		Files: []*os.File{stdin, stdout, stdout},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		pipe.Close()
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		if errors.Is(err, unix.E2BIG) {
			err = fmt.Errorf("%w: the command (%d bytes) or its environment exceeds what the system passes on", err, len(g.Command))
		}
		if g.Dir != "" {
			return nil, nil, fmt.Errorf("cannot start %s in %s: %w", shell, g.Dir, err)
		}
		return nil, nil, fmt.Errorf("cannot start %s: %w", shell, err)
	}
	return proc, pipe, nil
}
