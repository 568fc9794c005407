package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/render"
)

var taskWhyEntry = Entry{
	Path:     "task why",
	Group:    groupBoard,
	Summary:  "Tell what keeps a task from being claimed, and what would help",
	Examples: []string{"teams task why t_12"},
	New:      func() Command { return new(taskWhyCmd) },
	Quick:    true,
}

type taskWhyCmd struct {
	ID string `arg:"" complete:"task" help:"The task."`
}

func (c *taskWhyCmd) Run(_ context.Context, e *Env) error {
	_, b, err := e.look()
	if err != nil {
		return err
	}
	t, reasons, err := b.Why(taskIDArg(c.ID))
	if err != nil {
		return err
	}
	name := e.As
	if t.ClaimedBy != "" && t.ClaimedBy != name {
		name = "" // what another holds, only the leader may give back
	}
	reasons = e.hintReasons(reasons, name)
	data := struct {
		ID      string           `json:"id"`
		State   fsboard.State    `json:"state"`
		Reasons []fsboard.Reason `json:"reasons"`
	}{t.ID, t.State, reasons}
	e.Result(data, func(w *render.Writer) {
		w.Row(t.ID, string(t.State), t.Subject)
		if len(reasons) == 0 {
			w.Linef("  nothing keeps it from being claimed")
			w.Linef("    %s", e.hint("teams claim "+t.ID))
		}
		for _, r := range reasons {
			w.Linef("  %s", r.Message)
			if r.Hint != "" {
				w.Linef("    %s", r.Hint)
			}
		}
	})
	return nil
}
