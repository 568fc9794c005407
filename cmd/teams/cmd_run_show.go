package main

import "context"

var runShowEntry = Entry{
	Path:     "run show",
	Group:    groupRuns,
	Summary:  "Show a run",
	Examples: []string{"teams run show research_topic-1"},
	New:      func() Command { return new(runShowCmd) },
}

type runShowCmd struct {
	ID string `arg:"" complete:"run" help:"The run."`
}

func (c *runShowCmd) Run(_ context.Context, e *Env) error {
	p, err := e.lookAtPlace()
	if err != nil {
		return err
	}
	r, err := e.runs(p).Get(c.ID)
	if err != nil {
		return err
	}
	e.resultRun(r)
	return nil
}
