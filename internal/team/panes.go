package team

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/fsx"
)

// How long a look at the panes may take: in a tick, which waits for it, and
// beside the passes of a harness.
const (
	tickPaneTime    = 2 * time.Second
	harnessPaneTime = 15 * time.Second
)

// tickPanes frees the panes that herdr no longer knows, closes those that an end
// has left, and tabs whose teammates have ended. It asks herdr only when there are
// panes or tabs of ours. What it has not done when ctx ends is done another time.
func (t *Team) tickPanes(ctx context.Context, getenv func(string) string, r *TickReport) {
	dir := filepath.Join(t.Root, "panes")
	if !fileExists(dir) || getenv == nil {
		return
	}
	sp, err := t.newSpawner(0, getenv)
	if err != nil {
		if !herdr.IsUnavailable(err) {
			r.problem(stepHerdr, err)
		}
		return
	}
	freed, err := sp.Prune(ctx, t.SpawnEnded)
	for _, l := range freed {
		r.Done = append(r.Done, Done{stepHerdr, "pane_freed", l.Name, "the pane of " + l.Name + " is gone"})
	}
	if paneTrouble(err, r) {
		return // it would be waited for once more
	}
	_, err = sp.CloseTabs(ctx, func(session, spawnID string) bool {
		return session == t.Session && t.spawnOver(spawnID)
	})
	paneTrouble(err, r)
}

// paneTrouble reports whether herdr cannot be asked, or not in time, which is no
// problem of a tick; anything else is.
func paneTrouble(err error, r *TickReport) bool {
	if herdr.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	r.problem(stepHerdr, err)
	return false
}

// SpawnEnded reports whether a life of a teammate of this session is known to be
// over. Of another session, and of what is not known, it is not.
func (t *Team) SpawnEnded(session, spawnID string) bool {
	if session != t.Session {
		return false
	}
	mates, _, err := t.List()
	if err != nil {
		return false
	}
	for _, tm := range mates {
		switch spawnID {
		case tm.SpawnID:
			return t.Liveness(tm) == fsx.Dead
		case tm.PreviousSpawnID:
			return true
		}
	}
	return false
}

// spawnOver reports whether a life of this session has ended.
func (t *Team) spawnOver(spawnID string) bool {
	all, problems, err := t.List()
	if err != nil || len(problems) > 0 {
		return false
	}
	for _, tm := range all {
		if tm.SpawnID == spawnID {
			return t.Liveness(tm) == fsx.Dead
		}
	}
	return true
}
