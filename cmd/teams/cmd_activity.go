package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var activityEntry = Entry{
	Path:     "activity",
	Group:    groupTeam,
	Summary:  "Show what a teammate does, newest last",
	Examples: []string{"teams activity ann", "teams activity ann --follow"},
	New:      func() Command { return new(activityCmd) },
}

type activityCmd struct {
	Name   string `arg:"" complete:"name" help:"A teammate, living or not."`
	Follow bool   `short:"f" help:"Go on until its life is over, or interrupted."`
	Bytes  int64  `default:"8000" placeholder:"N" help:"How much of the end is shown."`
}

func (c *activityCmd) Check() error {
	if c.Bytes < 1 || c.Bytes > 2<<20 {
		return errs.New(errs.Usage, "--bytes must be between 1 and %d", 2<<20)
	}
	return nil
}

// activityData is the data of activity; with --follow one such value for each
// piece that comes.
type activityData struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (c *activityCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	tm, err := t.Find(c.Name)
	if err != nil {
		return err
	}
	text, end, err := t.Activity(c.Name, c.Bytes)
	if err != nil {
		return err
	}
	if !c.Follow {
		e.Result(activityData{c.Name, text}, func(w *render.Writer) {
			if text == "" {
				w.Linef("nothing is known of what %s did", c.Name)
				return
			}
			w.Block(text)
		})
		return nil
	}
	show := func(text string) error {
		if text == "" {
			return nil
		}
		return e.Stream(activityData{c.Name, text}, func(w *render.Writer) { w.Block(text) })
	}
	if err := show(text); err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	if err := t.FollowActivity(tm, end, poll, show, ctx.Done()); err != nil {
		return err
	}
	return ctx.Err()
}
