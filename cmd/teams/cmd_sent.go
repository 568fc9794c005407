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
	New:      func() Command { return new(sentCmd) },
}

type sentCmd struct {
	Unread bool `help:"Only what has not been read yet."`
}

func (c *sentCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	who := t.Reader()
	list, problems, err := t.Sent(who, c.Unread)
	if err != nil {
		return err
	}
	e.warnProblems(problems)
	e.Result(newMessagesData(list, false), func(w *render.Writer) {
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
	return nil
}
