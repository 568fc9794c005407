package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var leaveEntry = Entry{
	Path:     "leave",
	Group:    groupTeam,
	Summary:  "End being a teammate; what I hold becomes free again",
	Examples: []string{"teams leave", "teams leave --as w1"},
	New:      func() Command { return new(leaveCmd) },
	Quick:    true,
}

type leaveCmd struct{}

func (c *leaveCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.open()
	if err != nil {
		return err
	}
	id, err := t.Leaver()
	if err != nil {
		return err
	}
	var released, kept []string
	tm, err := t.Leave(ctx, id.Name, id.SpawnID, func(ctx context.Context, tm team.Teammate) error {
		released, kept, err = b.ReleaseAll(ctx, tm.Name, tm.SpawnID, "left")
		return err
	})
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.Result(struct {
		Teammate team.Teammate `json:"teammate"`
		Released []string      `json:"released"`
		Kept     []string      `json:"kept"`
	}{tm, orEmpty(released), orEmpty(kept)}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", tm.Name)
			return
		}
		w.Linef("%s left", tm.Name)
		if len(released) > 0 {
			w.Linef("released: %s", strings.Join(released, ", "))
		}
		if len(kept) > 0 {
			w.Linef("kept until their submissions are decided: %s", strings.Join(kept, ", "))
		}
	})
	return nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
