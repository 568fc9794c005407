package main

import (
	"context"
	"errors"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var shutdownEntry = Entry{
	Path:     "shutdown",
	Group:    groupTeam,
	Summary:  "End a teammate, after its running turn or at once",
	Examples: []string{"teams shutdown ann", "teams shutdown --all", "teams shutdown ann --now"},
	New:      func() Command { return new(shutdownCmd) },
}

type shutdownCmd struct {
	Name string `arg:"" optional:"" complete:"name" help:"A resident teammate."`
	All  bool   `help:"All residents."`
	Now  bool   `help:"Do not wait for the running turn."`
}

func (c *shutdownCmd) Help() string {
	return "The running turn may go on for 30 s, then its processes are ended. What the teammate has submitted is decided, its tasks become pending again, " +
		"leftover changes of its worktree are committed on its branch, and its unread mail goes back to the senders. It returns when the name is free."
}

func (c *shutdownCmd) Check() error {
	if (c.Name == "") != c.All {
		return errs.New(errs.Usage, "either a name or --all is needed").WithHint("teams list shows the names")
	}
	return nil
}

func (c *shutdownCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	p := e.Begin(render.Operation{Tool: "shutdown", Call: render.Given("name", c.Name, "all", c.All, "now", c.Now)})
	defer p.Close()
	if c.All {
		return c.all(ctx, e, t, b, p)
	}
	tm, err := t.Shutdown(ctx, b, c.Name, c.Now, func(s string) { p.Say("stopping… " + s) })
	if err != nil {
		return p.Fail(err, nil, nil)
	}
	e.after(ctx, b)
	p.Done(render.FieldsOf(tm), teammateData{tm})
	return nil
}

// all ends every resident, beside each other.
func (c *shutdownCmd) all(ctx context.Context, e *Env, t *team.Team, b *fsboard.Board, p *Progress) error {
	p.Say("stopping… all residents")
	ended, err := t.ShutdownAll(ctx, b, c.Now)
	e.after(ctx, b)
	if ended == nil {
		ended = []team.Teammate{}
	}
	data := struct {
		Teammates []team.Teammate `json:"teammates"`
	}{ended}
	names := make([]string, len(ended))
	for i, tm := range ended {
		names[i] = tm.Name
	}
	if err != nil {
		var known *errs.Error
		if !errors.As(err, &known) {
			err = errs.New(errs.Failure, "%w", err)
		}
		return p.Fail(err, render.Pairs("ended", names), data)
	}
	p.Done(render.Pairs("ended", names), data)
	return nil
}
