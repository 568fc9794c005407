package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrReadEntry = Entry{
	Path:     "herdr read",
	Group:    groupRuns,
	Summary:  "Print what a pane shows",
	Examples: []string{"teams herdr read bob --lines 40", "teams herdr read w1:p2 --source visible"},
	New:      func() Command { return new(herdrReadCmd) },
}

type herdrReadCmd struct {
	herdrFlags
	Target string `arg:"" complete:"name" help:"A teammate, or the id of a pane."`
	Lines  int    `placeholder:"N" help:"How many lines, at most 1000; 80 without it."`
	Source string `enum:"visible,recent,recent-unwrapped" default:"recent-unwrapped" placeholder:"SOURCE" help:"visible, recent or recent-unwrapped (long lines as they were printed)."`
}

// readData is the data of herdr read and term read.
type readData struct {
	Text      string `json:"text"`
	Mode      string `json:"mode"`
	Truncated bool   `json:"truncated"`
}

func (c *herdrReadCmd) Check() error {
	if c.Lines < 0 || c.Lines > 1000 {
		return errs.New(errs.Usage, "--lines is from 1 to 1000")
	}
	return nil
}

func (c *herdrReadCmd) Run(ctx context.Context, e *Env) error {
	control, target, err := e.herdrTarget(c.herdrFlags, c.Target)
	if err != nil {
		return err
	}
	text, err := control.Read(ctx, target, strings.ReplaceAll(c.Source, "-", "_"), c.Lines)
	if err != nil {
		return err
	}
	e.Result(readData{text.Text, c.Source, text.Truncated}, func(w *render.Writer) {
		if strings.TrimSpace(text.Text) == "" {
			w.Linef("nothing is shown")
			return
		}
		w.Block(text.Text)
	})
	return nil
}
