package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/render"
)

var taskCancelEntry = Entry{
	Path:     "task cancel",
	Group:    groupBoard,
	Summary:  "Cancel a task that is not completed",
	Examples: []string{"teams task cancel t_12 --reason 'not needed any more'", "teams task cancel t_12 --cascade"},
	New:      func() Command { return new(taskCancelCmd) },
	Quick:    true,
}

type taskCancelCmd struct {
	ID      string `arg:"" complete:"task" help:"The task."`
	Cascade bool   `help:"Cancel also everything that depends on it."`
	Reason  string `placeholder:"TEXT" help:"Why; kept in the task and in the history."`
}

func (c *taskCancelCmd) Run(ctx context.Context, e *Env) error {
	_, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	reason, err := e.Text(c.Reason)
	if err != nil {
		return err
	}
	id := taskIDArg(c.ID)
	list, err := b.Cancel(ctx, id, reason, c.Cascade)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	if !c.Cascade {
		for _, t := range list {
			if t.ID == id {
				e.taskResult(t, "cancelled")
			}
		}
		return nil
	}
	e.Result(struct {
		Task  *fsboard.TaskView   `json:"task"`
		Tasks []*fsboard.TaskView `json:"tasks"`
	}{findTask(list, id), list}, func(w *render.Writer) { e.writeIDsOr(w, list, writeTaskList) })
	return nil
}

func findTask(list []*fsboard.TaskView, id string) *fsboard.TaskView {
	for _, t := range list {
		if t.ID == id {
			return t
		}
	}
	return nil
}
