package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrSendEntry = Entry{
	Path:     "herdr send",
	Group:    groupRuns,
	Summary:  "Prompt the agent in a pane, and see that it took the prompt",
	Examples: []string{`teams herdr send bob "run the tests again"`, "teams herdr send bob - < prompt.md"},
	New:      func() Command { return new(herdrSendCmd) },
}

type herdrSendCmd struct {
	herdrFlags
	Target string `arg:"" complete:"name" help:"A teammate, or the id of a pane."`
	Body   string `arg:"" name:"text" help:"The text; - reads it from stdin, @FILE from a file (preferred)."`
}

func (c *herdrSendCmd) Help() string {
	return "Success means submitted and not merely typed. An agent that waits for an answer is not prompted (4): answer it with teams herdr keys. " +
		"Into a pane without an agent the text is typed with Enter, if its shell waits for a command."
}

func (c *herdrSendCmd) Run(ctx context.Context, e *Env) error {
	text, err := e.Text(c.Body)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return errs.New(errs.Usage, "the text is empty")
	}
	control, target, err := e.herdrTarget(c.herdrFlags, c.Target)
	if err != nil {
		return err
	}
	live := e.Live("waiting for " + c.Target + " to take it")
	defer live.Done()
	err = control.Send(ctx, target, strings.TrimRight(text, "\r\n"))
	live.Done()
	if err != nil {
		return err
	}
	e.Result(targetData{c.Target}, func(w *render.Writer) { w.Linef("%s submitted", render.Success) })
	return nil
}
