package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var interruptEntry = Entry{
	Path:     "interrupt",
	Group:    groupTeam,
	Summary:  "Abort the running turn of a teammate, which lives on",
	Examples: []string{"teams interrupt ann"},
	New:      func() Command { return new(interruptCmd) },
}

type interruptCmd struct {
	Name string `arg:"" complete:"name" help:"A resident teammate."`
}

func (c *interruptCmd) Help() string {
	return "The messages of the turn count as read. Exit 0 also when no turn was running; exit 4 when it has no living host, 75 when its turn does not end."
}

func (c *interruptCmd) Run(ctx context.Context, e *Env) error {
	t, _, err := e.openAsLeader()
	if err != nil {
		return err
	}
	p := e.Begin(render.Operation{Tool: "interrupt", Call: render.Given("name", c.Name)})
	defer p.Close()
	tm, aborted, err := t.Interrupt(ctx, c.Name)
	if err != nil {
		return p.Fail(err, nil, nil)
	}
	if !aborted {
		p.Close()
		e.Result(teammateData{tm}, func(w *render.Writer) { w.Linef("%s is %s: there was no turn to abort", tm.Name, tm.Status) })
		return nil
	}
	p.Done(render.FieldsOf(tm), teammateData{tm})
	return nil
}
