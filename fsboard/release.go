package fsboard

import (
	"context"
	"errors"
	"slices"

	"github.com/seed6990a682/teams/internal/errs"
)

// ReleaseRequest gives a claim back.
type ReleaseRequest struct {
	ID      string
	Worker  string // the holder; empty: the leader releases whoever holds it
	SpawnID string
	Reason  string
}

// errDecideFirst says that a submission waits, which is decided before its
// claim may end.
var errDecideFirst = errors.New("a submission of this claim waits")

// Release makes a claimed task pending again; its attempts stay. A submission
// that waits is decided first: when it completes the task there is nothing to
// release any more.
func (b *Board) Release(ctx context.Context, r ReleaseRequest) (*TaskView, error) {
	if r.Reason == "" {
		r.Reason = "released"
	}
	for range 100 {
		_, err := b.update(ctx, false, func(t *tx) error {
			task, err := t.task(r.ID)
			if err != nil {
				return err
			}
			by := r.Worker
			if r.Worker == "" {
				by = Leader
				if task.Claim == nil || task.Status != Claimed {
					return heldBy(task, "", "")
				}
			} else if err := heldBy(task, r.Worker, r.SpawnID); err != nil {
				return err
			}
			waiting, err := t.takeSubmission(task)
			if err != nil {
				return err
			}
			if waiting != nil {
				return errDecideFirst
			}
			return t.giveUp(r.ID, r.Reason, by)
		})
		if errors.Is(err, errDecideFirst) {
			d, err := b.Decide(ctx, r.ID)
			if err != nil {
				return nil, err
			}
			if d.Waiting != "" {
				return nil, errs.New(errs.Conflict, "a submission for %s waits and must be decided first: %s", r.ID, d.Waiting)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		return b.show(r.ID)
	}
	return nil, errs.New(errs.Busy, "submissions for %s came in during every try to release it", r.ID)
}

// ReleaseAll ends the claims of one life of a worker, as when it leaves. Claims
// with a waiting submission stay until that is decided; they are returned as
// kept. An empty spawnID means every life of the name.
func (b *Board) ReleaseAll(ctx context.Context, worker, spawnID, reason string) (released, kept []string, err error) {
	h, err := b.readHead()
	if err != nil || h == nil {
		return nil, nil, err
	}
	if !slices.Contains(h.Holders, worker) {
		marked, err := b.hasMarker(worker)
		if err != nil || !marked {
			return nil, nil, err
		}
	}
	_, err = b.update(ctx, false, func(t *tx) error {
		released, kept = nil, nil
		for i := range t.snap.lines {
			if t.snap.lines[i].status() != Claimed {
				continue
			}
			task, err := t.snap.lines[i].decode()
			if err != nil {
				return corrupt(t.b.Path(), err)
			}
			if task.Claim == nil || task.Claim.Worker != worker || spawnID != "" && task.Claim.SpawnID != spawnID {
				continue
			}
			waiting, err := t.takeSubmission(task)
			if err != nil {
				return err
			}
			if waiting != nil {
				kept = append(kept, task.ID)
				continue
			}
			if err := t.giveUp(task.ID, reason, worker); err != nil {
				return err
			}
			released = append(released, task.ID)
		}
		return nil
	})
	return released, kept, err
}

// show returns a task as it stands now.
func (b *Board) show(id string) (*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	t, err := v.Task(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, b.unknownTask(id)
	}
	return t, nil
}

// Show returns a task, an archived one included.
func (b *Board) Show(id string) (*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	t, err := v.Task(id)
	if err != nil || t != nil {
		return t, err
	}
	if t, err = b.archivedView(id); err != nil || t != nil {
		return t, err
	}
	return nil, b.unknownTask(id)
}
