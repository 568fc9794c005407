package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var runLineEntry = Entry{
	Path:     "run line",
	Group:    groupRuns,
	Summary:  "Print the line that a host pane shows of the runs, nothing when none runs",
	Examples: []string{"teams run line"},
	New:      func() Command { return new(runLineCmd) },
}

type runLineCmd struct{}

// lineData is the data of the verbs about the line.
type lineData struct {
	Line string `json:"line"`
}

func (c *runLineCmd) Run(_ context.Context, e *Env) error {
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
	line := herdr.Line(herdr.Visible(list))
	e.Result(lineData{line}, func(w *render.Writer) {
		if line != "" {
			w.Linef("%s", line)
		}
	})
	return nil
}
