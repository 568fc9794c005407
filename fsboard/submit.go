package fsboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// SubmitRequest hands in the outcome of a claimed task.
type SubmitRequest struct {
	ID      string
	Worker  string
	SpawnID string
	Status  string // completed (also when empty) or failed
	Result  string
	NoWait  bool // return when the submission is durable
}

// SubmitResult says what became of a submission.
type SubmitResult struct {
	Task       *TaskView
	Submission string
	Verdict    string   // a Verdict constant
	Outcome    string   // an Outcome constant; empty while it waits
	Queued     bool     // it is on disk and not decided yet
	Waiting    string   // why nobody here can decide it
	Ready      []string // tasks that became ready through it
	Receipt    *Receipt // of the gate run for it
}

// Submit publishes the submission and, unless NoWait is set, sees to its
// verdict: it waits for a live harness, or decides by itself. A failed gate is
// no error; the result's Outcome tells.
func (b *Board) Submit(ctx context.Context, r SubmitRequest) (*SubmitResult, error) {
	switch r.Status {
	case "":
		r.Status = "completed"
	case "completed", "failed":
	default:
		return nil, errs.New(errs.Usage, "a submission is completed or failed, not %q", r.Status)
	}
	if len(r.Result) > MaxResult {
		return nil, errs.New(errs.Usage, "the result has %d bytes, at most %d are taken", len(r.Result), MaxResult).
			WithHint("put it in a file and name the file in the result")
	}
	h, err := b.readHead()
	switch {
	case err != nil:
		return nil, err
	case h == nil:
		return nil, b.unknownTask(r.ID)
	case h.Format > Format:
		return nil, b.tooNew(h.Format)
	}
	if err := b.create(); err != nil {
		return nil, err
	}
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, done, err := b.publishSubmission(ctx, &r)
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if done != nil {
			return done, nil
		}
		if r.NoWait {
			res, err := b.outcome(r.ID, id)
			if err == nil && res.Outcome == "" {
				res.Queued = true
			}
			return res, err
		}
		return b.await(ctx, r.ID, id)
	}
	return nil, errs.New(errs.Busy, "the submission marker changed during every try").WithPath(b.submissionPath(r.ID))
}

// publishSubmission is one try to put the submission on disk. It returns its
// id, or the result when it had been decided before.
func (b *Board) publishSubmission(ctx context.Context, r *SubmitRequest) (string, *SubmitResult, error) {
	v, err := b.viewOf(r.ID)
	if err != nil {
		return "", nil, err
	}
	t, err := v.show(r.ID)
	if err != nil {
		return "", nil, err
	}
	if t.answered(r) {
		// It was killed between its link and its answer: this is the answer.
		res, err := b.outcome(r.ID, t.LastSubmission.ID)
		return "", res, err
	}
	if err := heldBy(&t.Task, r.Worker, r.SpawnID); err != nil {
		return "", nil, b.explainLoss(r, t, err)
	}
	if b.o.Roster.Lookup(r.Worker, r.SpawnID).Life == LifeReplaced {
		return "", nil, errs.New(errs.StaleIdentity, "%s has another spawn id now: this one is over", r.Worker).
			WithHint("teams list shows who is there")
	}
	if m := v.submissions[r.ID]; m != nil && t.counts(m) {
		return m.Submission, nil, nil // its own waits already
	}
	m := &Marker{
		TaskID: r.ID, Worker: r.Worker, SpawnID: r.SpawnID, Status: r.Status, Result: r.Result,
		Timestamp: fsx.Now().UnixMilli(), Submission: fsx.RandomID(), Token: t.Claim.Token, PID: os.Getpid(), Host: fsx.Host(),
	}
	err = publishMarker(b.submissionPath(r.ID), m)
	if errors.Is(err, fs.ErrExist) {
		return "", nil, b.clearSubmission(ctx, r.ID)
	}
	if err != nil {
		return "", nil, fmt.Errorf("submit %s: %w", r.ID, err)
	}
	// The second look: its submission counts when the claim still carries its
	// token, as stored or as its own marker of the present epoch, or when it
	// has been decided.
	if v, err = b.viewOf(r.ID); err != nil {
		return "", nil, err
	}
	if t, err = v.show(r.ID); err != nil {
		return "", nil, err
	}
	if t.Status == Claimed && t.Claim != nil && t.Claim.Token == m.Token || t.decided(m) {
		return m.Submission, nil, nil
	}
	return "", nil, b.explainLoss(r, t, heldBy(&t.Task, r.Worker, r.SpawnID))
}

// answered reports whether the last decision on the task is the answer to a
// request that is made once more.
func (t *TaskView) answered(r *SubmitRequest) bool {
	ls := t.LastSubmission
	if ls == nil || t.Status == Claimed || ls.Worker != r.Worker || ls.SpawnID != r.SpawnID || ls.Status != r.Status {
		return false
	}
	switch ls.Outcome {
	case OutcomeCompleted:
		return t.Status == Completed
	case OutcomeFailed:
		return t.Attempt > 0 && (t.Status == Pending || t.Status == Failed) // not reopened since
	}
	return false
}

// clearSubmission removes a submission marker that is in the way: one in the
// leader's name, or one that can never count. It returns errAgain when the
// submitter may try again.
func (b *Board) clearSubmission(ctx context.Context, id string) error {
	_, err := b.update(ctx, false, func(t *tx) error {
		_, _, err := t.waiting(id)
		return err
	})
	if err != nil {
		return err
	}
	return errAgain
}

