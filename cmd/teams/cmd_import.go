package main

import (
	"bytes"
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var importEntry = Entry{
	Path:     "import",
	Group:    groupBoard,
	Summary:  "Take over exported tasks",
	Examples: []string{"teams import board.jsonl", "teams import - --apply < board.jsonl"},
	New:      func() Command { return new(importCmd) },
}

type importCmd struct {
	File  string `arg:"" complete:"file" help:"What teams export wrote; - reads stdin."`
	Apply bool   `help:"Do it; without this it only tells what it would do."`
}

func (c *importCmd) Help() string {
	return "All or none. Tasks that are claimed here, newer here, or that are another task here are skipped and listed."
}

func (c *importCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	data, err := e.fileOrStdin(c.File)
	if err != nil {
		return err
	}
	if c.Apply {
		if _, err := t.EnsureSession(); err != nil {
			return err
		}
	}
	r, err := b.Import(ctx, bytes.NewReader(data), c.Apply)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.Result(r, func(w *render.Writer) {
		if e.Quiet {
			for _, id := range r.Imported {
				w.Linef("%s", id)
			}
			return
		}
		verb := "imported"
		if r.DryRun {
			verb = "would import"
		}
		w.Linef("%s %d tasks", verb, len(r.Imported))
		for _, s := range r.Skipped {
			w.Row(s.ID, "skipped: "+s.Reason)
		}
		if r.DryRun && len(r.Imported) > 0 {
			w.Linef("nothing was changed; --apply does it")
		}
	})
	return nil
}
