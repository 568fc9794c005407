package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
)

var releaseEntry = Entry{
	Path:     "release",
	Group:    groupBoard,
	Summary:  "Give a claimed task back",
	Examples: []string{"teams release t_12 --reason 'needs a decision first'"},
	New:      func() Command { return new(releaseCmd) },
	Quick:    true,
}

type releaseCmd struct {
	ID     string `arg:"" complete:"task" help:"The task."`
	Reason string `placeholder:"TEXT" help:"Why; kept in the history."`
}

func (c *releaseCmd) Help() string {
	return "A teammate releases what it holds itself, the leader whatever is held. Failed attempts are not counted. " +
		"A submission that waits is decided first."
}

func (c *releaseCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.open()
	if err != nil {
		return err
	}
	id, err := t.Actor(ctx)
	if err != nil {
		return err
	}
	reason, err := e.Text(c.Reason)
	if err != nil {
		return err
	}
	r := fsboard.ReleaseRequest{ID: taskIDArg(c.ID), Reason: reason}
	if !id.Leader {
		r.Worker, r.SpawnID = id.Name, id.SpawnID
	}
	view, err := b.Release(ctx, r)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.taskResult(view, "released")
	return nil
}
