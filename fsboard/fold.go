package fsboard

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed6990a682/teams/internal/fsx"
)

// fold applies the claim markers on disk to the snapshot in memory. Refused
// markers of pending tasks raise the task's epoch, so that whoever published
// them can never be told that it holds the claim. Marker files are removed
// only by cleanup, after the commit.
func (t *tx) fold() error {
	all, unreadable, err := t.b.markers("claims")
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
	t.b.report(unreadable...)
	return nil
}

// foldOne folds the marker of one task, which may have come after fold's
// listing. Whoever is about to call a submission stale does this first: its
// claim may still be only a marker. left says that there is one which cannot be
// folded now.
func (t *tx) foldOne(id string) (left bool, err error) {
	path := t.b.claimPath(id)
	if t.skip[path] || t.seized[id] {
		return false, nil
	}
	m, err := readMarker(path, id)
	var p *markerProblem
	switch {
	case errors.Is(err, errVanished):
		return false, nil
	case errors.As(err, &p):
		err = t.foldBad(&found{id: id, path: path, problem: p})
	case err != nil:
		t.b.report(err)
		return true, nil
	default:
		err = t.foldClaim(&found{id: id, path: path, marker: m})
	}
	return !t.skip[path], err
}

// report keeps problems that concern single files for Problems.
func (b *Board) report(problems ...error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, err := range problems {
		if err != nil {
			b.problems = append(b.problems, err)
		}
	}
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
	if m.Worker == Leader {
		t.dealt(f) // left by a leader that died between its marker and its snapshot
		return nil
	}
	task, err := t.snap.task(f.id)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if task != nil && task.Claim != nil && task.Claim.Token == m.Token {
		t.dealt(f)
		return nil
	}
	w := t.b.o.Roster.Lookup(m.Worker, m.SpawnID)
	reason := t.snap.refusal(task, m, &w, t.now)
	if lifeOver(reason) {
		// Its holder may have been told, and have submitted before its end:
		// such a claim stands until the submission is decided.
		ended := task.clone()
		ended.Status, ended.Claim = Claimed, m.claim(t.now, t.boot)
		waiting, err := t.takeSubmission(ended)
		if err != nil {
			t.b.report(fmt.Errorf("fold claim of %s: %w", f.id, err))
			return nil
		}
		if waiting != nil {
			reason = ""
			if w.Life == LifeReplaced { // the gate of a life that is gone: that of the name
				w = t.b.o.Roster.Lookup(m.Worker, "")
			}
		}
	}
	if reason != "" {
		return t.refuse(f, reason)
	}
	if w.Unread {
		// Its role's gate is not known, so this waits; the marker protects it.
		t.b.report(fmt.Errorf("fold claim of %s: %w", f.id, w.unread(m.Worker)))
		return nil
	}
	if task, err = t.edit(f.id); err != nil {
		return err
	}
	t.grant(task, m, &w)
	t.dealt(f)
	return nil
}

// dealt says that a marker is superfluous once this section is committed.
func (t *tx) dealt(f *found) {
	t.stale = append(t.stale, f.path)
	t.skip[f.path] = true
	t.epochless = t.epochless || f.marker.Epoch == nil && f.marker.Worker != Leader
}

// foldBad handles a file in claims/ that is no usable marker.
func (t *tx) foldBad(f *found) error {
	if f.problem.wait {
		return nil
	}
	t.reject = append(t.reject, rejection{path: f.path, id: f.id, reason: f.problem.reason})
	t.skip[f.path] = true
	e := Event{Event: EventRejected, Task: f.id, Reason: "unusable_marker", Message: fmt.Sprintf("%s: %s", f.path, f.problem.reason)}
	return t.noteRaised(e)
}

// refusal returns why a marker is not granted, "" when it is.
func (s *snapshot) refusal(task *Task, m *Marker, w *Worker, now int64) string {
	switch {
	case task == nil:
		return "unknown_task"
	case task.Status != Pending:
		return "not_pending"
	case m.Epoch != nil && *m.Epoch != task.Epoch:
		return "other_epoch"
	case task.Assignee != "" && task.Assignee != m.Worker:
		return "wrong_assignee"
	case w.Life == LifeDead:
		return refusedDead
	case w.Life == LifeReplaced:
		return refusedReplaced
	case w.Life == LifeNoSuch:
		return refusedNoSuch
	case task.Role != "" && task.Role != w.Agent && !(w.Life == LifeUnknown && w.Agent == "" && m.Epoch != nil):
		// Of whom nothing is known the role is not either. A marker of the
		// present epoch was written by somebody who had compared it.
		return "wrong_role"
	}
	if m.Epoch == nil {
		// Nothing says what its writer saw, so the task must be claimable now.
		if s.isBlocked(task) {
			return "blocked"
		}
		if task.NotBefore > now {
			return "waiting"
		}
	}
	return ""
}

