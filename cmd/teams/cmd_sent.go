package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var sentEntry = Entry{
	Path:     "sent",
	Group:    groupMail,
	Summary:  "List what I have sent, as it lies at the recipients",
	Examples: []string{"teams sent", "teams sent --unread"},
	Quick:    true,
	New:      func() Command { return new(sentCmd) },
}

type sentCmd struct {
	Unread bool `help:"Only what has not been read yet."`
}

func (c *sentCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	who := t.Reader()
	list, problems, err := t.Sent(ctx, who, c.Unread)
	e.warnProblems(problems)
	if err != nil && len(list) == 0 {
		return err
	}
	return e.Fail(err, newMessagesData(list, false), func(w *render.Writer) {
		if e.Quiet {
			for _, m := range list {
				w.Linef("%s", m.ID)
			}
			return
		}
		shown := list[len(list)-w.Shown(len(list), 0):]
		writeMail(w, shown, mailTo)
		w.Showing(len(shown), len(list))
		if len(list) == 0 {
			w.Linef("%s has sent nothing", who.Name)
		}
	})
}
