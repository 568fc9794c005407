package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrHerdEntry = Entry{
	Path:     "herdr herd",
	Group:    groupRuns,
	Summary:  "List the panes of this team and what is in them",
	Examples: []string{"teams herdr herd"},
	New:      func() Command { return new(herdrHerdCmd) },
}

type herdrHerdCmd struct{ herdrFlags }

// herdRow is one pane of ours.
type herdRow struct {
	Name    string `json:"name"`
	State   string `json:"state"` // closed when the pane is gone
	Agent   string `json:"agent,omitempty"`
	Tab     string `json:"tab,omitempty"` // as given with --tab
	SpawnID string `json:"spawnId"`
	Pane    string `json:"pane,omitempty"`
}

func (c *herdrHerdCmd) Run(ctx context.Context, e *Env) error {
	client, err := e.herdrClient(c.herdrFlags)
	if err != nil {
		return err
	}
	p, err := e.place()
	if err != nil {
		return err
	}
	leases, err := e.leases(p)
	if err != nil {
		return err
	}
	list, problems, err := leases.List()
	if err != nil {
		return err
	}
	panes, err := client.Panes(ctx, "")
	if err != nil {
		return err
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	rows, active := []herdRow{}, 0
	for _, l := range list {
		if l.Session != p.Session {
			continue
		}
		row := herdRow{Name: l.Name, State: "closed", Tab: l.TabName, SpawnID: l.SpawnID}
		if l.Pane == "" {
			row.State = "opening"
		}
		if l.Pane != "" && !l.Of(client) {
			row.State = herdr.StateUnknown // this herdr knows nothing of it
		}
		for i := range panes {
			if l.Of(client) && panes[i].Terminal == l.Terminal && l.Terminal != "" {
				row.State, row.Agent, row.Pane = panes[i].Status, panes[i].Agent, panes[i].ID
				active++
			}
		}
		if row.State == "" {
			row.State = herdr.StateUnknown
		}
		rows = append(rows, row)
	}
	e.Result(struct {
		Panes  []herdRow `json:"panes"`
		Active int       `json:"active"`
	}{rows, active}, func(w *render.Writer) {
		if e.Quiet {
			for _, r := range rows {
				w.Linef("%s", r.Name)
			}
			return
		}
		w.Linef("Active agents: %d", active)
		table := w.Table()
		for _, r := range rows {
			table.Row("@"+r.Name, r.Agent, r.State, r.Tab)
		}
		table.Flush()
	})
	return nil
}
