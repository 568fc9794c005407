package team

import (
	"context"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// longestWait bounds a wait, since the end of a back-off and the death of a
// holder change no file.
const longestWait = time.Second

// settleTime lets the several writes of one commit come in before a look.
const settleTime = 5 * time.Millisecond

// Waiter pauses a loop until the board changes, or for a second.
type Waiter struct {
	watcher *fsx.Watcher
	stop    <-chan struct{} // ends a wait too; nil never does
}

// NewWaiter watches the session's board: by notification, or by a look every
// poll where that is not to be had. A board that is not there yet is waited
// for by its parents.
func (t *Team) NewWaiter(poll time.Duration) *Waiter {
	dir := t.BoardDir()
	return &Waiter{watcher: fsx.NewWatcher(poll, dir, filepath.Join(dir, "claims"), filepath.Join(dir, "submissions"))}
}

// Wait pauses. It returns ctx's error when that ended.
func (w *Waiter) Wait(ctx context.Context) error {
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-w.watcher.C:
		time.Sleep(settleTime)
	case <-timer.C:
	case <-w.stop:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Close ends the watching. A nil Waiter is closed already.
func (w *Waiter) Close() {
	if w != nil {
		w.watcher.Close()
	}
}
