package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
	"github.com/seed6990a682/teams/internal/term"
)

var termReadEntry = Entry{
	Path:     "term read",
	Group:    groupRuns,
	Summary:  "Print what a terminal has printed since the last read",
	Examples: []string{"teams term read term-1", "teams term read dev --max-chars 2000"},
	New:      func() Command { return new(termReadCmd) },
}

type termReadCmd struct {
	ID       string `arg:"" complete:"term" help:"The terminal, by its id or name."`
	MaxChars int    `placeholder:"N" help:"At most so many characters, up to 8000; the next read goes on behind them."`
}

func (c *termReadCmd) Help() string {
	return "The first read prints what there is. Where more was printed than is kept the marker " + term.ResetMarker + " stands before the present tail. " +
		"While a program draws on the whole screen nothing is printed, and the error says what to do (4)."
}

func (c *termReadCmd) Check() error {
	if c.MaxChars < 0 || c.MaxChars > term.MaxChars {
		return errs.New(errs.Usage, "--max-chars is from 1 to %d", term.MaxChars)
	}
	return nil
}

func (c *termReadCmd) Run(ctx context.Context, e *Env) error {
	_, terminals, err := e.openTerms()
	if err != nil {
		return err
	}
	// What is printed has been read, and what could not be printed has not.
	return terminals.Read(ctx, c.ID, team.LeaderName, c.MaxChars, func(_ *term.Terminal, out term.Output) error {
		return e.Deliver(readData{out.Text, out.Mode, out.Truncated}, func(w *render.Writer) {
			switch {
			case out.Mode == term.ModeNone && !e.Quiet:
				w.Linef("no new output")
			default:
				w.Block(out.Text)
			}
		})
	})
}
