package fsboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Decision says what became of a submission.
type Decision struct {
	ID         string // the task
	Submission string // empty: there was none
	Outcome    string // one of the Outcome constants; empty: not decided
	Receipt    *Receipt
	Waiting    string // why it has to wait, when it has to
	Events     []Event
}

// Decide decides the waiting submission of a task: it runs the gate that was
// fixed at claim time, outside the board lock, and applies the verdict to the
// very submission it was run for. Without a waiting submission it does nothing.
// An error leaves the submission on disk, so that it is decided again.
func (b *Board) Decide(ctx context.Context, id string) (Decision, error) {
	d, need, err := b.settleSubmission(ctx, id, nil)
	if err != nil || need == nil {
		if err == nil && d.Waiting == "" {
			b.report(b.endLeftRunOf(ctx, id)) // of a decider that died behind its decision
		}
		return d, err
	}
	if g := need.task.Gate; g.Host != "" && g.Host != fsx.Host() {
		d.Waiting = fmt.Sprintf("its gate runs on host %s", g.Host)
		return d, nil
	}
	lock, err := fsx.Acquire(ctx, b.gateLock(id), 0)
	if err != nil {
		return d, err
	}
	defer lock.Unlock()
	// Whoever held the gate lock may have decided it meanwhile.
	if d, need, err = b.settleSubmission(ctx, id, nil); err != nil || need == nil {
		return d, err
	}
	receipt, err := b.runGate(ctx, need.task, need.task.Gate, need.marker, b.watchClaim(need.task))
	var foreign *foreignRun
	switch {
	case errors.As(err, &foreign):
		d.Waiting = foreign.Error()
		return d, nil
	case errors.Is(err, errGateMoot):
		d, _, err = b.settleSubmission(ctx, id, nil)
		return d, err
	case err != nil:
		return d, err
	}
	d, _, err = b.settleSubmission(ctx, id, &verdict{submission: need.marker.Submission, token: need.task.Claim.Token, receipt: receipt})
	// What is decided is decided: a run file that stays is found by the next.
	b.report(fsx.Remove(b.gateRunPath(id)))
	return d, err
}

// watchClaim returns a function that reports whether a task is still claimed
// under the same token. What cannot be read is no reason to end a gate.
func (b *Board) watchClaim(task *Task) func() bool {
	seen := int64(-1)
	return func() bool {
		rev, err := b.revision()
		if err != nil || rev == seen {
			return true // nothing was written since the last look
		}
		s, err := b.load()
		if err != nil || s == nil {
			return true
		}
		t, err := s.task(task.ID)
		if err != nil {
			return true
		}
		seen = s.head.Revision
		return t != nil && t.Claim != nil && t.Claim.Token == task.Claim.Token
	}
}

// verdict is the result of a gate for one submission.
type verdict struct {
	submission, token string
	receipt           Receipt
}

// gateNeeded is a submission that can be decided only after its gate.
type gateNeeded struct {
	task   *Task
	marker *Marker
}

// settleSubmission is the part of a decision under the board lock: it reads
// the marker again, drops what cannot count, decides what needs no gate, and
// applies a verdict to the submission that it was made for, nothing else.
func (b *Board) settleSubmission(ctx context.Context, id string, v *verdict) (Decision, *gateNeeded, error) {
	d := Decision{ID: id}
	var need *gateNeeded
	_, err := readMarker(b.submissionPath(id), id)
	var p *markerProblem
	switch {
	case errors.Is(err, errVanished):
		return d, nil, nil
	case errors.As(err, &p) && p.wait:
		d.Waiting = "it cannot be read yet: " + p.reason
		return d, nil, nil
	}
	events, err := b.update(ctx, false, func(t *tx) error {
		task, m, err := t.waiting(id)
		if errs.CodeOf(err) == errs.Conflict {
			d.Waiting = err.Error()
			return nil
		}
		if err != nil || m == nil {
			return err
		}
		d.Submission = m.Submission
		switch {
		case m.Status == "failed":
			d.Outcome = OutcomeFailed
			t.applyFailed(task, m)
		case task.Gate == nil:
			d.Outcome = OutcomeCompleted
			t.applyCompleted(task, m, nil)
		case v == nil:
			need = &gateNeeded{task: task.clone(), marker: m}
			return nil
		case v.submission != m.Submission || v.token != task.Claim.Token:
			return nil // the verdict was for another submission
		case v.receipt.Verdict == VerdictPassed:
			d.Outcome, d.Receipt = OutcomeCompleted, &v.receipt
			t.applyCompleted(task, m, &v.receipt)
		default:
			d.Outcome, d.Receipt = OutcomeGateFailed, &v.receipt
			t.applyGateFailed(task, m, &v.receipt)
		}
		t.stale = append(t.stale, b.submissionPath(id))
		return nil
	})
	d.Events = events
	if err != nil {
		return Decision{ID: id, Events: events}, nil, err
	}
	return d, need, nil
}

