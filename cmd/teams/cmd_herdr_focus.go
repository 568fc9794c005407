package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var herdrFocusEntry = Entry{
	Path:     "herdr focus",
	Group:    groupRuns,
	Summary:  "Show a pane to the user",
	Examples: []string{"teams herdr focus bob"},
	New:      func() Command { return new(herdrFocusCmd) },
}

type herdrFocusCmd struct {
	herdrFlags
	Target string `arg:"" complete:"name" help:"A teammate, or the id of a pane."`
}

func (c *herdrFocusCmd) Run(ctx context.Context, e *Env) error {
	control, target, err := e.herdrTarget(c.herdrFlags, c.Target)
	if err != nil {
		return err
	}
	if err := control.Focus(ctx, target); err != nil {
		return err
	}
	e.Result(targetData{c.Target}, func(w *render.Writer) { w.Linef("%s focused", render.Success) })
	return nil
}
