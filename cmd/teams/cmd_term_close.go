package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var termCloseEntry = Entry{
	Path:     "term close",
	Group:    groupRuns,
	Summary:  "Close a terminal and end all that runs in it",
	Examples: []string{"teams term close term-1"},
	New:      func() Command { return new(termCloseCmd) },
}

type termCloseCmd struct {
	ID string `arg:"" complete:"term" help:"The terminal, by its id or name."`
}

func (c *termCloseCmd) Run(ctx context.Context, e *Env) error {
	t, terminals, err := e.openTerms()
	if err != nil {
		return err
	}
	closed, err := terminals.Close(ctx, c.ID)
	if err != nil {
		return err
	}
	e.closeTermPane(ctx, t.Place, closed)
	e.Result(terminalData{closed}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", closed.ID)
			return
		}
		w.Linef("%s closed %s", render.Success, closed.ID)
	})
	return nil
}