// waiting returns the submission of a task that counts, and the task. One that
// can never count is removed. The submission is read before the claim is
// folded: its claim was there before it.
func (t *tx) waiting(id string) (*Task, *Marker, error) {
	m, merr := readMarker(t.b.submissionPath(id), id)
	task, err := t.snap.task(id)
	if err != nil {
		return nil, nil, corrupt(t.b.Path(), err)
	}
	if task == nil {
		task = &Task{ID: id} // archived or never there: nothing can count
	}
	if task.Status == Pending {
		left, err := t.foldOne(id)
		if err != nil {
			return nil, nil, err
		}
		if left && merr == nil && m.Worker != Leader {
			return nil, nil, errs.New(errs.Conflict, "its claim cannot be folded yet").WithPath(t.b.claimPath(id)).WithHint("teams doctor")
		}
		if task, err = t.task(id); err != nil {
			return nil, nil, err
		}
	}
	m, err = t.judge(task, m, merr)
	return task, m, err
}

// finish records a decision on the task.
func (task *Task) finish(m *Marker, outcome string) {
	token := m.Token
	if task.Claim != nil {
		token = task.Claim.Token
	}
	status := m.Status
	if status == "" {
		status = "completed"
	}
	task.LastSubmission = &Decided{ID: m.Submission, Token: token, Worker: m.Worker, SpawnID: m.SpawnID, Status: status, Outcome: outcome}
}

func (t *tx) decision(event string, task *Task, m *Marker, r *Receipt) {
	e := Event{Event: event, Task: task.ID, Epoch: task.Epoch, Worker: m.Worker, SpawnID: m.SpawnID, Token: task.LastSubmission.Token, Submission: m.Submission}
	if r != nil {
		e.Run, e.Verdict, e.Receipt = r.Run, r.Verdict, r
	}
	if event == EventFailed {
		e.Reason = task.ErrorMessage
	}
	t.note(e)
}

func (t *tx) applyCompleted(stored *Task, m *Marker, r *Receipt) {
	task := stored.clone()
	task.finish(m, OutcomeCompleted)
	task.Status, task.ClaimedBy, task.Claim = Completed, m.Worker, nil
	task.Result, task.ErrorMessage = m.Result, ""
	task.CompletedAt, task.UpdatedAt = t.now, t.now
	task.NotBefore = 0
	if r != nil {
		task.GateRuns, task.LastGate = max(task.GateRuns, r.Run), r
	}
	t.put(task)
	t.decision(EventCompleted, task, m, r)
}

func (t *tx) applyGateFailed(stored *Task, m *Marker, r *Receipt) {
	task := stored.clone()
	task.finish(m, OutcomeGateFailed)
	task.UpdatedAt = t.now
	task.GateRuns, task.LastGate = max(task.GateRuns, r.Run), r
	task.ErrorMessage = r.Summary()
	if r.Verdict != VerdictCouldNotStart {
		task.GateFailures++
	}
	t.put(task)
	t.decision(EventGateFailed, task, m, r)
	switch {
	case r.Verdict == VerdictCouldNotStart:
		t.note(Event{Event: EventEscalation, Task: task.ID, Worker: m.Worker, Run: r.Run, Verdict: r.Verdict, Reason: "gate_could_not_start"})
	case task.GateFailures == t.b.o.GateRetries:
		t.note(Event{Event: EventEscalation, Task: task.ID, Worker: m.Worker, Run: r.Run, Verdict: r.Verdict, Reason: "gate_keeps_failing"})
	}
}

func (t *tx) applyFailed(stored *Task, m *Marker) {
	task := stored.clone()
	task.finish(m, OutcomeFailed)
	task.UpdatedAt = t.now
	task.Attempt++
	task.ErrorMessage = strings.TrimSpace(m.Result)
	if task.ErrorMessage == "" {
		task.ErrorMessage = "submitted as failed without a reason"
	}
	task.toPending()
	if task.Attempt < task.MaxAttempts {
		task.NotBefore = t.now + backoffMs(task.Attempt)
	} else {
		task.Status = Failed
	}
	t.put(task)
	t.decision(EventFailed, task, m, nil)
}

// Summary says in a few words how a gate run ended.
func (r *Receipt) Summary() string {
	switch r.Verdict {
	case VerdictPassed:
		return "gate passed"
	case VerdictTimedOut:
		return fmt.Sprintf("gate timed out after %s", (time.Duration(r.DurationMs) * time.Millisecond).Round(time.Second))
	case VerdictKilled:
		return "gate was killed by " + r.Signal
	case VerdictCouldNotStart:
		return "gate could not start: " + r.Reason
	}
	return fmt.Sprintf("gate failed with exit code %d", r.ExitCode)
}

// Waiting lists the tasks that have a file in submissions/, oldest first,
// whatever it holds: Decide sees to each of them.
func (b *Board) Waiting() ([]string, error) {
	ids, _, err := b.markerIDs("submissions")
	if err != nil || len(ids) < 2 {
		return ids, err
	}
	at := make(map[string]time.Time, len(ids))
	for _, id := range ids {
		if info, err := os.Lstat(b.submissionPath(id)); err == nil {
			at[id] = info.ModTime()
		}
	}
	sort.SliceStable(ids, func(i, j int) bool { return at[ids[i]].Before(at[ids[j]]) })
	return ids, nil
}

// unknownOrArchived explains why a task is not in the snapshot.
func (b *Board) unknownOrArchived(id string) error {
	t, err := b.archived(id)
	if err != nil {
		return err
	}
	if t == nil {
		return b.unknownTask(id)
	}
	return errs.New(errs.TaskEnded, "%s is %s and archived", id, t.Status).
		WithHint("teams task reopen %s brings it back", id).WithDetail("state", t.Status)
}
