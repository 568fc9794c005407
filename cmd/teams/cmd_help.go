package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/errs"
)

var helpEntry = Entry{
	Path:     "help",
	Group:    groupSetup,
	Summary:  "Show the overview, or the help of one command",
	Examples: []string{"teams help", "teams help claim"},
	New:      func() Command { return new(helpCmd) },
}

type helpCmd struct {
	Words []string `arg:"" optional:"" name:"COMMAND" complete:"command" help:"The words of a command, or its first words."`
}

func (c *helpCmd) Run(_ context.Context, e *Env) error {
	inv := find(c.Words)
	switch {
	case inv.stuck:
		return unknown(inv)
	case len(inv.args) > 0:
		return errs.New(errs.Usage, "unknown command, %q does not follow %q", inv.args[0], inv.path).
			WithHint("teams %s --help", inv.path)
	}
	return e.help(inv.path)
}
