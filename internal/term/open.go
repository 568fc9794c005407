package term

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// openLimit is how long a terminal may take to show a prompt.
const openLimit = 30 * time.Second

// What a terminal is found at after it was opened.
const (
	ReadyPrompt = "prompt" // its shell waits for a command
	ReadyBusy   = "busy"   // something runs, or output goes on
	ReadySilent = "silent" // nothing was printed
)

// Options say what terminal to open.
type Options struct {
	Name  string // a handle, or ""
	Cwd   string // absolute
	Shell string // "" is /bin/sh
	// Holder is the command that runs [Hold] with the directory as its last
	// argument.
	Holder []string
	Env    []string // of the holder and the shell
	// Limit bounds the wait for a prompt; 0: 30 s.
	Limit time.Duration
	// Pane opens a pane of herdr, runs argv in it and returns which it is; nil for
	// a pseudo terminal of ours. Should it fail, nothing of it is left.
	Pane func(ctx context.Context, t *Terminal, argv []string) (pane, terminal, socket string, err error)
}

// keepClosed is how many closed terminals are kept for those who ask.
const keepClosed = 16

// Open opens a terminal and waits until its shell is ready, at most for the
// limit. More than [MaxOpen] are of code conflict. When it fails nothing is left.
func (s *Terms) Open(ctx context.Context, o Options) (*Terminal, error) {
	if o.Shell == "" {
		o.Shell = "/bin/sh"
	}
	if o.Limit <= 0 {
		o.Limit = openLimit
	}
	if o.Name != "" {
		if err := fsx.CheckHandle(o.Name); err != nil {
			return nil, err
		}
		if number(o.Name) != 0 {
			return nil, errs.New(errs.Usage, "the name %s is an id of a terminal, choose another", o.Name)
		}
	}
	if info, err := os.Stat(o.Cwd); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: o.Cwd, Err: syscall.ENOTDIR}
	}
	t, err := s.take(ctx, &o)
	if err != nil {
		return nil, err
	}
	if err := s.hold(ctx, t, &o); err != nil {
		s.discard(t)
		return nil, err
	}
	now, err := s.read(t.ID)
	if err != nil {
		return nil, err
	}
	now.Readiness = now.ready(ctx, o.Limit)
	return now, ctx.Err()
}

// take makes the directory of a new terminal, if there may be one more.
func (s *Terms) take(ctx context.Context, o *Options) (*Terminal, error) {
	if err := fsx.MkdirAll(s.Root, s.Dir); err != nil {
		return nil, err
	}
	lock, err := fsx.Acquire(ctx, filepath.Join(s.Dir, "terms.lock"), 10*time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Unlock() }()
	list, _, err := s.List()
	if err != nil {
		return nil, err
	}
	var open, closed []Terminal
	last := 0
	for _, t := range list {
		last = number(t.ID)
		if t.State == StateClosed {
			closed = append(closed, t)
			continue
		}
		open = append(open, t)
		if o.Name != "" && t.Name == o.Name {
			return nil, errs.New(errs.NameTaken, "the name %s is taken, %s has it", o.Name, t.ID)
		}
	}
	if len(open) >= MaxOpen {
		return nil, errs.New(errs.Conflict, "%d terminals are open, there cannot be more", len(open)).WithHint("teams term close %s", open[0].ID)
	}
	for i := 0; i < len(closed)-keepClosed; i++ {
		_ = os.RemoveAll(closed[i].dir)
	}
	t := &Terminal{Name: o.Name, Cwd: o.Cwd, Host: HostPty, Shell: o.Shell, Mark: fsx.RandomID(), CreatedAt: fsx.Now().UnixMilli()}
	if o.Pane != nil {
		t.Host = HostHerdr
	}
	if t.Opener, err = fsx.Self(); err != nil {
		return nil, err
	}
	for {
		last++
		t.ID = idPrefix + strconv.Itoa(last)
		t.dir = filepath.Join(s.Dir, t.ID)
		if err := os.Mkdir(t.dir, 0o700); err == nil {
			break
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	data, err := writeJSON(t)
	if err == nil {
		err = fsx.Publish(t.path("term.json"), data)
	}
	if err != nil {
		_ = os.RemoveAll(t.dir)
		return nil, err
	}
	return t, nil
}

// hold starts the holder and waits until its shell runs.
func (s *Terms) hold(ctx context.Context, t *Terminal, o *Options) error {
	argv := append(append([]string(nil), o.Holder...), t.dir)
	var exited chan error
	if o.Pane != nil {
		pane, terminal, socket, err := o.Pane(ctx, t, argv)
		if err != nil {
			return err
		}
		t.Pane, t.Terminal, t.Socket = pane, terminal, socket
		data, err := writeJSON(t)
		if err != nil {
			return err
		}
		if err := fsx.Replace(t.path("term.json"), data); err != nil {
			return err
		}
	} else {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = "/"
		for _, kv := range o.Env {
			// One that is opened in another one does not end with that.
			if !strings.HasPrefix(kv, EnvMark+"=") {
				cmd.Env = append(cmd.Env, kv)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		exited = make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
	}
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for {
		now, err := s.read(t.ID)
		if err != nil {
			return err
		}
		if now.State == StateOpen {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-exited:
			if now, rerr := s.read(t.ID); rerr == nil && now.State == StateClosed && now.shell.PID != 0 {
				return nil // a shell that was over at once
			}
			return t.holderError(err)
		case <-limit.C:
			return t.holderError(errs.New(errs.TimedOut, "it did not start within 10s"))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// holderError is what the holder has to say about its end.
func (t *Terminal) holderError(err error) error {
	if b, rerr := fsx.ReadFile(t.path("holder.err"), 4096); rerr == nil && len(b) > 0 {
		return errs.New(errs.Failure, "the terminal could not be opened: %s", strings.TrimSpace(string(b)))
	}
	return errs.New(errs.Failure, "the terminal could not be opened: %w", err)
}

// discard removes a terminal that was not opened.
func (s *Terms) discard(t *Terminal) {
	if now, err := s.read(t.ID); err == nil {
		t = now // with its shell, if it has got one
	}
	_ = t.endTree(0)
	_ = os.RemoveAll(t.dir)
}

// ready waits until the shell waits for a command: it is in the foreground, and
// the output has ended within a line, a prompt, a moment ago.
func (t *Terminal) ready(ctx context.Context, limit time.Duration) string {
	until := time.Now().Add(limit)
	var last int64 = -1
	quiet := time.Now()
	for {
		e, err := end(t.dir)
		if err != nil {
			return ReadyBusy
		}
		if e.At != last {
			last, quiet = e.At, time.Now()
		}
		shell, _, known := t.foreground()
		if e.At > 0 && e.Screen.Mid && time.Since(quiet) >= 150*time.Millisecond && (shell || !known) {
			return ReadyPrompt
		}
		switch {
		case time.Now().After(until) && e.At == 0:
			return ReadySilent
		case time.Now().After(until), t.shell.Liveness() == fsx.Dead:
			return ReadyBusy
		}
		select {
		case <-ctx.Done():
			return ReadyBusy
		case <-time.After(25 * time.Millisecond):
		}
	}
}
