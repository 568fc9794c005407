package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
)

var completeEntry = Entry{
	Path:     "__complete",
	Group:    groupSetup,
	Summary:  "Print what can complete the last of the words, for the scripts of completion",
	Usage:    []string{"teams __complete -- WORDS…"},
	Examples: []string{"teams __complete -- cla"},
	New:      func() Command { return new(completeCmd) },
	NoJSON:   true,
	Hidden:   true,
}

// completeCmd prints candidates one a line, each with a tab and an explanation
// where there is one. ":files" and ":dirs" stand for the names of files. It
// has no errors: a shell could do nothing with them.
type completeCmd struct {
	words []string
}

func (c *completeCmd) SetCommand(words []string) { c.words = words }

func (c *completeCmd) Run(ctx context.Context, e *Env) error {
	if len(c.words) == 0 {
		c.words = []string{""}
	}
	scanGlobals(&e.Globals, splitArgs(c.words[:len(c.words)-1]).head)
	list := complete(ctx, c.words, newCompleter(e))
	e.Result(nil, func(w *render.Writer) {
		for _, it := range list {
			if it.Help != "" {
				w.Linef("%s\t%s", it.Value, strings.TrimSuffix(render.Fold(it.Help), "."))
			} else {
				w.Linef("%s", it.Value)
			}
		}
	})
	return nil
}
