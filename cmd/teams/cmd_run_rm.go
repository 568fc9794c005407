package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/errs"
)

var runRmEntry = Entry{
	Path:     "run rm",
	Group:    groupRuns,
	Summary:  "Remove a run, with its pane and its worktree",
	Examples: []string{"teams run rm research_topic-1"},
	New:      func() Command { return new(runRmCmd) },
}

type runRmCmd struct {
	ID string `arg:"" complete:"run" help:"The run."`
}

func (c *runRmCmd) Help() string {
	return "A run that is neither over nor paused is refused (4). What is not committed in its worktree is committed on its branch first."
}

func (c *runRmCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	r, err := runs.Get(c.ID)
	if err != nil {
		return err
	}
	if !r.Status.Ended() && !r.Paused {
		return errs.New(errs.Conflict, "the run %s is %s, stop it first", r.ID, string(r.Status)).WithHint("teams run stop %s", r.ID)
	}
	if r, err = e.endRun(ctx, t.Place, runs, r); err != nil {
		return err
	}
	if err := runs.Remove(ctx, c.ID); err != nil {
		return err
	}
	e.showRun(ctx, t.Place, r, r)
	e.resultRun(r)
	return nil
}
