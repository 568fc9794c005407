package main

import (
	"context"
	"time"

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
	Gates       int `placeholder:"N" help:"Gates that run beside each other (the number of cores)."`
	GateRetries int `default:"3" placeholder:"N" help:"Failed gates of one claim after which the leader is told (3)."`
}

func (c *harnessCmd) Help() string {
	return "One runs in a session; a second one says so and exits 0. It wakes on changes and at least every half second. " +
		"On SIGTERM or SIGINT it stops its gates without a verdict and exits 0; they run again with whoever comes next."
}

func (c *harnessCmd) Check() error {
	return (&tickCmd{Gates: c.Gates, GateRetries: c.GateRetries}).Check()
}

func (c *harnessCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openWith(team.BoardOptions{GateRetries: c.GateRetries})
	if err != nil {
		return err
	}
	if _, err := t.Leader(); err != nil {
		return err
	}
	stale, err := e.durationSetting("TEAMS_STALE_WAIT", 5*time.Minute)
	if err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	err = t.Harness(ctx, b, team.HarnessOptions{
		TickOptions: team.TickOptions{Gates: c.Gates, StaleWait: stale}, Poll: poll,
		Report: func(d team.Done) {
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
