package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/team"
)

var replyEntry = Entry{
	Path:     "reply",
	Group:    groupMail,
	Summary:  "Answer a message; settles what its sender waits for",
	Examples: []string{"teams reply 20261130T130501.123456Z-alice-7f3a9c - < answer.md"},
	Quick:    true,
	New:      func() Command { return new(replyCmd) },
}

type replyCmd struct {
	ID   string  `arg:"" complete:"message" help:"The message to answer."`
	Body *string `arg:"" optional:"" name:"text" help:"The text; - reads it from stdin, @FILE from a file (preferred)."`
	sendFlags
}

func (c *replyCmd) Check() error { return c.check() }

func (c *replyCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	to, err := t.ReplyRecipient(ctx, t.Reader(), c.ID)
	if err != nil {
		return err
	}
	return e.send(ctx, team.SendRequest{To: []string{to}, ReplyTo: c.ID}, c.Body, &c.sendFlags)
}
