package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var termSendEntry = Entry{
	Path:     "term send",
	Group:    groupRuns,
	Summary:  "Type a command into a terminal, with Enter",
	Examples: []string{`teams term send term-1 "npm run dev"`, "teams term send term-1 - < script.py"},
	New:      func() Command { return new(termSendCmd) },
}

type termSendCmd struct {
	ID   string `arg:"" complete:"term" help:"The terminal, by its id or name."`
	Body string `arg:"" name:"text" complete:"text" help:"Plain text; - reads it from stdin, @FILE from a file."`
}

func (c *termSendCmd) Help() string {
	return "Control characters are refused (64), line breaks are typed as Enter. It returns once the text is typed: teams term read shows what comes of it."
}

func (c *termSendCmd) Run(ctx context.Context, e *Env) error {
	text, err := e.Text(c.Body)
	if err != nil {
		return err
	}
	_, terminals, err := e.openTerms()
	if err != nil {
		return err
	}
	if err := terminals.Send(ctx, c.ID, text); err != nil {
		return err
	}
	t, err := terminals.Get(c.ID)
	if err != nil {
		return err
	}
	e.Result(terminalData{t}, func(w *render.Writer) { w.Linef("%s typed into %s", render.Success, t.ID) })
	return nil
}
