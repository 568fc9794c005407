package fsboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// fold applies the claim markers on disk to the snapshot in memory. Refused
// markers of pending tasks raise the task's epoch, so that whoever published
// them can never be told that it holds the claim. Marker files are removed
// only by cleanup, after the commit.
func (t *tx) fold() error {
	all, unreadable, err := t.b.markers("claims", time.UnixMilli(t.now))
	if err != nil {
		return err
	}
	for i := range all {
		f := &all[i]
		if t.skip[f.path] || t.seized[f.id] {
			continue
		}
		if err := t.foldClaim(f); err != nil {
			return err
		}
	}
	if err := t.foldClock(); err != nil {
		return err
	}
	// One marker that cannot be read spoils only itself: its task stays as it
	// is, since nobody can link beside it.
	t.b.report(unreadable)
	return nil
}

// foldOne folds the marker of one task, which may have come after fold's
// listing. Whoever is about to call a submission stale does this first: its
// claim may still be only a marker.
func (t *tx) foldOne(id string) error {
	path := t.b.claimPath(id)
	if t.skip[path] || t.seized[id] {
		return nil
	}
	m, err := readMarker(path, id, time.UnixMilli(t.now))
	var p *markerProblem
	switch {
	case errors.Is(err, errVanished):
		return nil
	case errors.As(err, &p):
		return t.foldBad(&found{id: id, path: path, problem: p})
	case err != nil:
		return err
	}
	return t.foldClaim(&found{id: id, path: path, marker: m})
}

// report hands problems that concern single files to the Problems hook.
func (b *Board) report(problems []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problems...)
}

// Problems returns, once, what was found wrong with single files since the
// last call.
func (b *Board) Problems() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.problems
	b.problems = nil
	return p
}

// foldClaim applies one claim marker.
func (t *tx) foldClaim(f *found) error {
	if f.problem != nil {
		return t.foldBad(f)
	}
	m := f.marker
	remove := func() {
		t.stale = append(t.stale, f.path)
		t.skip[f.path] = true
	}
	if m.Worker == Leader {
		remove() // left by a leader that died between its marker and its snapshot
		return nil
	}
	task, err := t.snap.task(f.id)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if task != nil && task.Claim != nil && task.Claim.Token == m.Token {
		remove()
		return nil
	}
	if reason := t.refusal(task, m); reason != "" {
		return t.refuse(f.id, task, m, reason, remove)
	}
	task, err = t.edit(f.id)
	if err != nil {
		return err
	}
	t.grant(task, m)
	remove()
	return nil
}

// foldBad handles a file in claims/ that is no usable marker.
func (t *tx) foldBad(f *found) error {
	if f.problem.wait {
		return nil
	}
	t.reject = append(t.reject, rejection{path: f.path, id: f.id, reason: f.problem.reason})
	t.skip[f.path] = true
	e := Event{Event: EventRejected, Task: f.id, Reason: "unusable_marker", Message: fmt.Sprintf("%s: %s", f.path, f.problem.reason)}
	task, err := t.snap.task(f.id)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if task != nil && task.Status == Pending {
		if task, err = t.edit(f.id); err != nil {
			return err
		}
		task.Epoch++
		e.Epoch = task.Epoch
	}
	t.note(e)
	return nil
}

// refusal returns why a marker is not granted, "" when it is.
func (t *tx) refusal(task *Task, m *Marker) string {
	switch {
	case task == nil:
		return "unknown_task"
	case task.Status != Pending:
		return "not_pending"
	case m.Epoch != nil && *m.Epoch != task.Epoch:
		return "other_epoch"
	case task.Assignee != "" && task.Assignee != m.Worker:
		return "wrong_assignee"
	}
	w := t.b.o.Roster.Lookup(m.Worker, m.SpawnID)
	switch {
	case w.Life == LifeDead:
		return "holder_dead"
	case w.Life == LifeReplaced:
		return "replaced"
	case w.Life == LifeNoSuch:
		return "no_such_teammate"
	case task.Role != "" && task.Role != w.Agent:
		return "wrong_role"
	}
	if m.Epoch == nil {
		// Nothing says what its writer saw, so the task must be claimable now.
		if len(t.snap.unmet(task)) > 0 {
			return "blocked"
		}
		if task.NotBefore > t.now {
			return "waiting"
		}
	}
	return ""
}

// refuse records a refusal. Only a pending task's epoch is raised: for any
// other state the marker can never hold anyway.
func (t *tx) refuse(id string, task *Task, m *Marker, reason string, remove func()) error {
	e := Event{Event: EventClaimRefused, Task: id, Worker: m.Worker, SpawnID: m.SpawnID, Token: m.Token, Reason: reason}
	if task != nil && task.Status == Pending {
		var err error
		if task, err = t.edit(id); err != nil {
			return err
		}
		task.Epoch++
		e.Epoch = task.Epoch
	}
	remove()
	t.note(e)
	return nil
}

