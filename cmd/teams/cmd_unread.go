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
	New:      func() Command { return new(unreadCmd) },
}

type unreadCmd struct {
	ID string `arg:"" complete:"message" help:"The message."`
}

func (c *unreadCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	who, err := e.mailReader(t)
	if err != nil {
		return err
	}
	box := t.Box(who.Name)
	if err := box.Unread(c.ID); err != nil {
		return err
	}
	m, err := box.Peek(c.ID, false)
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
