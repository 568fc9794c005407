package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var unreadEntry = Entry{
	Path:     "unread",
	Group:    groupMail,
	Summary:  "Make a read message unread again",
	Examples: []string{"teams unread 20261130T130501.123456Z-alice-7f3a9c"},
	Quick:    true,
	New:      func() Command { return new(unreadCmd) },
}

type unreadCmd struct {
	ID string `arg:"" complete:"message" help:"The message."`
}

func (c *unreadCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	who, err := e.mailReader(t)
	if err != nil {
		return err
	}
	m, err := t.Unread(ctx, who, c.ID)
	if err != nil {
		return err
	}
	e.Result(struct {
		Message messageData `json:"message"`
	}{newMessageData(m, false)}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", m.ID)
			return
		}
		w.Row(m.ID, "unread", m.Title)
	})
	return nil
}
