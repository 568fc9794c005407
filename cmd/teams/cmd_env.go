package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

var envEntry = Entry{
	Path:     "env",
	Group:    groupTeam,
	Summary:  "Print the exports that make a shell act as a teammate",
	Examples: []string{`eval "$(teams env w1)"`},
	New:      func() Command { return new(envCmd) },
	Quick:    true,
}

type envCmd struct {
	Name string `arg:"" optional:"" complete:"name" help:"The teammate; without it myself."`
}

func (c *envCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		id := t.Reader()
		if id.Leader {
			return errs.New(errs.Usage, "which teammate has to be said").WithHint("teams env w1")
		}
		name = id.Name
	}
	tm, err := t.Find(name)
	if err != nil {
		return err
	}
	if t.Liveness(tm) == fsx.Dead {
		e.Warnf("%s has stopped, and a shell with this is refused; %s starts it anew", tm.Name, e.hint(`eval "$(teams join `+tm.Name+` --pid $$)"`))
	}
	e.Result(struct {
		Name    string            `json:"name"`
		SpawnID string            `json:"spawnId"`
		Env     map[string]string `json:"env"`
	}{tm.Name, tm.SpawnID, t.Env(tm)}, func(w *render.Writer) {
		w.Raw([]byte(strings.Join(t.Exports(tm), "\n") + "\n"))
	})
	return nil
}
