package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var threadEntry = Entry{
	Path:     "thread",
	Group:    groupMail,
	Summary:  "Show a conversation from both sides",
	Examples: []string{"teams thread 20261130T130501.123456Z-alice-7f3a9c"},
	Quick:    true,
	New:      func() Command { return new(threadCmd) },
}

type threadCmd struct {
	ID string `arg:"" complete:"message" help:"Any message of it."`
}

func (c *threadCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	list, problems, err := t.Thread(ctx, t.Reader(), c.ID)
	e.warnProblems(problems)
	if err != nil && len(list) == 0 {
		return err
	}
	return e.Fail(err, newMessagesData(list, true), func(w *render.Writer) {
		for _, m := range list {
			if e.Quiet {
				w.Linef("%s", m.ID)
				continue
			}
			writeMessage(w, m, formatText)
		}
	})
}
