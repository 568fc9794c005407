package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var workEntry = Entry{
	Path:    "work",
	Group:   groupBoard,
	Summary: "Claim tasks one after the other and run a command for each",
	Usage:   []string{"teams work [flags] -- CMD [ARG ...]"},
	Examples: []string{
		"teams work -- ./do-task.sh",
		"teams work -j 4 --tag lint -- make lint",
		`teams work --once -- sh -c 'claude -p "$(cat)"'`,
	},
	New:        func() Command { return new(workCmd) },
	OwnSignals: true,
}

type workCmd struct {
	Once        bool      `help:"One task, if one is claimable now (exit 2 when none is)."`
	MaxTasks    int       `placeholder:"N" help:"End after N tasks."`
	Jobs        int       `short:"j" placeholder:"N" help:"Work as N teammates, NAME-1 to NAME-N."`
	Role        string    `placeholder:"AGENT" complete:"agent" help:"Join as this agent, and take only its tasks."`
	Tag         []string  `sep:"none" placeholder:"TAG" help:"Only tasks with this tag; may be repeated."`
	Lease       *Duration `placeholder:"DURATION" help:"Claims end after this time unless renewed; the loop renews them."`
	Wait        bool      `help:"Wait on when the board is drained."`
	GateRetries int       `default:"3" placeholder:"N" help:"Runs of CMD after a failed gate, before the task is submitted as failed."`

	command []string
}

func (c *workCmd) Help() string {
	return "CMD gets the description on stdin and TEAMS_TASK, TEAMS_TASK_FILE (JSON), TEAMS_NAME, TEAMS_SPAWN and TEAMS_TRY in its environment; " +
		"after a failed gate also TEAMS_FEEDBACK, the path of the gate's log. Exit status 0 submits the task as completed with the end of stdout as its result, " +
		"75 gives it back, anything else submits it as failed with the end of stderr. " +
		"SIGTERM or SIGINT lets the running task finish; a second one ends it and gives it back."
}

// SetCommand takes what stands after --.
func (c *workCmd) SetCommand(argv []string) { c.command = argv }

func (c *workCmd) Check() error {
	switch {
	case len(c.command) == 0:
		return errs.New(errs.Usage, "a command to run must follow --").WithHint("teams work -- ./do-task.sh")
	case c.Jobs < 0 || c.MaxTasks < 0 || c.GateRetries < 0:
		return errs.New(errs.Usage, "a negative number of jobs, tasks or retries makes no sense")
	case c.Jobs > 512:
		return errs.New(errs.Usage, "%d jobs are too many, at most 512 are allowed", c.Jobs)
	case c.Lease != nil && c.Lease.Std() <= 0:
		return errs.New(errs.Usage, "a lease of nothing cannot be kept").WithHint("leave --lease out for claims without one")
	}
	return nil
}

func (c *workCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openWith(team.BoardOptions{GateRetries: c.GateRetries})
	if err != nil {
		return err
	}
	lease := leaseSetting(t, c.Lease)
	poll, err := e.poll()
	if err != nil {
		return err
	}
	name := e.As
	if name == "" {
		name = e.Getenv(team.EnvName)
	}
	if name == team.LeaderName {
		return errs.New(errs.Usage, "the leader cannot work, a teammate's name is needed").WithHint("teams work --as w1 -- CMD")
	}
	e.warnUnknownAgent(t.Place, c.Role)
	e.tellPolling(t, poll)
	ctx, stop := workSignals(ctx, e)
	defer stop.done()
	out, errOut := e.ChildOutput()
	r := team.WorkRequest{
		Name: name, Agent: c.Role, Command: c.command, Once: c.Once, MaxTasks: c.MaxTasks, Tags: c.Tag, Lease: lease, Wait: c.Wait,
		GateRetries: c.retries(), Poll: poll, Stdout: out, Stderr: errOut, Stop: stop.first,
		Report: func(ev team.WorkEvent) { e.workEvent(ev) },
	}
	if c.Jobs <= 1 && c.Jobs != 1 {
		return t.Work(ctx, b, r)
	}
	if r.Name == "" {
		r.Name = "w"
	}
	group, ctx := e.Group(ctx)
	for i := range c.Jobs {
		one := r
		one.Name = fmt.Sprintf("%s-%d", r.Name, i+1)
		group.Go(func() error {
			b, err := t.Board(team.BoardOptions{LockTimeout: e.LockWait(), GateRetries: c.GateRetries})
			if err != nil {
				return err
			}
			return t.Work(ctx, b, one)
		})
	}
	return group.Wait()
}

// retries is --gate-retries for the loop, for which zero is the default.
func (c *workCmd) retries() int {
	if c.GateRetries == 0 {
		return -1
	}
	return c.GateRetries
}

// workEvent tells of one event: a JSON value a line, or a line on stderr.
func (e *Env) workEvent(ev team.WorkEvent) {
	if e.JSON {
		_ = e.Stream(ev, nil)
		return
	}
	if e.Quiet {
		if ev.Event == "completed" {
			_ = e.Stream(ev, func(w *render.Writer) { w.Linef("%s", ev.Task) })
		}
		return
	}
	line := ev.Name + "  " + ev.Event
	for _, part := range []string{ev.Task, ev.Subject, ev.Message} {
		if part != "" {
			line += "  " + part
		}
	}
	if ev.Try > 1 {
		line += fmt.Sprintf("  (try %d)", ev.Try)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintln(e.stderr, fsx.SafeLine(line))
}

// stopper tells a work loop of the first signal.
type stopper struct {
	first chan struct{}
	ch    chan os.Signal
	end   chan struct{}
	once  sync.Once
}

func (s *stopper) done() {
	signal.Stop(s.ch)
	s.once.Do(func() { close(s.end) })
}

// sameSignal is within what a second SIGTERM is the first one again: timeout(1)
// sends it to the process and at once to the group that this is in.
const sameSignal = 50 * time.Millisecond

// workSignals makes the first SIGINT or SIGTERM stop the loop after its task,
// and the second end the task.
func workSignals(ctx context.Context, e *Env) (context.Context, *stopper) {
	s := &stopper{first: make(chan struct{}), ch: make(chan os.Signal, 2), end: make(chan struct{})}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(ctx)
	e.Go(func() {
		defer cancel(nil)
		var last time.Time
		for {
			select {
			case sig := <-s.ch:
				again := time.Since(last) < sameSignal && sig == syscall.SIGTERM
				if last.IsZero() {
					close(s.first)
					last = time.Now()
					continue
				}
				if again {
					continue
				}
				cancel(errs.New(errs.Interrupted, "interrupted by %v", sig))
				return
			case <-s.end:
				return
			}
		}
	})
	return ctx, s
}
