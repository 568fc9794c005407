package fsboard

import (
	"context"
	"errors"
	"fmt"

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
	err := b.decidingFirst(ctx, r.ID, func() error {
		_, err := b.update(ctx, false, func(t *tx) error {
			task, err := t.task(r.ID)
			if err != nil {
				return err
			}
			by := r.Worker
			if r.Worker == "" {
				by = Leader
				if task.Status != Claimed {
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
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.Show(r.ID)
}

// decidingFirst runs a write that ends a claim, and decides a submission that
// stands in its way.
func (b *Board) decidingFirst(ctx context.Context, id string, write func() error) error {
	for range 100 {
		err := write()
		if !errors.Is(err, errDecideFirst) {
			return err
		}
		d, err := b.Decide(ctx, id)
		if err != nil {
			return err
		}
		if d.Waiting != "" {
			return errs.New(errs.Conflict, "a submission for %s waits and must be decided first: %s", id, d.Waiting).
				WithHint("teams task why %s", id)
		}
	}
	return errs.New(errs.Busy, "submissions for %s came in during every try to end its claim", id)
}

// ReleaseAll ends the claims of one life of a worker, as when it leaves. Claims
// with a waiting submission, or with one that cannot be read, stay until that
// is decided; they are returned as kept. An empty spawnID means every life of
// the name.
func (b *Board) ReleaseAll(ctx context.Context, worker, spawnID, reason string) (released, kept []string, err error) {
	maybe, err := b.mayHold(worker)
	if err != nil || !maybe {
		return nil, nil, err
	}
	_, err = b.update(ctx, false, func(t *tx) error {
		released, kept = nil, nil
		for i := range t.snap.lines {
			if t.snap.lines[i].status() != claimed {
				continue
			}
			task, err := t.snap.at(i)
			if err != nil {
				return corrupt(t.b.Path(), err)
			}
			if task.Claim == nil || task.Claim.Worker != worker || spawnID != "" && task.Claim.SpawnID != spawnID {
				continue
			}
			waiting, err := t.takeSubmission(task)
			if err != nil {
				t.b.report(fmt.Errorf("release %s: %w", task.ID, err))
			}
			if waiting != nil || err != nil {
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
	if err != nil {
		return nil, nil, err
	}
	return released, kept, nil
}
