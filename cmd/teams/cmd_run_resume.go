package main

import "context"

var runResumeEntry = Entry{
	Path:     "run resume",
	Group:    groupRuns,
	Summary:  "Let a paused run go on",
	Examples: []string{"teams run resume research_topic-1"},
	New:      func() Command { return new(runResumeCmd) },
}

type runResumeCmd struct {
	ID string `arg:"" complete:"run" help:"The run."`
}

func (c *runResumeCmd) Help() string { return "A run whose worktree is gone is not resumed (4)." }

func (c *runResumeCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	before, after, err := runs.Resume(ctx, c.ID)
	if err != nil {
		return err
	}
	e.showRun(ctx, t.Place, before, after)
	e.resultRun(after)
	return nil
}
