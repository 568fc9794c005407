package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var handoffEntry = Entry{
	Path:     "handoff",
	Group:    groupTeam,
	Summary:  "Print what a successor of a teammate needs to know",
	Examples: []string{"teams handoff ann", "teams handoff ann | teams spawn ann2 worker -"},
	New:      func() Command { return new(handoffCmd) },
}

type handoffCmd struct {
	Name string `arg:"" complete:"name" help:"A teammate, living or not."`
}

func (c *handoffCmd) Help() string {
	return "One Markdown text: what it was asked to do, its reports, its tasks with their last verdicts, and the end of its activity."
}

func (c *handoffCmd) Run(_ context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	text, err := t.Handoff(b, c.Name)
	if err != nil {
		return err
	}
	e.Result(struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}{c.Name, text}, func(w *render.Writer) { w.Block(text) })
	return nil
}
