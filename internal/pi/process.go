package pi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Process is a running pi. Its methods may be called from any goroutine.
type Process struct {
	c     Config
	cmd   *exec.Cmd
	pid   int
	info  Info
	out   *dispatcher
	lines *outbox
	in    *os.File // pi's standard input
	from  *os.File // pi's standard output
	errs  *stderrTail
	ctx   context.Context // ends with pi
	end   context.CancelFunc

	lastOutput atomic.Int64 // ms
	grace      atomic.Int64 // of the sweep, ns
	started    atomic.Bool  // pi has answered once
	guarded    atomic.Bool  // the session file has its mode

	reap   sync.Mutex // guards reaped: signals go to a group that is ours for sure
	reaped bool
	gone   chan struct{} // closed when pi itself has exited
	read   chan struct{} // closed when its output was read to the end
	done   chan struct{} // closed after exit, sweep and events
	exit   Exit
	left   error // what could not be ended

	mu       sync.Mutex
	state    State
	activity Activity
	total    Usage
	asks     map[string]chan event // commands without a prompt that wait for a response
	serial   int
	ended    bool
	track
	queue
}

// Info is what pi said of itself when it had started.
type Info struct {
	Model       string // provider/model
	SessionFile string // "" when none is kept
	SessionID   string
	Messages    int // restored from the session file
}

// Exit says how pi ended.
type Exit struct {
	Status int    // exit status; 128 and the signal's number for a signal
	Signal string // "" without
	Stderr string // its last lines
}

// Reason is the exit in one text: status or signal, and the last lines of
// standard error below it.
func (e Exit) Reason() string {
	s := fmt.Sprintf("pi ended with exit status %d", e.Status)
	if e.Signal != "" {
		s = "pi was ended by " + e.Signal
	}
	if e.Stderr != "" {
		s += "\n" + e.Stderr
	}
	return s
}

// PID returns the process id, which is that of its group and session too.
func (p *Process) PID() int { return p.pid }

// Info returns what pi said of itself when it had started.
func (p *Process) Info() Info { return p.info }

// State returns what pi does now.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Activity returns what it does as a roster shows it: a running tool, else its
// last line of thinking, else of text.
func (p *Process) Activity() Activity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.activity
}

// Usage returns what this process has used so far.
func (p *Process) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// LastOutput returns when pi last told of anything that it did. Answers to
// questions of this package do not count, and neither does a prompt while a run
// goes on.
func (p *Process) LastOutput() time.Time { return time.UnixMilli(p.lastOutput.Load()) }

// Done is closed when pi has exited, what it left behind is gone, and all
// events have been handed over.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how pi ended; valid after Done.
func (p *Process) Exit() Exit {
	<-p.gone
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// WaitIdle waits until pi is idle or has ended. The error is that of ctx.
func (p *Process) WaitIdle(ctx context.Context) error {
	for {
		p.mu.Lock()
		state, changed := p.state, p.changed
		p.mu.Unlock()
		if state != Working {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask sends a command that is no prompt and waits for its response. The error
// is that of ctx, or says that pi has ended or refused.
func (p *Process) ask(ctx context.Context, command string) (event, error) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return event{}, p.endedError()
	}
	id := p.nextID("c")
	answer := make(chan event, 1)
	p.asks[id] = answer
	p.lines.put(struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}{id, command})
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.asks, id)
		p.mu.Unlock()
	}()
	select {
	case ev := <-answer:
		if !ev.success {
			return ev, errs.New(errs.Failure, "pi refused %s: %s", command, ev.err)
		}
		return ev, nil
	case <-p.read:
		select {
		case ev := <-answer:
			return ev, nil
		default:
			return event{}, p.endedError()
		}
	case <-ctx.Done():
		return event{}, ctx.Err()
	}
}

// nextID returns an id for a command. Callers hold mu.
func (p *Process) nextID(prefix string) string {
	p.serial++
	return fmt.Sprintf("%s%d", prefix, p.serial)
}

func (p *Process) endedError() error {
	select {
	case <-p.gone:
		return errs.New(errs.Stopped, "%s", p.Exit().Reason())
	case <-time.After(time.Second):
		return errs.New(errs.Stopped, "pi is ending")
	}
}

// stderrTail keeps the last lines of standard error.
type stderrTail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

const stderrBytes = 4000

func (t *stderrTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	t.buf = append(t.buf, b[max(len(b)-stderrBytes, 0):]...)
	if len(t.buf) > stderrBytes {
		t.cut = true
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-stderrBytes:]...)
	}
	return n, nil
}

func (t *stderrTail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.buf)
	if t.cut {
		if _, rest, ok := strings.Cut(s, "\n"); ok && rest != "" {
			s = rest
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
}
