package main

import "context"

var runPauseEntry = Entry{
	Path:     "run pause",
	Group:    groupRuns,
	Summary:  "Mark a run as paused",
	Examples: []string{"teams run pause research_topic-1", "teams run pause research_topic-1 --reason usage_limit"},
	New:      func() Command { return new(runPauseCmd) },
}

type runPauseCmd struct {
	ID     string `arg:"" complete:"run" help:"The run."`
	Reason string `placeholder:"TEXT" complete:"text" help:"Why; usage_limit notifies."`
}

func (c *runPauseCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	before, after, err := runs.Pause(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	e.showRun(ctx, t.Place, before, after)
	e.resultRun(after)
	return nil
}
