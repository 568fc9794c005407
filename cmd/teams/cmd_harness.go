package main

import (
	"context"
	"runtime/debug"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var harnessEntry = Entry{
	Path:     "harness",
	Group:    groupTeam,
	Summary:  "Look after the session until stopped: what tick does, without a pause",
	Examples: []string{"teams harness", "teams harness --gates 4 &"},
	New:      func() Command { return new(harnessCmd) },
}

type harnessCmd struct {
	passFlags
	RunName string `name:"run" placeholder:"NAME" help:"Show the team as a run of this name: done and total from the board, attention when a task has failed or a question is open."`
	Host    string `name:"teammate" placeholder:"NAME" hidden:"" help:"Host this teammate instead; teams spawn starts it so."`
}

func (c *harnessCmd) Help() string {
	return "One runs in a session; a second one says so and exits 0. It wakes on changes and at least every half second. " +
		"On SIGTERM or SIGINT it stops its gates without a verdict and exits 0; they run again with whoever comes next."
}

func (c *harnessCmd) Run(ctx context.Context, e *Env) error {
	if c.Host != "" {
		return c.host(ctx, e)
	}
	t, b, o, err := c.open(e)
	if err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	e.tellPolling(t, poll)
	err = t.Harness(ctx, b, team.HarnessOptions{
		TickOptions: o, Poll: poll,
		Herdr: team.HerdrOptions{Off: e.herdrOff(), AppliesTo: c.AppliesTo, Run: c.RunName, Getenv: e.Getenv},
		Report: func(d team.Done) {
			e.warnQuiet(d)
			_ = e.Stream(d, func(w *render.Writer) {
				if !e.Quiet {
					w.Row(d.Subject, d.Message)
				}
			})
		},
	})
	if errs.CodeOf(err) == errs.Conflict {
		s, serr := t.HarnessStatus()
		if serr != nil || !s.Running {
			return err
		}
		e.Result(s, func(w *render.Writer) { w.Linef("a harness runs already: process %d on %s", s.PID, s.Process.Host) })
		return nil
	}
	return err
}

// host hosts one teammate until its life is over.
// hostMemory is from where on a host collects what it does not need any more
// rather than take more: what large mail needs for a moment comes many times over.
const hostMemory = 48 << 20

func (c *harnessCmd) host(ctx context.Context, e *Env) error {
	if e.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(hostMemory)
	}
	t, b, err := e.open()
	if err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	t.PiExtension = writePiExtension
	r := team.HostRequest{Name: c.Host, Poll: poll}
	if says, hears := team.HostPipes(); says != nil {
		r.Says, r.Hears = says, hears
	}
	return t.Host(ctx, b, r)
}
