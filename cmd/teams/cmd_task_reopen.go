package main

import "context"

var taskReopenEntry = Entry{
	Path:     "task reopen",
	Group:    groupBoard,
	Summary:  "Make an ended task pending again",
	Examples: []string{"teams task reopen t_12"},
	New:      func() Command { return new(taskReopenCmd) },
	Quick:    true,
}

type taskReopenCmd struct {
	ID string `arg:"" complete:"task" help:"A completed, failed or cancelled task; an archived one comes back."`
}

func (c *taskReopenCmd) Run(ctx context.Context, e *Env) error {
	_, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	t, err := b.Reopen(ctx, taskIDArg(c.ID))
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.taskResult(t, "reopened")
	return nil
}