// Refusals that are due to the claimer's life alone.
const (
	refusedDead     = "holder_dead"
	refusedReplaced = "replaced"
	refusedNoSuch   = "no_such_teammate"
)

func lifeOver(reason string) bool {
	return reason == refusedDead || reason == refusedReplaced || reason == refusedNoSuch
}

// refuse records a refusal.
func (t *tx) refuse(f *found, reason string) error {
	m := f.marker
	t.dealt(f)
	return t.noteRaised(Event{Event: EventClaimRefused, Task: f.id, Worker: m.Worker, SpawnID: m.SpawnID, Token: m.Token, Reason: reason})
}

// noteRaised records what happened to a marker that is not granted, and opens
// a new epoch if its task is pending; in any other state the marker could
// never hold anyway.
func (t *tx) noteRaised(e Event) error {
	task, err := t.snap.task(e.Task)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if task != nil && task.Status == Pending {
		if task, err = t.edit(e.Task); err != nil {
			return err
		}
		task.Epoch++
		e.Epoch = task.Epoch
	}
	t.note(e)
	return nil
}

// grant makes the marker's worker the holder. The lease began at the link.
func (t *tx) grant(task *Task, m *Marker, w *Worker) {
	task.Status, task.ClaimedBy = Claimed, m.Worker
	task.NotBefore, task.GateFailures = 0, 0
	task.Claim = m.claim(t.now, t.boot)
	task.Gate = t.gateFor(task, m, w)
	t.note(Event{Event: EventClaimed, Task: task.ID, Epoch: task.Epoch, Worker: m.Worker, SpawnID: m.SpawnID, Token: m.Token})
}

// claim is the claim that a marker stands for. A time stamp that is missing or
// lies ahead of its host's clock counts as now.
func (m *Marker) claim(now int64, boot bootPoint) *Claim {
	at, there := m.Timestamp, now+boot.ahead(m.Host)
	if at <= 0 || at > there {
		at = there
	}
	c := &Claim{Token: m.Token, Worker: m.Worker, SpawnID: m.SpawnID, Host: m.Host, ClaimedAt: min(at, now)}
	if m.LeaseMs > 0 {
		c.LeaseMs, c.LeaseUntil = m.LeaseMs, at+m.LeaseMs
		if m.BootID != "" && m.BootMs > 0 {
			c.BootID, c.BootMs = m.BootID, m.BootMs+m.LeaseMs
		}
	}
	return c
}

// gateFor fixes the gate of a claim: the task's own, else that of the role.
func (t *tx) gateFor(task *Task, m *Marker, w *Worker) *Gate {
	g := &Gate{Command: task.Verify, Source: "task", TimeoutMs: task.VerifyTimeoutMs, Cwd: w.Cwd, Host: m.Host}
	if g.Command == "" {
		g.Command, g.Source = t.b.roleGate(w), "agent"
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

// project is the directory that gates run in by default.
func (b *Board) project(h *head) string {
	if b.o.Project != "" {
		return b.o.Project
	}
	return h.Project
}

// completed reports whether a dependency is completed; a missing one is not.
func (s *snapshot) completed(id string) bool {
	i, there := s.find(number(id))
	return there && s.lines[i].status() == completed
}

// unmet returns the dependencies of a task that are not completed.
func (s *snapshot) unmet(task *Task) []string {
	var out []string
	for _, id := range task.DependsOn {
		if !s.completed(id) {
			out = append(out, id)
		}
	}
	return out
}

// isBlocked reports whether a task has an unmet dependency.
func (s *snapshot) isBlocked(task *Task) bool {
	for _, id := range task.DependsOn {
		if !s.completed(id) {
			return true
		}
	}
	return false
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
	return true, t.run(nil)
}
