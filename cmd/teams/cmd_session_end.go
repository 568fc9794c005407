package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var sessionEndEntry = Entry{
	Path:     "session end",
	Group:    groupTeam,
	Summary:  "End the running team; the board stays",
	Examples: []string{"teams session end", "teams session end --now"},
	New:      func() Command { return new(sessionEndCmd) },
}

type sessionEndCmd struct {
	Now bool `help:"Also while shells or work loops live or hold tasks."`
}

func (c *sessionEndCmd) Help() string {
	return "Submissions that wait are decided, claims become pending again, and the leader's unread mail is kept for the next session in this project. " +
		"Exit 4, with a list, while a shell or a work loop lives or holds a task."
}

func (c *sessionEndCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	live := e.Live("ending the session")
	ended, err := t.EndSession(ctx, b, c.Now)
	live.Done()
	e.warnProblems(b.Problems())
	if err != nil {
		return err
	}
	e.Result(struct {
		Session string `json:"session"`
		team.Ended
	}{t.Session, ended}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", t.Session)
			return
		}
		w.Linef("session %s ended; its board stays in %s", t.Session, b.Dir())
		for _, row := range []struct {
			label string
			list  []string
		}{{"left", ended.Left}, {"released", ended.Released}, {"submissions that still wait", ended.Waiting}} {
			if len(row.list) > 0 {
				w.Linef("%s: %s", row.label, strings.Join(row.list, ", "))
			}
		}
		if ended.Mail > 0 {
			w.Linef("unread messages kept for the next session: %d", ended.Mail)
		}
	})
	return nil
}
