package team

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// leaseNote says why claims have a lease that nobody asked for, "" when that is
// not so.
func (t *Team) leaseNote(lease time.Duration) string {
	if !t.Sharing.On || lease <= 0 {
		return ""
	}
	return "several hosts share this session, so its claims have a lease of " + ShortDuration(lease) + ", which it renews"
}

// ShortDuration is a duration without the parts that are nothing, as 10m.
func ShortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// idle takes the command that has ended out of the record of a work loop on a
// shared session: were the loop to die now, other hosts could not tell whether
// the command lives. That it fails is told by the next write.
func (w *worker) idle(ctx context.Context) {
	if !w.t.Sharing.On || ctx.Err() != nil {
		return
	}
	_, _ = w.t.Update(ctx, w.tm.Name, w.tm.SpawnID, func(tm *Teammate) error {
		tm.Child, tm.Status, tm.CurrentTask = nil, StatusIdle, ""
		return nil
	})
}

// patiently repeats what found a lock busy: a loop that has done its work does
// not throw it away because the board is in much use. ctx bounds it.
func (w *worker) patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		if errs.CodeOf(err) != errs.Busy || ctx.Err() != nil {
			return err
		}
		time.Sleep(settleTime) // with a lock timeout of nothing it would spin
	}
}

// submit hands in a task, patiently: what is on disk already is not handed in
// twice.
func (w *worker) submit(ctx context.Context, r fsboard.SubmitRequest) (res *fsboard.SubmitResult, err error) {
	err = w.patiently(ctx, func() error {
		res, err = w.b.Submit(ctx, r)
		return err
	})
	return res, err
}

// leaseLook is how often a host looks at least for leases of its teammate that
// are to be renewed: one that is shorter than three looks may end before it is seen.
const leaseLook = 5 * time.Second

// keepLeases renews the leases of what a resident has claimed on a shared
// session, for as long as its host lives: a model does not think of it.
func (h *host) keepLeases(ctx context.Context) (stop func()) {
	if !h.t.Sharing.On {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for next := leaseLook; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
				next = h.renewLeases(ctx)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// renewLeases renews what has less than two thirds of its length left. It returns
// when to look again.
func (h *host) renewLeases(ctx context.Context) (next time.Duration) {
	next = leaseLook
	held, err := h.b.Held(h.tm.Name, h.tm.SpawnID)
	if err != nil {
		return next // which tries again
	}
	for _, task := range held {
		c := task.Claim
		if c == nil || c.LeaseMs <= 0 {
			continue
		}
		next = min(next, max(time.Duration(c.LeaseMs)*time.Millisecond/3, 100*time.Millisecond))
		left := c.LeaseUntil - nowMillis()
		if c.BootID != "" && c.BootID == fsx.BootID() { // by the clock that nobody sets, as the board has it
			left = c.BootMs - bootMillis()
		}
		if left > c.LeaseMs*2/3 {
			continue
		}
		if _, err := h.b.Renew(ctx, task.ID, h.tm.Name, h.tm.SpawnID, 0); err != nil && ctx.Err() == nil {
			h.log.Event("renew %s: %v", task.ID, err)
		}
	}
	return next
}

// keepLate keeps for the next session what came for the leader into the
// directory of a session when it was about to be taken out of sight, as from
// whoever joined at the last moment: it was told to be sent. Another host may have
// seen the directory under its name for a moment longer.
func (t *Team) keepLate(gone string) error {
	from := []string{filepath.Join(gone, LeaderName, "inbox", "new")}
	names, err := fsx.List(gone)
	if err != nil {
		return err
	}
	for _, name := range names {
		if CheckName(name) == nil {
			from = append(from, filepath.Join(gone, name, "outbox", "new"))
		}
	}
	for _, dir := range from {
		files, err := fsx.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var ids []string
		for _, name := range files {
			if id, ok := strings.CutSuffix(name, ".md"); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := fsx.MkdirAll(t.Root, t.boardMail()); err != nil {
			return err
		}
		if err := t.moveMail(dir, t.boardMail(), ids); err != nil {
			return err
		}
	}
	return nil
}
