package team

import (
	"context"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// MailWaiter pauses until something new may lie in a mailbox, or for a second,
// which is how often the leader's reports are drained.
type MailWaiter struct{ watcher *fsx.Watcher }

// NewMailWaiter watches the caller's mailbox; for the leader also the outboxes
// that there are now, so that a report need not wait for the second to pass.
func (t *Team) NewMailWaiter(who Identity, poll time.Duration) *MailWaiter {
	paths := []string{filepath.Join(t.InboxDir(who.Name), "new")}
	if who.Leader {
		names, _ := t.mailboxNames() // whoever drains is told what is wrong
		for _, name := range names {
			if name != LeaderName {
				paths = append(paths, filepath.Join(t.OutboxDir(name), "new"))
			}
		}
	}
	return &MailWaiter{watcher: fsx.NewWatcher(poll, paths...)}
}

// Polling reports whether the watcher has to look instead of being told.
func (w *MailWaiter) Polling() bool { return w.watcher.Polling() }

// Wait pauses. It returns ctx's error when that ended.
func (w *MailWaiter) Wait(ctx context.Context) error {
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-w.watcher.C:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Close ends the watching.
func (w *MailWaiter) Close() { w.watcher.Close() }

// HoldLead takes the lock of a leader's session. conflict: another one has it.
func (t *Team) HoldLead() (*fsx.Lock, error) {
	if _, err := t.EnsureSession(); err != nil {
		return nil, err
	}
	lock, ok, err := fsx.AcquireTenure(t.AliveLock(LeaderName), tenureWait)
	if err != nil {
		return nil, err
	}
	if !ok {
		e := errs.New(errs.Conflict, "another leader's session follows already").WithPath(t.AliveLock(LeaderName))
		return nil, e.WithHint("use another session: --session %s-2", t.Session)
	}
	return lock, nil
}
