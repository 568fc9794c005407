package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrPruneEntry = Entry{
	Path:     "herdr prune",
	Group:    groupRuns,
	Summary:  "Free the leases of panes that are closed, and close panes and tabs that are over",
	Examples: []string{"teams herdr prune"},
	New:      func() Command { return new(herdrPruneCmd) },
}

type herdrPruneCmd struct{ herdrFlags }

func (c *herdrPruneCmd) Help() string {
	return "A lease without a pane is freed when who opens it is proven dead, one of another herdr when that is gone too. A pane that could not be closed when its teammate ended is closed now. A tab closes when its teammates have all ended longer ago than its grace; only panes made by teams are closed, never the tab that this runs in."
}

func (c *herdrPruneCmd) Run(ctx context.Context, e *Env) error {
	client, err := e.herdrClient(c.herdrFlags)
	if err != nil {
		return err
	}
	t, err := e.team()
	if err != nil {
		return err
	}
	leases, err := e.leases(t.Place)
	if err != nil {
		return err
	}
	if _, err := client.Ping(ctx); err != nil {
		return err
	}
	sp := &herdr.Spawner{Client: client, Leases: leases, Here: herdr.FindHere(e.getenv), Shared: t.Sharing.On}
	freed, err := sp.Prune(ctx, t.SpawnEnded)
	if err != nil {
		return err
	}
	closed, err := sp.CloseTabs(ctx, t.SpawnEnded)
	if err != nil {
		return err
	}
	names := []string{}
	for _, l := range freed {
		names = append(names, l.Name)
	}
	if closed == nil {
		closed = []string{}
	}
	e.Result(struct {
		Freed []string `json:"freed"`
		Tabs  []string `json:"tabs"`
	}{names, closed}, func(w *render.Writer) {
		for _, n := range names {
			w.Linef("%s freed the lease of %s", render.Success, n)
		}
		for _, n := range closed {
			w.Linef("%s closed the tab %s", render.Success, n)
		}
		if len(names)+len(closed) == 0 && !e.Quiet {
			w.Linef("nothing to prune")
		}
	})
	return nil
}
