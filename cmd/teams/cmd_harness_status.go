package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
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
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	s, err := t.HarnessStatus()
	if err != nil {
		return err
	}
	e.Result(newHarnessData(s), func(w *render.Writer) {
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

// harnessData is the data of the verbs about the harness. What names a process
// is null when none runs: the record is that of the last one, whose number may
// be anybody's by now.
type harnessData struct {
	Running    bool         `json:"running"`
	PID        *int         `json:"pid"`
	Since      *int64       `json:"since"`
	LastChange int64        `json:"lastChange"`
	Problems   []string     `json:"problems"`
	Process    *fsx.Process `json:"process"`
}

func newHarnessData(s team.HarnessStatus) harnessData {
	d := harnessData{Running: s.Running, LastChange: s.LastChange, Problems: s.Problems}
	if s.Running {
		d.PID, d.Since, d.Process = &s.PID, &s.Since, &s.Process
	}
	return d
}
