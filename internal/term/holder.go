package term

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// fastest is how much output is taken a second; a program that prints more waits
// for us.
const fastest = 16 << 20

// Hold runs the terminal of a directory until its shell has ended, the directory
// is gone, or ctx ends. It is what the holder process does. On a terminal of its
// own, as in a pane of herdr, it shows what the shell prints and types what a
// person types there.
func Hold(ctx context.Context, dir string) error {
	err := hold(ctx, dir)
	if err != nil {
		_ = os.WriteFile(filepath.Join(dir, "holder.err"), []byte(err.Error()+"\n"), 0o600)
	}
	return err
}

func hold(ctx context.Context, dir string) error {
	t := &Terminal{dir: dir}
	if err := readJSON(t.path("term.json"), t); err != nil {
		return err
	}
	// Whoever looks whether it is held holds it too, for a moment.
	alive, err := fsx.Acquire(ctx, t.path("alive.lock"), time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = alive.Unlock() }()
	if _, err := os.Lstat(t.path("end.json")); err == nil {
		return errs.New(errs.Stopped, "the terminal was closed before it was open")
	}
	rec, err := newRecorder(dir)
	if err != nil {
		return err
	}
	defer rec.Close()
	if err := unix.Mkfifo(t.path("in"), 0o600); err != nil {
		return &os.PathError{Op: "mkfifo", Path: t.path("in"), Err: err}
	}
	// For reading and writing, so that it does not end with each writer.
	in, err := os.OpenFile(t.path("in"), os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()

	cmd := exec.Command(t.Shell)
	cmd.Dir = t.Cwd
	cmd.Env = shellEnv(os.Environ(), t)
	show := newView()
	master, err := pty.StartWithSize(cmd, show.size())
	if err != nil {
		return err
	}
	defer master.Close()
	defer show.restore()
	shell, err := fsx.ProcessOf(cmd.Process.Pid)
	if err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	t.shell = shell
	data, err := writeJSON(started{shell, fsx.Now().UnixMilli()})
	if err == nil {
		err = fsx.Publish(t.path("shell.json"), data)
	}
	if err != nil {
		_ = t.endTree(0)
		_ = cmd.Wait()
		return err
	}
	go func() { _, _ = io.Copy(master, in) }()
	show.attach(master)
	printed := make(chan error, 1)
	go func() { printed <- copyOutput(io.MultiWriter(rec, show), master) }()
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	err = t.watch(ctx, over)
	// What was printed last is still to be read. Whoever goes on in the background
	// holds the terminal open, and is not waited for.
	select {
	case <-printed:
	case <-time.After(300 * time.Millisecond):
	}
	code := -1
	if cmd.ProcessState != nil {
		code = max(cmd.ProcessState.ExitCode(), -1)
	}
	t.end(code)
	return err
}

// watch waits for the end of the shell, and brings it about when the directory
// is gone or ctx ends.
func (t *Terminal) watch(ctx context.Context, over chan error) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer signal.Stop(signals)
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-look.C:
			if _, err := os.Lstat(t.path("term.json")); !errors.Is(err, os.ErrNotExist) {
				continue
			}
		case <-signals:
		case <-ctx.Done():
		}
		err := t.endTree(2 * time.Second)
		select {
		case <-over:
		case <-time.After(5 * time.Second):
		}
		return err
	}
}

// end writes down that the terminal is over, once.
func (t *Terminal) end(code int) {
	if data, err := writeJSON(ended{code, fsx.Now().UnixMilli()}); err == nil {
		_ = fsx.Publish(t.path("end.json"), data)
	}
}

// shellEnv is the environment of the shell.
func shellEnv(env []string, t *Terminal) []string {
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); {
		case name == "TEAMS_GATE", name == "TERM" && t.Host == HostPty, name == EnvMark, name == "PWD", name == "COLUMNS", name == "LINES":
		case t.Host == HostPty && strings.HasPrefix(name, "HERDR_"): // it is in no pane
		default:
			out = append(out, kv)
		}
	}
	if t.Host == HostPty {
		// zsh marks the end of output without a line break, which nobody asked for.
		out = append(out, "TERM=xterm-256color", "PROMPT_EOL_MARK=")
	}
	return append(out, EnvMark+"="+t.Mark, "PWD="+t.Cwd)
}

// copyOutput copies until there is nothing more to come, no faster than fastest.
func copyOutput(w io.Writer, r io.Reader) error {
	buf := make([]byte, 32<<10)
	begin, n := time.Now(), 0
	for {
		m, err := r.Read(buf)
		if m > 0 {
			if _, werr := w.Write(buf[:m]); werr != nil {
				return werr
			}
			if n += m; n > fastest/16 {
				time.Sleep(time.Second/16 - time.Since(begin))
				begin, n = time.Now(), 0
			}
		}
		if err != nil {
			return err
		}
	}
}
