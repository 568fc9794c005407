package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrNotifyEntry = Entry{
	Path:     "herdr notify",
	Group:    groupRuns,
	Summary:  "Show a notification",
	Examples: []string{`teams herdr notify "deploy done" --body "version 1.4" --sound done`},
	New:      func() Command { return new(herdrNotifyCmd) },
}

type herdrNotifyCmd struct {
	herdrFlags
	Title    string `arg:"" complete:"text" help:"The title, at most 80 characters of it."`
	Body     string `placeholder:"TEXT" complete:"text" help:"More, at most 240 characters of it."`
	Sound    string `enum:"none,done,request" default:"none" placeholder:"SOUND" help:"none, done or request."`
	Position string `enum:",top-left,top-right,bottom-left,bottom-right" default:"" placeholder:"POSITION" help:"top-left, top-right, bottom-left or bottom-right; else as configured."`
}

func (c *herdrNotifyCmd) Help() string {
	return "That herdr does not show it is no failure: they are off by default there, and it shows one a second at most."
}

func (c *herdrNotifyCmd) Run(ctx context.Context, e *Env) error {
	client, err := e.herdrClient(c.herdrFlags)
	if err != nil {
		return err
	}
	title, err := e.Text(c.Title)
	if err != nil {
		return err
	}
	body, err := e.Text(c.Body)
	if err != nil {
		return err
	}
	shown, err := client.Notify(ctx, title, body, c.Sound, c.Position)
	if err != nil {
		return err
	}
	e.Result(shown, func(w *render.Writer) {
		if shown.Shown {
			w.Linef("%s shown", render.Success)
			return
		}
		w.Linef("not shown, herdr says: %s", herdrReason(shown))
	})
	return nil
}

func herdrReason(s herdr.Shown) string {
	if s.Reason == "" {
		return "no reason"
	}
	return s.Reason
}
