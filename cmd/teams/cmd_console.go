package main

import (
	"context"
	"os"

	"github.com/seed6990a682/teams/internal/console"
	"github.com/seed6990a682/teams/internal/errs"
)

var consoleEntry = Entry{
	Path:     "console",
	Group:    groupPeople,
	Summary:  "Show the team, tasks, mail and questions on the whole screen, and act",
	Examples: []string{"teams console", "teams console --as ann   # act as ann"},
	New:      func() Command { return new(consoleCmd) },
	NoJSON:   true,
}

type consoleCmd struct{}

func (c *consoleCmd) Help() string {
	return "Five pages: tab, the arrows and the mouse move, / filters, enter shows everything about a row, ? names all keys, q leaves. " +
		"It follows the files, and acts as the verbs do: claim, release, cancel, reopen, send, reply, answer, shut down. " +
		"It acts as whoever calls: the leader, or the teammate of --as or TEAMS_NAME. The leader is asked for a name to claim in. " +
		"It needs a terminal."
}

func (c *consoleCmd) Run(ctx context.Context, e *Env) error {
	in, _ := e.stdin.(*os.File)
	out, _ := e.stdout.(*os.File)
	switch {
	case !isTerminal(in) || !isTerminal(out):
		return errs.New(errs.Usage, "console needs a terminal for its input and its output").WithHint("teams list")
	case e.Getenv("TERM") == "dumb" || e.Getenv("TERM") == "":
		return errs.New(errs.Usage, "console moves the cursor, which TERM=%s cannot", e.Getenv("TERM")).WithHint("teams list")
	}
	s, err := newConsoleSource(e)
	if err != nil {
		return err
	}
	defer s.Close()
	o := console.Options{Source: s, Acts: s.acts(), Color: e.colorful()}
	return console.Run(ctx, o, in, out)
}
