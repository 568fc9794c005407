package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/render"
)

var watchEntry = Entry{
	Path:     "watch",
	Group:    groupTeam,
	Summary:  "Be told by a notice when tasks have ended; returns at once",
	Examples: []string{"teams watch t_3 t_4"},
	New:      func() Command { return new(watchCmd) },
}

type watchCmd struct {
	IDs []string `arg:"" name:"id" complete:"task" help:"The tasks."`
}

func (c *watchCmd) Help() string {
	return "A harness or tick sends the notice (event settled), one for tasks that end close together, in the order asked. " +
		"What has ended already is returned at once and not told again. wait is the form that blocks. " +
		"With -q it prints the id of the watch, and nothing when all have ended."
}

func (c *watchCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	who, err := t.Actor(ctx)
	if err != nil {
		return err
	}
	w, settled, pending, err := t.Watch(b, who, idList(c.IDs))
	if err != nil {
		return err
	}
	ids := func(list []*fsboard.TaskView) []string {
		out := []string{}
		for _, v := range list {
			out = append(out, v.ID)
		}
		return out
	}
	if settled == nil {
		settled = []*fsboard.TaskView{}
	}
	if pending == nil {
		pending = []*fsboard.TaskView{}
	}
	lines := []render.Fields{}
	for _, v := range settled {
		lines = append(lines, render.Pairs("id", v.ID, "status", string(v.State), "subject", v.Subject))
	}
	data := struct {
		Watch   string              `json:"watch"` // "" when all have ended already
		Settled []*fsboard.TaskView `json:"settled"`
		Pending []*fsboard.TaskView `json:"pending"`
	}{w.ID, settled, pending}
	if e.Quiet {
		e.Result(data, func(out *render.Writer) {
			if w.ID != "" {
				out.Linef("%s", w.ID)
			}
		})
		return nil
	}
	e.Operation(render.Operation{
		Tool: "watch", Call: render.Given("ids", w.Tasks),
		Return: render.Pairs("settled", lines, "pending", ids(pending)),
	}, data)
	return nil
}
