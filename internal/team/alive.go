package team

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// tenureWait is how long a starter tries for a tenure lock before it believes
// that somebody else holds it, and not merely tests it.
const tenureWait = time.Second

// HoldAlive takes the alive.lock of a life, for the host that runs it. The
// caller holds it for as long as it lives. When another host holds it the error
// is of code name_taken; when the name has another life by now, of code
// stale_identity.
func (t *Team) HoldAlive(tm Teammate) (*fsx.Lock, error) {
	if err := t.checkTeammateDir(tm.Name); err != nil {
		return nil, err
	}
	lock, ok, err := fsx.AcquireTenure(t.AliveLock(tm.Name), tenureWait)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, t.nameTaken(tm.Name)
	}
	now, err := t.Read(tm.Name)
	if err == nil && (now.SpawnID != tm.SpawnID || now.Status == StatusStopped) {
		err = staleIdentity(tm.Name)
	}
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	return lock, nil
}

// SetChild records the process that a host is about to let run for its
// teammate, or with nil that there is none any more. It is durable when
// SetChild returns, so a child never runs unrecorded.
func (t *Team) SetChild(ctx context.Context, name, spawnID string, child *Child) error {
	if spawnID == "" {
		return errs.New(errs.Internal, "set child of %s: no spawn id", name)
	}
	_, err := t.Update(ctx, name, spawnID, func(tm *Teammate) error {
		tm.Child = child
		return nil
	})
	return err
}
