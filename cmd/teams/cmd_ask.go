package main

import (
	"context"
	"errors"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var askEntry = Entry{
	Path:    "ask",
	Group:   groupPeople,
	Summary: "Ask a person and wait for the answer",
	Examples: []string{
		`port=$(teams ask "Which port?")`,
		`teams ask "Drop the old table?" --option yes --option no --timeout 30m`,
		`teams ask "Which checks?" --option unit --option race --option fuzz --multi --other`,
	},
	New: func() Command { return new(askCmd) },
}

type askCmd struct {
	Question string    `arg:"" help:"The question; - reads it from stdin, @FILE from a file."`
	Option   []string  `sep:"none" placeholder:"LABEL" help:"An answer to choose from, 2 to 5 of them, at most 60 characters each. Without any the answer is free text."`
	Multi    bool      `help:"Several options may be chosen."`
	Other    bool      `help:"A text beside the options is an answer too."`
	Timeout  *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124); the question is withdrawn then."`
}

func (c *askCmd) Help() string {
	return "At a terminal it asks there. Else the question stands in teams asks, in the rows of list, status and console, and in the leader's mailbox, and a person answers from anywhere with teams answer. " +
		"It prints the answer: the option, several of them one a line, or the text. " +
		"Exit codes: 1 the person declined to answer (code declined), 124 nobody answered in time."
}

func (c *askCmd) Check() error {
	// The question itself may have to be read first.
	a := team.Ask{Question: "?", Options: c.Option, Multi: c.Multi, AllowOther: c.Other}
	return a.Check()
}

// askData is the data of ask and answer.
type askData struct {
	Ask team.Question `json:"ask"`
}

func (c *askCmd) Run(ctx context.Context, e *Env) error {
	text, err := e.Text(c.Question)
	if err != nil {
		return err
	}
	a := team.Ask{Question: text, Options: c.Option, Multi: c.Multi, AllowOther: c.Other}
	if err := a.Check(); err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	t, err := e.team()
	if err != nil {
		return err
	}
	ctx, cancel := deadline(ctx, c.Timeout)
	defer cancel()
	var q team.Question
	if e.mayPrompt() {
		if err := t.CheckLife(); err != nil {
			return err
		}
		q, err = e.prompt(ctx, t.Reader(), a)
	} else {
		who, errWho := t.Actor(ctx)
		if errWho != nil {
			return errWho
		}
		live := e.Live("waiting for a person")
		q, err = t.Ask(ctx, who, a, poll, func(q team.Question) {
			live.Set("waiting for a person · teams answer " + q.ID)
		})
		live.Done()
	}
	switch errs.CodeOf(err) {
	case "":
		e.Result(askData{q}, func(w *render.Writer) { w.Block(q.Answer.Text) })
		return nil
	case errs.Declined:
		return e.Fail(err, askData{q}, nil)
	case errs.TimedOut:
		if !errors.As(err, new(*errs.Error)) {
			err = errs.New(errs.TimedOut, "nobody has answered in time")
		}
	}
	return err
}
