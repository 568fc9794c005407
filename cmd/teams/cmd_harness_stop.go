package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var harnessStopEntry = Entry{
	Path:     "harness stop",
	Group:    groupTeam,
	Summary:  "Stop the harness and wait until it has ended",
	Examples: []string{"teams harness stop"},
	New:      func() Command { return new(harnessStopCmd) },
}

type harnessStopCmd struct{}

func (c *harnessStopCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	if _, err := t.Leader(); err != nil {
		return err
	}
	live := e.Live("waiting for the harness to end")
	err = t.StopHarness(ctx)
	live.Done()
	if err != nil {
		return err
	}
	s, err := t.HarnessStatus()
	if err != nil {
		return err
	}
	e.Result(newHarnessData(s), func(w *render.Writer) { w.Linef("the harness has ended") })
	return nil
}
