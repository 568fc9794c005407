package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var herdrClearEntry = Entry{
	Path:     "herdr clear",
	Group:    groupRuns,
	Summary:  "Remove what teams shows on this pane",
	Examples: []string{"teams herdr clear"},
	New:      func() Command { return new(herdrClearCmd) },
}

type herdrClearCmd struct{ herdrPaneFlags }

func (c *herdrClearCmd) Run(ctx context.Context, e *Env) error {
	st, err := c.stage(e)
	if err != nil {
		return err
	}
	st.AppliesTo = ""
	if err := st.Mirror(ctx, ""); err != nil {
		return err
	}
	e.Result(lineData{}, func(w *render.Writer) { w.Linef("%s cleared", render.Success) })
	return nil
}
