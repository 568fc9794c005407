package fsboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// leaseOver reports whether a claim's lease has ended: by the boot clock on
// the boot in which it began, else by the wall clock, and then at most the
// lease's length from now. A claim without a lease never ends by time.
func (c *Claim) leaseOver(now int64, boot bootPoint) bool {
	return c != nil && c.LeaseUntil > 0 && c.leaseLeft(now, boot) <= 0
}

// leaseLeft returns the milliseconds that are left of a lease. LeaseUntil is by
// the wall clock of the claim's host.
func (c *Claim) leaseLeft(now int64, boot bootPoint) int64 {
	if c.BootID != "" && c.BootID == boot.BootID {
		return c.BootMs - boot.Ms
	}
	left := c.LeaseUntil - now - boot.ahead(c.Host)
	if c.LeaseMs > 0 {
		left = min(left, c.LeaseMs)
	}
	return left
}

// endsAt returns the end of a lease on the present wall clock.
func (c *Claim) endsAt(now int64, boot bootPoint) int64 { return now + c.leaseLeft(now, boot) }

// Renew makes the lease of the claim that worker holds on a task end lease from
// now. Zero keeps the length it has; a claim without a lease then stays without.
func (b *Board) Renew(ctx context.Context, id string, worker, spawnID string, lease time.Duration) (*Task, error) {
	var out *Task
	_, err := b.update(ctx, false, func(t *tx) error {
		task, err := t.holding(id, worker, spawnID)
		if err != nil {
			return err
		}
		if lease == 0 && task.Claim.LeaseMs == 0 {
			out = task
			return nil
		}
		if task, err = t.edit(id); err != nil {
			return err
		}
		c := task.Claim
		if lease > 0 {
			c.LeaseMs = min(max(lease.Milliseconds(), 1), maxLeaseMs)
		}
		c.LeaseUntil, c.Host = t.now+c.LeaseMs, fsx.Host()
		c.BootID, c.BootMs = t.boot.BootID, 0
		if t.boot.BootID != "" {
			c.BootMs = t.boot.Ms + c.LeaseMs
		}
		t.note(Event{Event: EventRenewed, Task: id, Epoch: task.Epoch, Worker: worker, SpawnID: spawnID, Token: c.Token})
		out = task
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out.clone(), nil
}

// holding returns a task that is claimed by this life of the worker.
func (t *tx) holding(id, worker, spawnID string) (*Task, error) {
	task, err := t.task(id)
	if err != nil {
		return nil, err
	}
	if err := heldBy(task, worker, spawnID); err != nil {
		return nil, err
	}
	if task.Claim.leaseOver(t.now, t.boot) {
		return nil, errs.New(errs.StaleClaim, "the lease on %s ended at %s", id, stamp(task.Claim.endsAt(t.now, t.boot))).
			WithHint("teams claim %s takes it again if it is still free", id)
	}
	return task, nil
}

// heldBy returns nil when this life of the worker holds the task.
func heldBy(task *Task, worker, spawnID string) *Error {
	c := task.Claim
	switch {
	case task.Status.Terminal():
		return errs.New(errs.TaskEnded, "%s is %s", task.ID, task.Status).WithHint("teams log %s tells how", task.ID)
	case task.Status != Claimed || c == nil:
		return errs.New(errs.NotHolder, "%s is not claimed", task.ID).WithHint("%s", claimHint(task, worker))
	case c.Worker != worker:
		return errs.New(errs.NotHolder, "%s is held by %s", task.ID, c.Worker).
			WithHint("teams task show %s", task.ID).WithDetail("holder", c.Worker)
	case c.SpawnID != spawnID:
		return errs.New(errs.StaleClaim, "%s is held by another life of %s", task.ID, worker).
			WithHint("teams claim --mine shows what this one holds").WithDetail("holder", c.Worker)
	}
	return nil
}

// claimHint is what helps a worker, "" for the leader, to a task that nobody
// holds: to claim it, or else to see why it may not.
func claimHint(task *Task, worker string) string {
	if worker == "" || task.Role != "" || len(task.DependsOn) > 0 || task.NotBefore > 0 || task.Assignee != "" && task.Assignee != worker {
		return "teams task why " + task.ID
	}
	return "teams claim " + task.ID
}

// sweep releases the claims of holders that are proven dead or replaced, and
// those whose lease is over; a claim with a waiting submission is left alone.
// It also moves away what is no submission by its name; the others are for
// Decide.
func (t *tx) sweep() error {
	_, strangers, err := t.b.markerIDs("submissions")
	if err != nil {
		return err
	}
	for _, name := range strangers {
		if err := t.foldBad(&found{path: t.b.path("submissions", name), problem: nameProblem()}); err != nil {
			return err
		}
	}
	for i := range t.snap.lines {
		if t.snap.lines[i].status() != claimed {
			continue
		}
		task, err := t.snap.at(i)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		reason, err := t.b.claimOver(task, t.now, t.boot)
		if err != nil {
			t.b.report(err)
		}
		if reason == "" {
			continue
		}
		waiting, err := t.takeSubmission(task)
		if err != nil {
			// A submission that cannot be read holds up its own task only.
			t.b.report(fmt.Errorf("release %s: %w", task.ID, err))
			continue
		}
		if waiting != nil {
			continue // decided first
		}
		if err := t.giveUp(task.ID, reason, "harness"); err != nil {
			return err
		}
	}
	return nil
}

// claimOver returns why a claim has ended without its holder's doing, "" when
// it has not. The error says why that cannot be told just now.
func (b *Board) claimOver(task *Task, now int64, boot bootPoint) (string, error) {
	c := task.Claim
	if c == nil {
		return "no_claim", nil // written by some other tool: nobody can ever submit it
	}
	if c.leaseOver(now, boot) {
		return "lease_over", nil
	}
	w := b.o.Roster.Lookup(c.Worker, c.SpawnID)
	switch {
	case w.Life == LifeDead:
		return "holder_dead", nil
	case w.Life == LifeReplaced:
		return "holder_replaced", nil
	case w.Unread:
		return "", fmt.Errorf("%s: whether its holder lives is not known: %w", task.ID, w.unread(c.Worker))
	}
	return "", nil
}

// giveUp makes a claimed task pending again in a new epoch. The caller has
// taken its submission marker.
func (t *tx) giveUp(id, reason, by string) error {
	task, err := t.edit(id)
	if err != nil {
		return err
	}
	e := Event{Event: EventReleased, Task: id, Worker: task.ClaimedBy, Reason: reason, By: by}
	if c := task.Claim; c != nil {
		e.Worker, e.SpawnID, e.Token = c.Worker, c.SpawnID, c.Token
		if reason == "lease_over" {
			e.Message = "its lease ended at " + stamp(c.endsAt(t.now, t.boot))
		}
	}
	task.toPending()
	e.Epoch = task.Epoch
	t.note(e)
	return nil
}

// toPending clears what belongs to a claim and opens a new epoch.
func (task *Task) toPending() {
	task.Status, task.ClaimedBy = Pending, ""
	task.Claim, task.Gate, task.GateFailures = nil, nil, 0
	task.Epoch++
}

// takeSubmission makes sure, under the board lock, that no submission of the
// task's claim can come in before this section commits: it takes the marker in
// the leader's name. If a submission that counts for the claim is there
// already it is returned, and nothing is taken. A stale one is dropped.
func (t *tx) takeSubmission(task *Task) (*Marker, error) {
	if t.taken[task.ID] {
		return nil, nil
	}
	path := t.b.submissionPath(task.ID)
	for range 100 {
		m, err := t.submission(task)
		if err != nil || m != nil {
			return m, err
		}
		err = publishMarker(path, t.leaderMarker(task.ID))
		if err == nil {
			t.taken[task.ID] = true
			return nil, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, errs.New(errs.Busy, "the submission marker changes all the time").WithPath(path)
}

// submission returns the waiting submission that counts for the claim of a
// task.
func (t *tx) submission(task *Task) (*Marker, error) {
	m, err := readMarker(t.b.submissionPath(task.ID), task.ID)
	return t.judge(task, m, err)
}

// judge returns the submission that was read if it counts for the claim of a
// task. A marker of the leader's that a crash left, and one that can never
// count, are removed on the spot: the caller holds the lock, and neither
// changes a task.
func (t *tx) judge(task *Task, m *Marker, err error) (*Marker, error) {
	path := t.b.submissionPath(task.ID)
	var p *markerProblem
	switch {
	case errors.Is(err, errVanished), t.taken[task.ID]:
		return nil, nil // what lies there now is ours, until the commit
	case errors.As(err, &p):
		if p.wait {
			return nil, errs.New(errs.Conflict, "a submission that cannot be read yet stands in the way: %s", p.reason).WithPath(path).
				WithHint("try again in 30 s")
		}
		t.note(Event{Event: EventRejected, Task: task.ID, Reason: "unusable_marker", Message: path + ": " + p.reason})
		return nil, t.b.moveRejected(rejection{path: path, id: task.ID, reason: p.reason})
	case err != nil:
		return nil, err
	}
	if m.Worker != Leader && task.counts(m) {
		return m, nil
	}
	if m.Worker != Leader && !task.decided(m) {
		t.note(Event{Event: EventDropped, Task: task.ID, Worker: m.Worker, SpawnID: m.SpawnID, Token: m.Token, Submission: m.Submission, Reason: "stale_claim"})
	}
	return nil, fsx.Remove(path)
}

// decided reports whether the submission is the one that was decided last.
func (task *Task) decided(m *Marker) bool {
	return task.LastSubmission != nil && task.LastSubmission.ID == m.Submission
}

// counts reports whether a submission belongs to the task's present claim and
// has not been decided yet.
func (task *Task) counts(m *Marker) bool {
	c := task.Claim
	if task.Status != Claimed || c == nil || task.decided(m) || m.Worker == Leader {
		return false
	}
	if m.foreign {
		return c.Worker == m.Worker && c.SpawnID == m.SpawnID
	}
	return c.Token == m.Token
}
