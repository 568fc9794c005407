package demo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// patience is the time a process gets to end after it was asked to.
const patience = 5 * time.Second

// play is one demo that is being played.
type play struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	o      Options
	env    []string
	r      *Result

	residents bool // some may live

	mu    sync.Mutex // guards what follows, the steps' outputs, and Say
	procs []*process
}

// line is a command with what is told before it.
type line struct{ text, command string }

// process is a command that runs beside the story, or has ended.
type process struct {
	p    *play
	cmd  *exec.Cmd
	step *Step
	done chan struct{} // closed when it has ended and its output is complete

	rest []byte        // of a line that has not ended yet
	news chan struct{} // has a value after something was printed
}

// say tells one line of the story.
func (p *play) say(kind Kind, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tell(kind, line)
}

// tell is say for a caller that holds the lock. Nobody listening any more ends
// the demo.
func (p *play) tell(kind Kind, line string) error {
	if p.o.Say == nil {
		return nil
	}
	err := p.o.Say(kind, line)
	if err != nil {
		p.cancel(err)
	}
	return err
}

// step begins a step and tells of it.
func (p *play) step(text, command string) *Step {
	s := &Step{Text: text, Command: command}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.r.Steps = append(p.r.Steps, s)
	if text != "" {
		_ = p.tell(Text, text)
	}
	_ = p.tell(Command, command)
	return s
}

// all runs commands one after the other; each must exit 0.
func (p *play) all(lines ...line) error {
	for _, l := range lines {
		s, err := p.run(l.text, l.command)
		if err != nil {
			return err
		}
		if s.ExitCode != 0 {
			return errs.New(errs.Failure, "%s ended with exit status %d: %s", l.command, s.ExitCode, lastLine(s.Output))
		}
	}
	return nil
}

// run runs a command line and waits for its end.
func (p *play) run(text, command string) (*Step, error) {
	proc, err := p.start(text, command, "sh", "-c", command)
	if err != nil {
		return nil, err
	}
	return proc.step, proc.ended(p.ctx)
}

// start runs argv beside the story; command is what is told of it. It has a
// process group of its own, so that an interrupt at the terminal reaches the
// demo alone, which then ends everything in its order.
func (p *play) start(text, command string, argv ...string) (*process, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	proc := &process{p: p, step: p.step(text, command), done: make(chan struct{}), news: make(chan struct{}, 1)}
	proc.cmd = p.command(argv...)
	proc.cmd.Stdout, proc.cmd.Stderr = proc, proc
	if err := proc.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p.mu.Lock()
	p.procs = append(p.procs, proc)
	p.mu.Unlock()
	go proc.wait()
	return proc, nil
}

// command is argv in the project, with the story's environment and no input.
func (p *play) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.r.Project, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // who holds its output any longer holds nobody
	return cmd
}

func (proc *process) pid() int { return proc.cmd.Process.Pid }

// wait waits for the end and records it.
func (proc *process) wait() {
	_ = proc.cmd.Wait() // the state says it all
	p := proc.p
	p.mu.Lock()
	if len(proc.rest) > 0 {
		proc.line(string(proc.rest))
	}
	proc.step.Output = strings.TrimSuffix(proc.step.Output, "\n")
	proc.step.ExitCode = proc.cmd.ProcessState.ExitCode()
	if st, ok := proc.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		proc.step.Signal, proc.step.ExitCode = st.Signal().String(), 128+int(st.Signal())
		_ = p.tell(Output, "("+proc.step.Signal+")")
	} else if proc.step.ExitCode != 0 {
		_ = p.tell(Output, fmt.Sprintf("(exit status %d)", proc.step.ExitCode))
	}
	p.mu.Unlock()
	close(proc.done)
}

// Write takes what the process printed, as the writer of its output.
func (proc *process) Write(b []byte) (int, error) {
	proc.p.mu.Lock()
	defer proc.p.mu.Unlock()
	proc.rest = append(proc.rest, b...)
	for {
		line, rest, found := bytes.Cut(proc.rest, []byte{'\n'})
		if !found {
			break
		}
		proc.line(string(line))
		proc.rest = rest
	}
	select {
	case proc.news <- struct{}{}:
	default:
	}
	return len(b), nil
}

// line records a line of output. The caller holds the lock.
func (proc *process) line(s string) {
	proc.step.Output += s + "\n"
	_ = proc.p.tell(Output, s)
}

// printed waits until the process has printed text in a whole line. One that
// ends without is an error.
func (proc *process) printed(ctx context.Context, text string) error {
	for {
		proc.p.mu.Lock()
		found := strings.Contains(proc.step.Output, text)
		proc.p.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-proc.done:
			return errs.New(errs.Failure, "%s ended with exit status %d: %s", proc.step.Command, proc.step.ExitCode, lastLine(proc.step.Output))
		case <-proc.news:
		}
	}
}

// ended waits for the end of the process.
func (proc *process) ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-proc.done:
		return nil
	}
}

// endAll ends every process that still runs. A work loop finishes its task on
// the first SIGTERM and gives it back on the second.
func (p *play) endAll() {
	p.mu.Lock()
	procs := p.procs
	p.mu.Unlock()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} {
		deadline := time.After(patience)
		if sig == syscall.SIGTERM {
			deadline = time.After(patience / 10)
		}
		for _, proc := range procs {
			if !isDone(proc.done) {
				_ = syscall.Kill(-proc.pid(), sig)
			}
		}
		for _, proc := range procs {
			select {
			case <-proc.done:
			case <-deadline:
			}
			if !isDone(proc.done) {
				break // the time is over for all of them
			}
		}
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
