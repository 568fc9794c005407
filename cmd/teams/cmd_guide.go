package main

import (
	"context"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/render"
)

var guideEntry = Entry{
	Path:     "guide",
	Group:    groupTeam,
	Summary:  "Print the guidance for a leader or a teammate, or how a role is built",
	Examples: []string{"teams guide leader", "teams guide worker", "teams guide roles"},
	New:      func() Command { return new(guideCmd) },
}

type guideCmd struct {
	Topic string `arg:"" enum:"leader,worker,roles" help:"leader (with the roles there are), worker, or roles (a reference for definitions)."`
}

func (c *guideCmd) Help() string {
	return "The text is static: the same bytes as long as the definitions are the same, so that it can stand in a prompt."
}

// guideData is the data of guide.
type guideData struct {
	Topic string `json:"topic"`
	Text  string `json:"text"`
}

func (c *guideCmd) Run(ctx context.Context, e *Env) error {
	d := guideData{Topic: c.Topic}
	switch c.Topic {
	case "leader":
		set, err := e.agentSet(ctx)
		if err != nil {
			return err
		}
		d.Text = agentdefs.LeaderGuide(set)
	case "worker":
		d.Text = agentdefs.WorkerGuide()
	default:
		d.Text = agentdefs.RoleReference()
	}
	e.Result(d, func(w *render.Writer) { w.Block(d.Text) })
	return nil
}
