package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var ledgerEntry = Entry{
	Path:     "ledger",
	Group:    groupTeam,
	Summary:  "List the teammates that were ever spawned in this project",
	Examples: []string{"teams ledger", "teams ledger --limit 5"},
	New:      func() Command { return new(ledgerCmd) },
}

type ledgerCmd struct {
	Limit int `placeholder:"N" help:"The latest N only."`
}

func (c *ledgerCmd) Help() string {
	return "Newest last. An id, or the beginning of it, is what teams resume and teams ledger show take."
}

func (c *ledgerCmd) Run(_ context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	rows, skipped, err := t.Ledger()
	if err != nil {
		return err
	}
	if skipped > 0 {
		e.Warnf("%d lines of the ledger are no rows and were skipped", skipped)
	}
	total := len(rows)
	if c.Limit > 0 && total > c.Limit {
		rows = rows[total-c.Limit:]
	}
	if rows == nil {
		rows = []team.LedgerRow{}
	}
	e.Result(struct {
		Rows  []team.LedgerRow `json:"rows"`
		Total int              `json:"total"`
	}{rows, total}, func(w *render.Writer) {
		if e.Quiet {
			for _, row := range rows {
				w.Linef("%s", row.TaskID)
			}
			return
		}
		table := w.Table()
		for _, row := range rows {
			table.Row(row.TaskID, row.Name, row.Agent, row.Status, row.Outcome, w.Time(time.UnixMilli(row.CreatedAt)), ledgerText(row))
		}
		table.Flush()
		if total == 0 {
			w.Linef("nobody was spawned in this project yet")
		}
	})
	return nil
}

// ledgerText is what a row is about, when that is more than its name.
func ledgerText(row team.LedgerRow) string {
	if row.Description == row.Name {
		return ""
	}
	return row.Description
}
