package fsboard

import (
	"context"
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/internal/errs"
)

// change is a leader's write that may concern pending tasks. plan names, under
// the lock, the tasks that it will touch; apply makes the changes once the
// markers of the pending ones are taken. plan changes nothing and may run
// several times.
type change struct {
	create bool // the board may have no state yet
	plan   func(*tx) ([]string, error)
	apply  func(*tx) error
}

// maxSeize bounds the rounds of taking markers; each round in which a worker
// was first grants that worker its claim, so it ends by itself.
const maxSeize = 10_000

// updateSeizing runs a leader's write: it folds, takes the claim marker of each
// pending task it will touch in the leader's name, applies the change, commits,
// and removes those markers in the same lock section. A task that a worker was
// faster to claim is claimed by the fold and then treated so.
func (b *Board) updateSeizing(ctx context.Context, c change) error {
	_, err := b.update(ctx, c.create, func(t *tx) error {
		for range maxSeize {
			// What the fold refused must be gone before its place can be taken.
			if len(t.stale) > 0 || len(t.reject) > 0 {
				if err := t.flush(); err != nil {
					return err
				}
			}
			ids, err := c.plan(t)
			if err != nil {
				return err
			}
			again, err := t.seize(ids)
			if err != nil {
				return err
			}
			if !again {
				return c.apply(t)
			}
			if err := t.fold(); err != nil {
				return err
			}
			if err := t.stuckMarker(ids); err != nil {
				return err
			}
		}
		return errs.New(errs.Busy, "markers of the tasks to change came in during every try").WithPath(b.o.Dir)
	})
	return err
}

// seize takes the claim markers of pending tasks in the leader's name. again
// says that a worker's marker was there.
func (t *tx) seize(ids []string) (again bool, err error) {
	for _, id := range ids {
		task, err := t.snap.task(id)
		if err != nil {
			return false, corrupt(t.b.Path(), err)
		}
		if task == nil || task.Status != Pending || t.seized[id] {
			continue
		}
		err = publishMarker(t.b.claimPath(id), t.leaderMarker(id))
		switch {
		case err == nil:
			t.seized[id] = true
		case errors.Is(err, fs.ErrExist):
			again = true
		default:
			return false, err
		}
	}
	return again, nil
}

// stuckMarker returns an error when a fold left a marker in the way: nobody
// waits for one that cannot be used yet.
func (t *tx) stuckMarker(ids []string) error {
	for _, id := range ids {
		path := t.b.claimPath(id)
		task, err := t.snap.task(id)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		if task == nil || task.Status != Pending || t.seized[id] || t.skip[path] {
			continue
		}
		m, err := readMarker(path, id)
		var p *markerProblem
		switch {
		case errors.Is(err, errVanished):
			continue
		case errors.As(err, &p) && !p.wait:
			continue // came after the fold; the next one moves it away
		case err != nil && p == nil:
			return err
		case p != nil:
			return errs.New(errs.Conflict, "a claim marker that cannot be read yet stands in the way: %s", p.reason).
				WithPath(path).WithHint("try again in 30 s")
		}
		if w := t.b.o.Roster.Lookup(m.Worker, m.SpawnID); w.Unread {
			return errs.New(errs.Conflict, "%s has a claim on %s, and %w", m.Worker, id, w.unread(m.Worker)).WithPath(path).WithHint("teams doctor")
		}
	}
	return nil
}
