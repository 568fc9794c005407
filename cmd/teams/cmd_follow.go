package main

import (
	"context"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var followEntry = Entry{
	Path:     "follow",
	Group:    groupMail,
	Summary:  "Print messages as they come, until interrupted",
	Examples: []string{"teams follow", "teams follow --peek --format agent"},
	New:      func() Command { return new(followCmd) },
}

type followCmd struct {
	Peek   bool   `help:"Do not mark them as read."`
	Lead   bool   `help:"Be the leader's session: exit 4 when another one follows already."`
	Format string `placeholder:"FORMAT" help:"text, or agent: each in an element that no body can forge."`
}

func (c *followCmd) Help() string {
	return "With --json it prints one value a line. With --peek each message is printed once, beginning with those that are unread now."
}

func (c *followCmd) Check() error { return checkFormat(c.Format) }

func (c *followCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	var who team.Identity
	if c.Peek && !c.Lead {
		who = t.Reader()
	} else if who, err = e.mailReader(t); err != nil {
		return err
	}
	if c.Lead {
		if !who.Leader {
			return errs.New(errs.LeaderOnly, "only the leader may lead, and this is %s", who.Name)
		}
		lock, err := t.HoldLead()
		if err != nil {
			return err
		}
		defer lock.Unlock()
	}
	put := e.Deliver
	if c.Peek {
		put = e.Stream
	}
	show := func(m *inbox.Message) error {
		return put(struct {
			Message messageData `json:"message"`
		}{newMessageData(m, true)}, func(w *render.Writer) {
			if e.Quiet {
				w.Linef("%s", m.ID)
				return
			}
			writeMessage(w, m, c.Format)
		})
	}
	r := e.receiving(t, who, c.Format)
	r.Show, r.Batch = show, nil
	seen := map[string]bool{}
	w, err := e.mailWaiter(t, who)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if c.Peek {
			var problems []error
			problems, err = t.Look(ctx, who, seen, show)
			r.warn(problems)
		} else {
			_, _, _, err = r.once(ctx)
		}
		if err == nil {
			err = w.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}
