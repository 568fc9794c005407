package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var ledgerShowEntry = Entry{
	Path:     "ledger show",
	Group:    groupTeam,
	Summary:  "Show one row of the ledger",
	Examples: []string{"teams ledger show 0f6c1a2b"},
	New:      func() Command { return new(ledgerShowCmd) },
}

type ledgerShowCmd struct {
	ID string `arg:"" complete:"ledger" help:"An id, or the beginning of it, at least 4 characters."`
}

func (c *ledgerShowCmd) Run(_ context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	row, err := t.LedgerFind(c.ID)
	if err != nil {
		return err
	}
	e.Result(struct {
		Row team.LedgerRow `json:"row"`
	}{row}, func(w *render.Writer) {
		w.Linef("%s  %s", row.TaskID, row.Status)
		field := func(label, value string) {
			if value != "" {
				w.Linef("  %s: %s", label, value)
			}
		}
		field("name", row.Name)
		field("agent", row.Agent)
		field("host", row.Host)
		field("about", ledgerText(row))
		field("outcome", row.Outcome)
		field("command", strings.Join(row.LaunchCommand, " "))
		if row.SessionFile != nil {
			field("session file", *row.SessionFile)
		}
		field("cwd", row.Cwd)
		field("session", row.Session)
		field("started", w.AgoMs(row.CreatedAt))
		if row.ClosedAt > 0 {
			field("ended", w.AgoMs(row.ClosedAt))
		}
	})
	return nil
}
