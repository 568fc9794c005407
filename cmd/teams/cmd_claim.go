package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var claimEntry = Entry{
	Path:    "claim",
	Group:   groupBoard,
	Summary: "Take a task: the named one, or the next that is free",
	Examples: []string{
		"id=$(teams claim -q) || exit",
		"teams claim t_12",
		"teams claim --wait --timeout 10m --tag docs",
		"teams claim --mine   # what I hold already",
	},
	New:   func() Command { return new(claimCmd) },
	Quick: true,
}

type claimCmd struct {
	ID      string    `arg:"" optional:"" complete:"task" help:"The task; without it the first of the ready ones that I may take."`
	Wait    bool      `help:"Wait until one can be claimed, even when nothing is left now."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124)."`
	Lease   *Duration `placeholder:"DURATION" help:"The claim ends by itself after this time unless it is renewed."`
	Max     int       `default:"1" placeholder:"N" help:"How many tasks I may hold at once."`
	Role    string    `placeholder:"AGENT" complete:"agent" help:"Only tasks for this agent."`
	Tag     []string  `sep:"none" placeholder:"TAG" help:"Only tasks with this tag; may be repeated."`
	Mine    bool      `help:"List the tasks that I hold; exit 0 also when there is none."`
}

// ReadPlain implements plainReader.
func (c *claimCmd) ReadPlain(args []string) bool {
	if len(args) > 1 || hasFlag(args) {
		return false
	}
	if len(args) == 1 {
		c.ID = args[0]
	}
	c.Max = 1 // the default in its tag
	return true
}

func (c *claimCmd) Help() string {
	return "Exit codes: 0 it is mine; 2 nothing is claimable now, or the named task is blocked; 3 nothing is left for me, or no such task; " +
		"4 somebody else has it, or I hold as many as I may; 5 it is for another role or teammate; 124 the wait timed out."
}

func (c *claimCmd) Check() error {
	switch {
	case c.Max < 1:
		return errs.New(errs.Usage, "--max %d lets nobody hold a task, it must be at least 1", c.Max)
	case c.Timeout != nil && !c.Wait:
		return errs.New(errs.Usage, "--timeout bounds --wait").WithHint("teams claim --wait --timeout %s", c.Timeout)
	case c.Mine && (c.ID != "" || c.Wait):
		return errs.New(errs.Usage, "--mine lists what I hold, it goes with neither a task nor --wait")
	case c.ID != "" && (c.Role != "" || len(c.Tag) > 0):
		return errs.New(errs.Usage, "--role and --tag choose among the ready tasks, they do not go with a task's id")
	case c.Lease != nil && c.Lease.Std() <= 0:
		return errs.New(errs.Usage, "a lease of nothing cannot be kept").WithHint("leave --lease out for a claim without one")
	}
	return nil
}

func (c *claimCmd) Run(ctx context.Context, e *Env) error {
	limited, cancel := deadline(ctx, c.Timeout)
	defer cancel()
	t, b, id, err := e.openAsWorker(limited)
	if err != nil {
		return c.timedOut(err)
	}
	if c.Mine {
		return c.mine(e, b, id)
	}
	lease := leaseSetting(t, c.Lease)
	r := fsboard.ClaimRequest{
		ID: taskIDArg(c.ID), Worker: id.Name, SpawnID: id.SpawnID, Agent: id.Agent, Lease: lease, Max: c.Max, Role: c.Role, Tags: c.Tag,
	}
	view, err := c.claim(limited, e, t, b, r)
	err = c.timedOut(err)
	e.afterEnd(ctx, b, err)
	if err != nil {
		return err
	}
	e.taskResult(view, "claimed")
	if c.Lease == nil && lease > 0 {
		e.tellLease(t, view.ID, lease)
	}
	return nil
}

// claim claims, waiting for a task if it was asked to.
func (c *claimCmd) claim(ctx context.Context, e *Env, t *team.Team, b *fsboard.Board, r fsboard.ClaimRequest) (*fsboard.TaskView, error) {
	view, err := b.Claim(ctx, r)
	if !c.Wait || !worthWaiting(err) {
		return view, err
	}
	poll, perr := e.poll()
	if perr != nil {
		return nil, perr
	}
	e.HandleSignals()
	e.tellPolling(t, poll)
	live := e.Live("waiting for " + c.what())
	defer live.Done()
	w := t.NewWaiter(poll)
	defer w.Close()
	for {
		if view, err = b.Claim(ctx, r); !worthWaiting(err) {
			return view, err
		}
		if err := w.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// what is waited for.
func (c *claimCmd) what() string {
	if c.ID != "" {
		return taskIDArg(c.ID)
	}
	return "a task that can be claimed"
}

// timedOut makes an error of the limit say so, whatever was being waited for
// when it passed: a lock counts as well.
func (c *claimCmd) timedOut(err error) error { return waitTimedOut(err, c.what()) }

// worthWaiting reports whether a refusal may pass.
func worthWaiting(err error) bool {
	switch errs.CodeOf(err) {
	case errs.NothingClaimable, errs.BoardDrained, errs.Blocked, errs.AlreadyClaimed, errs.Busy:
		return true
	}
	return false
}

func waitTimedOut(err error, what string) error {
	if errs.CodeOf(err) == errs.TimedOut {
		return errs.New(errs.TimedOut, "the time limit passed while waiting for %s", what)
	}
	return err
}

// mine lists what this life holds.
func (c *claimCmd) mine(e *Env, b *fsboard.Board, id team.Identity) error {
	list, err := b.Held(id.Name, id.SpawnID)
	if err != nil {
		return err
	}
	e.Result(listData(list, len(list)), func(w *render.Writer) {
		e.writeIDsOr(w, list, writeTaskList)
		if len(list) == 0 && !e.Quiet {
			w.Linef("%s holds no task", fsx.SafeLine(id.Name))
		}
	})
	return nil
}

// onlyHeld is the id of the only task that a life holds, for verbs whose ID may
// be left out.
func onlyHeld(b *fsboard.Board, id team.Identity, verb string) (string, error) {
	list, err := b.Held(id.Name, id.SpawnID)
	if err != nil {
		return "", err
	}
	switch len(list) {
	case 0:
		return "", errs.New(errs.NotHolder, "%s holds no task", id.Name).WithHint("teams claim")
	case 1:
		return list[0].ID, nil
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return "", errs.New(errs.Usage, "%s holds %s, so which one has to be said", id.Name, strings.Join(ids, ", ")).WithHint("teams %s %s", verb, ids[0])
}
