package main

import (
	"context"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var readEntry = Entry{
	Path:     "read",
	Group:    groupMail,
	Summary:  "Print one message and mark it as read",
	Examples: []string{"teams read 20261130T130501.123456Z-alice-7f3a9c", "teams read ID --raw > body", "teams read ID --peek --as bob"},
	Quick:    true,
	New:      func() Command { return new(readCmd) },
}

type readCmd struct {
	ID   string `arg:"" complete:"message" help:"The message."`
	Raw  bool   `help:"The body alone, byte for byte; on a terminal what could harm it is replaced."`
	Peek bool   `help:"Do not mark it; anybody may look with --as NAME."`
}

func (c *readCmd) Run(ctx context.Context, e *Env) error {
	if c.Raw && e.JSON {
		return errs.New(errs.Usage, "--raw prints bytes, which --json cannot hold").WithHint("with --json, bodyBase64 holds what is not UTF-8")
	}
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	var who team.Identity
	if c.Peek {
		who = t.Reader()
	} else if who, err = e.mailReader(t); err != nil {
		return err
	}
	put := e.Deliver
	if c.Peek {
		put = e.Stream
	}
	problems, err := t.Mail(ctx, who, c.ID, func(m *inbox.Message) error {
		return put(struct {
			Message messageData `json:"message"`
		}{newMessageData(m, true)}, func(w *render.Writer) {
			switch {
			case c.Raw && w.Terminal():
				w.Block(string(m.Body))
			case c.Raw:
				w.Raw(m.Body)
			case e.Quiet:
				w.Linef("%s", m.ID)
			default:
				writeMessage(w, m, formatText)
			}
		})
	}, c.Peek)
	e.warnProblems(problems)
	return err
}
