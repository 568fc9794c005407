package pi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// gateScript holds the process back until it is recorded: the shell reads a
// line from descriptor 3 and only then becomes pi. When the host dies before,
// the read fails and nothing is run.
const gateScript = `read -r _ <&3 || exit 143; exec 3<&-; exec "$@"`

// Start starts pi and waits until it has answered. The process leads a session
// and a process group of its own. When ctx ends before pi has answered, or
// anything else fails, nothing is left behind.
//
// The error has code unusable when there is no pi, or it has no model (it names
// models.json); usage for a Config that cannot be used; busy when StartLock was
// not free in time; failure when pi ended (with what it wrote to standard error)
// or timed_out when it did not answer in time. The error of BeforeRun is returned
// as it is.
func Start(ctx context.Context, c Config) (*Process, error) {
	args, err := Args(c)
	if err != nil {
		return nil, err
	}
	program, err := find(c.Command)
	if err != nil {
		return nil, err
	}
	if c.StartLock != "" {
		lock, err := fsx.Acquire(ctx, c.StartLock, orElse(c.StartWait, defaultWait))
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Unlock() }()
	}
	p, err := launch(c, program, args)
	if err != nil {
		return nil, err
	}
	limit := orElse(c.StartTimeout, defaultStart)
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := p.greet(wait); err != nil {
		select {
		case <-p.gone: // by itself, and what it said counts
			<-p.done
			err = p.exitError()
		default:
			now, cancel := context.WithCancel(context.Background())
			cancel()
			_ = p.Stop(now, 0)
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				err = errs.New(errs.TimedOut, "pi did not answer within %v%s", limit, below(p.errs.text()))
			}
		}
		return nil, err
	}
	return p, nil
}

func below(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text
}

func (p *Process) exitError() error {
	e := p.Exit()
	return errs.New(errs.Failure, "%s", e.Reason()).WithDetail("exitStatus", e.Status)
}

func find(command string) (string, error) {
	program, err := exec.LookPath(orElse(command, "pi"))
	if err != nil {
		e := errs.New(errs.Unusable, "pi cannot be started: %w", err)
		return "", e.WithHint("npm install -g @earendil-works/pi-coding-agent")
	}
	return program, nil
}

// launch starts the process and what reads from it and writes to it.
func launch(c Config, program string, args []string) (p *Process, err error) {
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			files = append(files, r, w)
		}
		return r, w
	}
	inRead, inWrite := pipe()
	outRead, outWrite := pipe()
	errRead, errWrite := pipe()
	gate, open := pipe()
	fail := func(err error) (*Process, error) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, err
	}
	if err != nil {
		return fail(err)
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", gateScript, "sh", program}, args...)...)
	cmd.Dir, cmd.Env = c.Dir, c.environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, errWrite
	cmd.ExtraFiles = []*os.File{gate}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fail(errs.New(errs.Failure, "start pi: %w", err))
	}
	for _, f := range []*os.File{inRead, outWrite, errWrite, gate} {
		_ = f.Close()
	}
	if c.BeforeRun != nil {
		if err := c.BeforeRun(cmd.Process.Pid); err != nil {
			_ = open.Close() // the shell sees the end of the file and leaves
			_ = cmd.Wait()
			return fail(err)
		}
	}
	p = &Process{
		c: c, cmd: cmd, pid: cmd.Process.Pid, in: inWrite, from: outRead,
		out: newDispatcher(c.Events), lines: newOutbox(), errs: new(stderrTail),
		gone: make(chan struct{}), read: make(chan struct{}), done: make(chan struct{}),
		asks: make(map[string]chan event),
	}
	p.track.init()
	p.queue.init()
	p.grace.Store(int64(defaultGrace))
	p.ctx, p.end = context.WithCancel(context.Background())
	p.lastOutput.Store(time.Now().UnixMilli())
	tailed := make(chan struct{})
	go func() {
		defer close(tailed)
		_, _ = io.Copy(p.errs, errRead)
	}()
	go p.out.run()
	go p.lines.run(inWrite)
	go p.readLoop()
	go p.settleLoop()
	go p.waitLoop(errRead, tailed)
	// A shell that was ended meanwhile reads nothing; its exit says it all.
	_, _ = io.WriteString(open, "go\n")
	_ = open.Close()
	return p, nil
}

// greet waits for the first answer and checks it.
func (p *Process) greet(ctx context.Context) error {
	ev, err := p.ask(ctx, "get_state")
	if err != nil {
		return err
	}
	s := ev.state
	if s == nil || s.provider == "" || s.provider == "unknown" {
		file := p.c.modelsFile()
		e := errs.New(errs.Unusable, "pi has no model: neither %s nor its settings give one that can be used%s", file, below(p.errs.text()))
		return e.WithPath(file).WithHint("add a provider and a model to %s, or set the key of a known one", file)
	}
	p.info = Info{Model: s.provider + "/" + s.model, SessionFile: s.sessionFile, SessionID: s.sessionID, Messages: int(s.messages)}
	p.started.Store(true)
	return nil
}

// waitLoop waits for the exit, ends what pi has left behind, and tells the
// consumer.
func (p *Process) waitLoop(errRead *os.File, tailed chan struct{}) {
	awaitExit(p.pid)
	p.reap.Lock()
	p.reaped = true
	_ = p.cmd.Wait()
	p.reap.Unlock()
	p.lines.close()
	_ = p.in.Close()
	// Whoever inherited the pipes must not hold up the end.
	for _, f := range []*os.File{p.from, errRead} {
		_ = f.SetReadDeadline(time.Now().Add(time.Second))
	}
	<-p.read
	<-tailed
	_ = p.from.Close()
	_ = errRead.Close()
	e := Exit{Status: p.cmd.ProcessState.ExitCode(), Stderr: p.errs.text()}
	if w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		e.Status, e.Signal = 128+int(w.Signal()), w.Signal().String()
	}
	p.mu.Lock()
	p.exit = e
	p.mu.Unlock()
	close(p.gone)
	p.end()
	p.endAll()
	p.guardSession()
	if p.c.Sweep != nil {
		p.left = p.c.Sweep(time.Duration(p.grace.Load()))
	}
	p.out.finish(e)
	close(p.done)
}

// outbox writes commands to pi in their order. Putting one in never waits.
type outbox struct {
	mu     sync.Mutex
	lines  [][]byte
	closed bool
	wake   chan struct{}
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put takes a command: an object, since a line that is null ends pi.
func (o *outbox) put(command any) {
	line, err := json.Marshal(command)
	if err != nil {
		return // no command of ours
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.lines = append(o.lines, append(line, '\n'))
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signal()
}

func (o *outbox) run(w io.Writer) {
	for range o.wake {
		o.mu.Lock()
		lines, closed := o.lines, o.closed
		o.lines = nil
		o.mu.Unlock()
		for line := range slices.Values(lines) {
			if _, err := w.Write(line); err != nil {
				o.close() // pi is ending; its exit settles everything
				return
			}
		}
		if closed {
			return
		}
	}
}
