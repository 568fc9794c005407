package main

import (
	"context"
	"slices"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var answerEntry = Entry{
	Path:    "answer",
	Group:   groupPeople,
	Summary: "Answer a question, as a person",
	Usage:   []string{"teams answer ID CHOICE|TEXT…", "teams answer ID --decline"},
	Examples: []string{
		"teams answer q_3f9a1c yes",
		"teams answer q_3f9a1c 2",
		"teams answer q_3f9a1c - < reply.md",
		"teams answer q_3f9a1c --decline",
	},
	Quick: true,
	New:   func() Command { return new(answerCmd) },
}

type answerCmd struct {
	ID      string   `arg:"" complete:"ask" help:"The question, from teams asks; the beginning of its id is enough."`
	Choice  []string `arg:"" optional:"" name:"choice" help:"The label of an option or its number, several where that is allowed; or the text, - from stdin, @FILE from a file."`
	Decline bool     `help:"It will not be answered; ask exits 1 with the code declined."`
}

func (c *answerCmd) Help() string {
	return "Of several answers the first one counts. Exit codes: 3 no such question; 4 it was settled before, or nobody waits any more; " +
		"5 the shell is that of an agent (TEAMS_NAME or PI_CODING_AGENT is set): a model must not answer for a person."
}

func (c *answerCmd) Check() error {
	switch {
	case c.Decline && len(c.Choice) > 0:
		return errs.New(errs.Usage, "an answer and --decline contradict each other")
	case !c.Decline && len(c.Choice) == 0:
		return errs.New(errs.Usage, "an answer is needed").WithHint("teams answer %s --decline settles it without one", c.ID)
	}
	return nil
}

func (c *answerCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	if err := t.CheckHuman(); err != nil {
		return err
	}
	q, err := t.FindAsk(c.ID)
	if err != nil {
		return err
	}
	args := make([]string, len(c.Choice))
	for i, arg := range c.Choice {
		if args[i] = arg; slices.Contains(q.Options, arg) {
			continue // even one that begins with @
		}
		if args[i], err = e.Text(arg); err != nil {
			return err
		}
	}
	q, err = t.Answer(ctx, q.ID, args, c.Decline)
	if err != nil {
		return err
	}
	e.Result(askData{q}, func(w *render.Writer) {
		switch {
		case e.Quiet:
			w.Linef("%s", q.ID)
		case q.State == team.AskDeclined:
			w.Row(q.ID, "declined")
		default:
			w.Row(q.ID, render.Symbol("completed"), "answered", render.Fold(q.Answer.Text))
		}
	})
	return nil
}
