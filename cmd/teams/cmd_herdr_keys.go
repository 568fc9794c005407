package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var herdrKeysEntry = Entry{
	Path:     "herdr keys",
	Group:    groupRuns,
	Summary:  "Press keys in a pane",
	Examples: []string{"teams herdr keys bob esc", "teams herdr keys bob y Enter"},
	New:      func() Command { return new(herdrKeysCmd) },
}

type herdrKeysCmd struct {
	herdrFlags
	Target string   `arg:"" complete:"name" help:"A teammate, or the id of a pane."`
	Keys   []string `arg:"" name:"key" help:"Keys as herdr names them, such as Enter, esc, ctrl+c, y."`
}

func (c *herdrKeysCmd) Run(ctx context.Context, e *Env) error {
	control, target, err := e.herdrTarget(c.herdrFlags, c.Target)
	if err != nil {
		return err
	}
	if err := control.Keys(ctx, target, c.Keys...); err != nil {
		return err
	}
	e.Result(targetData{c.Target}, func(w *render.Writer) { w.Linef("%s pressed", render.Success) })
	return nil
}
