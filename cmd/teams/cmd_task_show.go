package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var taskShowEntry = Entry{
	Path:     "task show",
	Group:    groupBoard,
	Summary:  "Show everything about a task",
	Examples: []string{"teams task show t_12", "teams task show t_12 --json"},
	New:      func() Command { return new(taskShowCmd) },
	Quick:    true,
}

type taskShowCmd struct {
	ID string `arg:"" complete:"task" help:"The task."`
}

func (c *taskShowCmd) Run(_ context.Context, e *Env) error {
	_, b, err := e.look()
	if err != nil {
		return err
	}
	t, err := b.Show(taskIDArg(c.ID))
	if err != nil {
		return err
	}
	e.Result(taskData{t}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", t.ID)
			return
		}
		writeTask(w, t)
	})
	return nil
}