// grant makes the marker's worker the holder. The lease began at the link.
func (t *tx) grant(task *Task, m *Marker) {
	at := m.Timestamp
	if at <= 0 || at > t.now {
		at = t.now
	}
	task.Status, task.ClaimedBy = Claimed, m.Worker
	task.NotBefore, task.GateFailures = 0, 0
	task.Claim = &Claim{Token: m.Token, Worker: m.Worker, SpawnID: m.SpawnID, Host: m.Host, ClaimedAt: at}
	if m.LeaseMs > 0 {
		c := task.Claim
		c.LeaseMs, c.LeaseUntil = m.LeaseMs, at+m.LeaseMs
		if m.BootID != "" && m.BootMs > 0 {
			c.BootID, c.BootMs = m.BootID, m.BootMs+m.LeaseMs
		}
	}
	task.Gate = t.gateFor(task, m)
	t.note(Event{Event: EventClaimed, Task: task.ID, Epoch: task.Epoch, Worker: m.Worker, SpawnID: m.SpawnID, Token: m.Token})
}

// gateFor fixes the gate of a claim: the task's own, else that of the role.
func (t *tx) gateFor(task *Task, m *Marker) *Gate {
	w := t.b.o.Roster.Lookup(m.Worker, m.SpawnID)
	g := &Gate{Command: task.Verify, Source: "task", TimeoutMs: task.VerifyTimeoutMs, Cwd: w.Cwd, Host: m.Host}
	if g.Command == "" {
		g.Command, g.Source = w.Verify, "agent"
	}
	if g.Command == "" {
		return nil
	}
	if g.Cwd == "" {
		g.Cwd = t.b.project(&t.snap.head)
	}
	if g.Host == "" {
		g.Host = fsx.Host()
	}
	return g
}

// project is the directory that gates run in by default: the one that line 1
// of the board names, whoever folds from wherever.
func (b *Board) project(h *head) string {
	if h.Project != "" {
		return h.Project
	}
	return b.o.Project
}

// unmet returns the dependencies of a task that are not completed, a missing
// one included.
func (s *snapshot) unmet(task *Task) []string {
	var out []string
	for _, id := range task.DependsOn {
		num, ok := taskNumber(id)
		if i, there := s.find(num); ok && there && s.lines[i].status() == Completed {
			continue
		}
		out = append(out, id)
	}
	return out
}

// foldClock mends times that the clock left ahead of now: a back-off counts at
// most from now, and a lease of another boot ends at most its length from now.
// Only a snapshot that was written "in the future" can have such times.
func (t *tx) foldClock() error {
	if t.snap.head.UpdatedAt <= t.now+clockSlack {
		return nil
	}
	for i := range t.snap.lines {
		l := &t.snap.lines[i]
		if st := l.status(); st != Pending && st != Claimed {
			continue
		}
		task, err := l.decode()
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		backoff := task.Status == Pending && task.NotBefore > t.now+backoffMs(task.Attempt)
		lease := task.Claim != nil && task.Claim.LeaseUntil > t.now+task.Claim.LeaseMs
		if !backoff && !lease {
			continue
		}
		task, err = t.edit(taskID(l.num))
		if err != nil {
			return err
		}
		if backoff {
			task.NotBefore = t.now + backoffMs(task.Attempt)
		}
		if lease {
			task.Claim.LeaseUntil = t.now + task.Claim.LeaseMs
			if task.Claim.BootID != t.boot.BootID && t.boot.BootID != "" {
				task.Claim.BootID, task.Claim.BootMs = t.boot.BootID, t.boot.Ms+task.Claim.LeaseMs
			}
		}
		t.note(Event{Event: EventClock, Task: task.ID, Epoch: task.Epoch, Reason: "clock_went_back"})
	}
	return nil
}

// clockSlack is how far, in ms, a clock may seem to go back without a look at
// every task: clocks of several hosts are never quite the same.
const clockSlack = 2000

// backoffMs is the pause after the nth failed attempt: 30 s, doubled each time.
func backoffMs(attempt int) int64 {
	return 30_000 << min(max(attempt-1, 0), 30)
}

// FoldReport says what a fold did.
type FoldReport struct {
	Events   []Event
	Problems []error // files that spoil only themselves
}

// Fold applies the markers on disk to the snapshot. With sweep it also
// releases the claims of holders that are proven dead and of leases that are
// over.
func (b *Board) Fold(ctx context.Context, sweep bool) (FoldReport, error) {
	events, err := b.update(ctx, false, func(t *tx) error {
		if !sweep {
			return nil
		}
		return t.sweep()
	})
	return FoldReport{Events: events, Problems: b.Problems()}, err
}

// tryFold folds when board.lock is free, and says whether it did.
func (b *Board) tryFold() (bool, error) {
	lock, ok, err := fsx.TryAcquire(b.lockPath())
	if err != nil || !ok {
		return false, err
	}
	defer lock.Unlock()
	t, err := b.begin(false)
	if err != nil {
		return false, err
	}
	defer t.end()
	if err := t.fold(); err != nil {
		return false, err
	}
	if err := t.commit(); err != nil {
		return false, errors.Join(err, t.release())
	}
	return true, t.cleanup()
}
