package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/term"
)

var termListEntry = Entry{
	Path:     "term list",
	Group:    groupRuns,
	Summary:  "List the terminals, those that are closed too",
	Examples: []string{"teams term list"},
	New:      func() Command { return new(termListCmd) },
}

type termListCmd struct{}

func (c *termListCmd) Run(_ context.Context, e *Env) error {
	p, err := e.lookAtPlace()
	if err != nil {
		return err
	}
	list, problems, err := terms(p).List()
	if err != nil {
		return err
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	if list == nil {
		list = []term.Terminal{}
	}
	e.Result(struct {
		Terminals []term.Terminal `json:"terminals"`
	}{list}, func(w *render.Writer) {
		if len(list) == 0 && !e.Quiet {
			w.Linef("no terminals")
			return
		}
		table := w.Table()
		for _, t := range list {
			if e.Quiet {
				w.Linef("%s", t.ID)
				continue
			}
			table.Row(t.ID, t.State, t.Name, t.Cwd, w.AgoMs(t.CreatedAt))
		}
		table.Flush()
	})
	return nil
}
