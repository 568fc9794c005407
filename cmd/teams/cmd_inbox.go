package main

import (
	"context"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var inboxEntry = Entry{
	Path:     "inbox",
	Group:    groupMail,
	Summary:  "List the unread messages",
	Examples: []string{"teams inbox", "teams inbox --all", "teams inbox --open   # what I still owe an answer"},
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
	t, err := e.team()
	if err != nil {
		return err
	}
	who := t.Reader()
	list, problems, err := t.Inbox(ctx, who, c.All || c.Open)
	if err != nil {
		return err
	}
	e.warnProblems(problems)
	if c.Open {
		if list, err = owed(t, who, list); err != nil {
			return err
		}
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
		if len(list) == 0 {
			w.Linef("no mail for %s", who.Name)
		}
	})
	return nil
}

// owed keeps the messages whose senders still wait for a reply.
func owed(t *team.Team, who team.Identity, list []*inbox.Message) ([]*inbox.Message, error) {
	open, err := t.Owed(who.Name)
	if err != nil {
		return nil, err
	}
	waiting := map[string]bool{}
	for _, r := range open {
		waiting[r.ID] = true
	}
	var out []*inbox.Message
	for _, m := range list {
		if waiting[m.ID] {
			out = append(out, m)
		}
	}
	return out, nil
}
