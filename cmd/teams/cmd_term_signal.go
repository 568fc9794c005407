package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var termSignalEntry = Entry{
	Path:     "term signal",
	Group:    groupRuns,
	Summary:  "Press ctrl+c, ctrl+d, ctrl+z, esc or enter in a terminal",
	Examples: []string{"teams term signal term-1 ctrl+c"},
	New:      func() Command { return new(termSignalCmd) },
}

type termSignalCmd struct {
	ID  string `arg:"" complete:"term" help:"The terminal, by its id or name."`
	Key string `arg:"" complete:"key" help:"ctrl+c, ctrl+d, ctrl+z, esc or enter."`
}

func (c *termSignalCmd) Run(ctx context.Context, e *Env) error {
	_, terminals, err := e.openTerms()
	if err != nil {
		return err
	}
	if err := terminals.Signal(ctx, c.ID, c.Key); err != nil {
		return err
	}
	t, err := terminals.Get(c.ID)
	if err != nil {
		return err
	}
	e.Result(terminalData{t}, func(w *render.Writer) { w.Linef("%s pressed %s in %s", render.Success, c.Key, t.ID) })
	return nil
}
