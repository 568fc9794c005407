package main

import (
	"context"
	"errors"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var inboxEntry = Entry{
	Path:     "inbox",
	Group:    groupMail,
	Summary:  "List the unread messages",
	Examples: []string{"teams inbox", "teams inbox --all", "teams inbox --open   # what I still owe an answer"},
	Quick:    true,
	New:      func() Command { return new(inboxCmd) },
}

type inboxCmd struct {
	All  bool `help:"The read ones too."`
	Open bool `help:"Only the requests that wait for my reply."`
}

func (c *inboxCmd) Help() string {
	return "Changes nothing and exits 0 also when there is none. Anybody may look into any mailbox with --as NAME."
}

func (c *inboxCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	who := t.Reader()
	look := t.Owed
	if !c.Open {
		look = func(ctx context.Context, who team.Identity) ([]*inbox.Message, []error, error) {
			return t.Inbox(ctx, who, c.All)
		}
	}
	list, problems, err := look(ctx, who)
	if err == nil && len(list) == 0 {
		err = errors.Join(problems...) // what cannot be read is not none
	}
	if err != nil {
		return err
	}
	e.warnProblems(problems)
	exists, err := t.Exists()
	if err != nil {
		return err
	}
	e.Result(newMessagesData(list, false), func(w *render.Writer) {
		if e.Quiet {
			for _, m := range list {
				w.Linef("%s", m.ID)
			}
			return
		}
		shown := list[len(list)-w.Shown(len(list), 0):]
		writeMail(w, shown, mailFrom)
		w.Showing(len(shown), len(list))
		switch {
		case !exists:
			w.Linef("session %s has no state yet", t.Session)
		case len(list) == 0 && c.Open:
			w.Linef("%s owes no reply", who.Name)
		case len(list) == 0:
			w.Linef("no mail for %s", who.Name)
		}
	})
	return nil
}
