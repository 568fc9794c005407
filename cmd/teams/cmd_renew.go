package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

var renewEntry = Entry{
	Path:     "renew",
	Group:    groupBoard,
	Summary:  "Make the lease of a claim of mine end later",
	Examples: []string{"teams renew t_12", "teams renew t_12 --lease 30m"},
	New:      func() Command { return new(renewCmd) },
	Quick:    true,
}

type renewCmd struct {
	ID    string    `arg:"" complete:"task" help:"The task."`
	Lease *Duration `placeholder:"DURATION" help:"From now on; without it the length that the lease has."`
}

func (c *renewCmd) Run(ctx context.Context, e *Env) error {
	if c.Lease != nil && c.Lease.Std() <= 0 {
		return errs.New(errs.Usage, "a lease of nothing cannot be kept").WithHint("teams release %s gives the task back", c.ID)
	}
	_, b, id, err := e.openAsWorker(ctx)
	if err != nil {
		return err
	}
	if _, err := b.Renew(ctx, taskIDArg(c.ID), id.Name, id.SpawnID, c.Lease.Std()); err != nil {
		return err
	}
	e.after(ctx, b)
	t, err := b.Show(taskIDArg(c.ID))
	if err != nil {
		return err
	}
	verb := "renewed, it has no lease"
	if t.Claim != nil && t.Claim.LeaseUntil > 0 {
		verb = "renewed until " + time.UnixMilli(t.Claim.LeaseUntil).Format(time.TimeOnly)
	}
	e.taskResult(t, verb)
	return nil
}