// explainLoss makes the refusal of a submitter that does not hold the task say
// how it lost the claim, if it ever had it.
func (b *Board) explainLoss(r *SubmitRequest, t *TaskView, refusal *Error) error {
	if refusal == nil {
		refusal = errs.New(errs.StaleClaim, "the claim on %s changed meanwhile", r.ID).WithHint("teams claim --mine shows what you hold")
	}
	end := b.claimEnd(r)
	if end == nil {
		return refusal
	}
	var how string
	switch end.Reason {
	case "lease_over":
		how = end.Message
	case "":
		how = fmt.Sprintf("it was %s at %s", end.Event, end.Time)
	default:
		how = fmt.Sprintf("it ended at %s (%s)", end.Time, fsx.SafeLine(end.Reason))
	}
	now, hint := "is "+string(t.State), "teams task why "+r.ID
	switch {
	case t.Status == Claimed:
		now, hint = "is held by "+t.ClaimedBy, "teams claim"
	case t.State == StateReady:
		hint = claimHint(&t.Task, r.Worker)
	case t.Status.Terminal():
		hint = "teams log " + r.ID
	}
	return errs.New(errs.StaleClaim, "the claim of %s on %s is over: %s; the task %s now", r.Worker, r.ID, how, now).
		WithHint("%s", hint).WithDetail("holder", t.ClaimedBy).WithDetail("endedAt", end.At).WithDetail("reason", end.Reason)
}

// claimEnd returns the event by which the worker's last claim of the task ended
// without a decision; nil when there is none.
func (b *Board) claimEnd(r *SubmitRequest) *Event {
	events, _, err := b.History(HistoryFilter{Task: r.ID})
	if err != nil {
		return nil
	}
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		if e.Worker != r.Worker || e.SpawnID != r.SpawnID {
			continue
		}
		switch e.Event {
		case EventReleased, EventCancelled:
			return e
		case EventClaimed, EventCompleted, EventFailed:
			return nil
		}
	}
	return nil
}

// harnessLook is how often a waiting submitter tests whether a harness lives.
const harnessLook = time.Second

// await waits for the verdict on a submission, deciding by itself when no
// harness lives.
func (b *Board) await(ctx context.Context, id, submission string) (*SubmitResult, error) {
	var asked time.Time
	live := false
	path := b.submissionPath(id)
	ours, there := identify(path)
	for {
		if now := time.Now(); now.Sub(asked) >= harnessLook {
			live, asked = b.o.HarnessLive(), now
		}
		if !live {
			d, err := b.Decide(ctx, id)
			if err != nil {
				return nil, err
			}
			if d.Waiting != "" {
				res, err := b.outcome(id, submission)
				if err == nil && res.Outcome == "" {
					res.Queued, res.Waiting = true, d.Waiting
				}
				return res, err
			}
		}
		if now, still := identify(path); !there || !still || now != ours {
			m, err := readMarker(path, id)
			if errors.Is(err, errVanished) || err == nil && m.Submission != submission {
				// The marker goes only after its decision is on disk.
				return b.settled(id, submission)
			}
			ours, there = now, still
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settled tells what became of a submission whose marker is gone.
func (b *Board) settled(id, submission string) (*SubmitResult, error) {
	res, err := b.outcome(id, submission)
	if err != nil || res.Outcome != "" {
		return res, err
	}
	// Another one was decided after it, of the same worker: history knows.
	events, _, err := b.History(HistoryFilter{Task: id})
	if err != nil {
		return nil, err
	}
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Submission == submission && e.Event != EventDropped {
			res.Outcome, res.Verdict = e.Event, e.Verdict
			if res.Verdict == "" {
				res.Verdict = VerdictNone
			}
			return res, nil
		}
	}
	return nil, errs.New(errs.StaleClaim, "the submission for %s was dropped: its claim is over", id).WithHint("teams log %s", id)
}

// outcome tells what the board holds about a submission.
func (b *Board) outcome(id, submission string) (*SubmitResult, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	t, err := v.show(id)
	if err != nil {
		return nil, err
	}
	res := &SubmitResult{Task: t, Submission: submission, Verdict: VerdictNone}
	if t.LastSubmission == nil || t.LastSubmission.ID != submission {
		return res, nil
	}
	if t.LastSubmission.Outcome == OutcomeDropped {
		return nil, errs.New(errs.StaleClaim, "the submission for %s was dropped: the task is %s", id, t.State).WithHint("teams log %s", id)
	}
	res.Outcome = t.LastSubmission.Outcome
	if g := t.LastGate; g != nil && g.Submission == submission {
		res.Verdict, res.Receipt = g.Verdict, g
	}
	if res.Outcome == OutcomeCompleted {
		res.Ready, err = v.readyAfter(id)
	}
	return res, err
}

// readyAfter lists the ready tasks that depend on a task.
func (v *View) readyAfter(id string) ([]string, error) {
	dependents, err := v.snap.dependents(id)
	if err != nil {
		return nil, corrupt(v.b.Path(), err)
	}
	var out []string
	for _, d := range dependents {
		t, err := v.Task(d)
		if err != nil {
			return nil, err
		}
		if t != nil && t.State == StateReady {
			out = append(out, d)
		}
	}
	return out, nil
}
