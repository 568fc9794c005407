package team

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
)

// ShowAsks makes an OnAsks that keeps the cell of whoever asks blocked until its
// last question is settled. Only cells that we opened have one. What herdr makes
// of it never fails a question; it is noted in teams herdr status.
func (t *Team) ShowAsks(getenv func(string) string) func(ctx context.Context, name string, open []Question) {
	return func(ctx context.Context, name string, open []Question) {
		if herdr.Off("", getenv) || !fileExists((&herdr.Leases{Root: t.Root}).Dir()) {
			return
		}
		tm, err := t.Read(name)
		if err != nil {
			return
		}
		sp, err := t.newSpawner(0, getenv)
		if err != nil {
			return
		}
		if lease, err := sp.Leases.Find(tm.SpawnID); err != nil || lease == nil {
			return
		}
		stage := &herdr.Stage{Client: sp.Client, Leases: sp.Leases, Here: sp.Here}
		if len(open) > 0 {
			err = stage.Ask(ctx, tm.SpawnID, name, open[0].Question)
		} else {
			state := herdr.StateIdle
			if tm.Status == StatusWorking {
				state = herdr.StateWorking
			}
			err = stage.Answered(ctx, tm.SpawnID, state)
		}
		sp.Leases.Note(sp.Client.Path, err)
	}
}
