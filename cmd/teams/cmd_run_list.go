package main

import "context"

var runListEntry = Entry{
	Path:     "run list",
	Group:    groupRuns,
	Summary:  "List the runs of the session, the oldest first",
	Examples: []string{"teams run list"},
	New:      func() Command { return new(runListCmd) },
}

type runListCmd struct{}

func (c *runListCmd) Run(_ context.Context, e *Env) error {
	p, err := e.lookAtPlace()
	if err != nil {
		return err
	}
	list, problems, err := e.runs(p).List()
	if err != nil {
		return err
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	e.resultRuns(list, "no runs")
	return nil
}
