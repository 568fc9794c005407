package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var resumeEntry = Entry{
	Path:     "resume",
	Group:    groupTeam,
	Summary:  "Revive a past teammate from the ledger",
	Examples: []string{"teams resume 0f6c1a2b"},
	New:      func() Command { return new(resumeCmd) },
}

type resumeCmd struct {
	ID   string  `arg:"" complete:"ledger" help:"Its id in the ledger, or the beginning of it, at least 4 characters."`
	Text *string `arg:"" optional:"" help:"What it shall do; - reads it from stdin, @FILE from a file."`
}

func (c *resumeCmd) Help() string {
	return "It gets its name, role, command, place among the panes of herdr and, where the host keeps one, its conversation back. Exit 3: the ledger has no such id; 4: its name is in use."
}

func (c *resumeCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	row, err := t.LedgerFind(c.ID)
	if err != nil {
		return err
	}
	if row.Name == "" || row.Agent == "" || row.Host == "" {
		return errs.New(errs.Conflict, "%s was written by another tool: it names no teammate to revive", row.TaskID).
			WithHint("teams ledger show %s; teams spawn starts a new one", row.TaskID)
	}
	r := team.SpawnRequest{Name: row.Name, Agent: row.Agent, Kind: row.Host, Command: row.LaunchCommand, Revive: &row}
	if row.Host == team.KindHerdr {
		r.Tab, r.Placement, r.Grace = row.TabName, row.Placement, time.Duration(row.GraceMs)*time.Millisecond
	}
	if row.Description != row.Name {
		r.Label = row.Description
	}
	if c.Text != nil {
		if r.Text, err = e.Text(*c.Text); err != nil {
			return err
		}
	}
	if r.Max, err = e.maxResidents(); err != nil {
		return err
	}
	p := e.Begin(render.Operation{Tool: "resume", Call: render.Given("name", row.Name, "agent", row.Agent, "prompt", r.Text)})
	defer p.Close()
	r.Step = func(s string) { p.Say("resuming… " + s) }
	tm, err := t.Spawn(ctx, b, r)
	if err != nil {
		return p.Fail(err, nil, nil)
	}
	e.after(ctx, b)
	p.Tell(startedLine(tm, r.Text))
	p.Done(render.FieldsOf(tm), teammateData{tm})
	return nil
}
