package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var harnessStatusEntry = Entry{
	Path:     "harness status",
	Group:    groupTeam,
	Summary:  "Tell whether a harness runs, and what it has trouble with",
	Examples: []string{"teams harness status"},
	New:      func() Command { return new(harnessStatusCmd) },
}

type harnessStatusCmd struct{}

func (c *harnessStatusCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	s, err := t.HarnessStatus()
	if err != nil {
		return err
	}
	e.Result(s, func(w *render.Writer) {
		if !s.Running {
			w.Linef("no harness runs in session %s", t.Session)
			return
		}
		w.Linef("running as process %d on %s, since %s, last change %s", s.PID, s.Process.Host, w.AgoMs(s.Since), w.AgoMs(s.LastChange))
		for _, p := range s.Problems {
			w.Linef("problem: %s", p)
		}
	})
	return nil
}
