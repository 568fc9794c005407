package fsboard

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Edit says what to change in a task; nil fields stay.
type Edit struct {
	Subject         *string
	Description     *string
	DependsOn       *[]string
	Verify          *string
	VerifyTimeoutMs *int64
	Priority        *int
	Role            *string
	Assignee        *string
	Tags            *[]string
	MaxAttempts     *int
	Key             *string
}

// change is a leader's write that may concern pending tasks. plan names, under
// the lock, the pending tasks that it will touch; apply makes the changes once
// their markers are taken.
type change struct {
	plan  func(*tx) ([]string, error)
	apply func(*tx) error
}

// maxSeize bounds the rounds of taking markers; each round in which a worker
// was first grants that worker its claim, so it ends by itself.
const maxSeize = 10_000

// updateSeizing runs a leader's write: it folds, takes the claim marker of each
// pending task it will touch in the leader's name, applies the change, commits,
// and removes those markers in the same lock section. A task that a worker was
// faster to claim is claimed by the fold and then treated so.
func (b *Board) updateSeizing(ctx context.Context, c change) error {
	_, err := b.update(ctx, false, func(t *tx) error {
		for range maxSeize {
			// What the fold refused must be gone before its place can be taken.
			if len(t.stale) > 0 || len(t.reject) > 0 {
				if err := t.flush(); err != nil {
					return err
				}
			}
			ids, err := c.plan(t)
			if err != nil {
				return err
			}
			again, err := t.seize(ids)
			if err != nil {
				return err
			}
			if !again {
				return c.apply(t)
			}
			if err := t.fold(); err != nil {
				return err
			}
		}
		return errs.New(errs.Busy, "markers of the tasks to change came in during every try").WithPath(b.o.Dir)
	})
	return err
}

// flush commits what was folded and removes its markers, keeping those that
// were taken in the leader's name.
func (t *tx) flush() error {
	if err := t.commit(); err != nil {
		return err
	}
	seized, taken := t.seized, t.taken
	t.seized, t.taken = map[string]bool{}, map[string]bool{}
	err := t.cleanup()
	t.seized, t.taken = seized, taken
	return err
}

// seize takes the claim markers of pending tasks in the leader's name. again
// says that a worker's marker was there.
func (t *tx) seize(ids []string) (again bool, err error) {
	for _, id := range ids {
		task, err := t.snap.task(id)
		if err != nil {
			return false, corrupt(t.b.Path(), err)
		}
		if task == nil || task.Status != Pending || t.seized[id] {
			continue
		}
		err = publishMarker(t.b.claimPath(id), t.leaderMarker(id))
		switch {
		case err == nil:
			t.seized[id] = true
		case errors.Is(err, fs.ErrExist):
			again = true
		default:
			return false, err
		}
	}
	if again {
		// A marker that does not parse yet, or that cannot be read, is waited
		// for by nobody: the leader's write is refused.
		return true, t.stuckMarker(ids)
	}
	return false, nil
}

// stuckMarker returns an error when a marker in the way cannot be folded.
func (t *tx) stuckMarker(ids []string) error {
	for _, id := range ids {
		if t.seized[id] {
			continue
		}
		_, err := readMarker(t.b.claimPath(id), id, time.UnixMilli(t.now))
		var p *markerProblem
		if errors.As(err, &p) && p.wait {
			return errs.New(errs.Conflict, "a claim marker that cannot be read yet stands in the way: %s", p.reason).
				WithPath(t.b.claimPath(id)).WithHint("try again in 30 s")
		}
		if err != nil && p == nil && !errors.Is(err, errVanished) {
			return err
		}
	}
	return nil
}

// Edit changes a task. A pending one gets a new epoch; a claimed one keeps its
// holder and its gate, unless it is assigned to somebody else, which releases
// it. An archived one comes back.
func (b *Board) Edit(ctx context.Context, id string, e Edit) (*TaskView, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	for range 100 {
		err := b.updateSeizing(ctx, change{
			plan: func(t *tx) ([]string, error) { return []string{id}, t.need(id) },
			apply: func(t *tx) error {
				return t.applyEdit(id, &e)
			},
		})
		if errors.Is(err, errDecideFirst) {
			if d, err := b.Decide(ctx, id); err != nil {
				return nil, err
			} else if d.Waiting != "" {
				return nil, errs.New(errs.Conflict, "a submission for %s waits and must be decided first: %s", id, d.Waiting)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		return b.show(id)
	}
	return nil, errs.New(errs.Busy, "submissions for %s came in during every try to reassign it", id)
}

// need makes sure that a task is in the snapshot, out of the archive if it has to.
func (t *tx) need(id string) error {
	task, err := t.snap.task(id)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if task != nil {
		return nil
	}
	if task, err = t.restore(id); err != nil {
		return err
	}
	if task == nil {
		return t.b.unknownTask(id)
	}
	return nil
}

func (t *tx) applyEdit(id string, e *Edit) error {
	old, err := t.task(id)
	if err != nil {
		return err
	}
	task := old.clone()
	fields := e.applyTo(task)
	if len(fields) == 0 {
		return nil
	}
	if e.Key != nil && task.Key != "" && slices.Contains(fields, "key") {
		other, err := t.findKey(task.Key)
		if err != nil {
			return err
		}
		if other != "" && other != id {
			return errs.New(errs.Conflict, "%s has the key %q already", other, task.Key)
		}
	}
	if slices.Contains(fields, "dependsOn") {
		if err := t.checkDeps(id, task.DependsOn); err != nil {
			return err
		}
	}
	task.UpdatedAt = t.now
	if task.Status == Pending {
		task.Epoch++
	}
	reassigned := task.Status == Claimed && task.Claim != nil && slices.Contains(fields, "assignee") && task.Assignee != "" && task.Assignee != task.Claim.Worker
	if reassigned {
		waiting, err := t.takeSubmission(old)
		if err != nil {
			return err
		}
		if waiting != nil {
			return errDecideFirst
		}
	}
	t.put(task)
	event := Event{Event: EventEdited, Task: id, Epoch: task.Epoch, By: Leader, Fields: fields}
	if task.Claim != nil {
		event.Worker, event.SpawnID = task.Claim.Worker, task.Claim.SpawnID // who is to be told
	}
	t.note(event)
	if reassigned {
		return t.giveUp(id, "reassigned", Leader)
	}
	return nil
}

// applyTo makes the changes and returns the names of the fields that differ.
func (e *Edit) applyTo(task *Task) []string {
	var fields []string
	text := func(name string, field *string, v *string) {
		if v != nil && *field != *v {
			*field = *v
			fields = append(fields, name)
		}
	}
	number := func(name string, field *int, v *int) {
		if v != nil && *field != *v {
			*field = *v
			fields = append(fields, name)
		}
	}
	list := func(name string, field *[]string, v *[]string) {
		if v != nil && !slices.Equal(*field, *v) {
			*field = slices.Clone(*v)
			fields = append(fields, name)
		}
	}
	text("subject", &task.Subject, e.Subject)
	text("description", &task.Description, e.Description)
	list("dependsOn", &task.DependsOn, e.DependsOn)
	text("verify", &task.Verify, e.Verify)
	if e.VerifyTimeoutMs != nil && task.VerifyTimeoutMs != *e.VerifyTimeoutMs {
		task.VerifyTimeoutMs = *e.VerifyTimeoutMs
		fields = append(fields, "verifyTimeoutMs")
	}
	number("priority", &task.Priority, e.Priority)
	text("role", &task.Role, e.Role)
	text("assignee", &task.Assignee, e.Assignee)
	list("tags", &task.Tags, e.Tags)
	number("maxAttempts", &task.MaxAttempts, e.MaxAttempts)
	text("key", &task.Key, e.Key)
	return fields
}

// check refuses values that a task cannot have.
func (e *Edit) check() error {
	n := NewTask{Subject: "x", VerifyTimeoutMs: e.VerifyTimeoutMs, Priority: e.Priority, MaxAttempts: e.MaxAttempts}
	if e.Subject != nil {
		*e.Subject = strings.TrimSpace(*e.Subject)
		n.Subject = *e.Subject
	}
	for _, f := range []struct{ to, from *string }{
		{&n.Description, e.Description}, {&n.Verify, e.Verify}, {&n.Role, e.Role}, {&n.Assignee, e.Assignee}, {&n.Key, e.Key},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if e.Tags != nil {
		n.Tags = *e.Tags
	}
	return n.check()
}

// Cancel ends tasks that are not completed; with cascade also all that depend
// on them. A submission of a cancelled claim is dropped. It returns the
// cancelled tasks; one that is cancelled already is left as it is.
func (b *Board) Cancel(ctx context.Context, id, reason string, cascade bool) ([]*TaskView, error) {
	var ids []string
	err := b.updateSeizing(ctx, change{
		plan: func(t *tx) ([]string, error) {
			task, err := t.snap.task(id)
			if err != nil {
				return nil, corrupt(t.b.Path(), err)
			}
			if task == nil {
				return nil, t.b.unknownOrArchived(id)
			}
			if task.Status == Completed {
				return nil, errs.New(errs.TaskEnded, "%s is completed", id).WithHint("teams task reopen %s makes it pending again", id)
			}
			ids, err = t.cancelled(id, cascade)
			return ids, err
		},
		apply: func(t *tx) error {
			for _, id := range ids {
				if err := t.applyCancel(id, reason); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	list, _, err := v.Tasks(Filter{IDs: append(ids, id)}, 0)
	return list, err
}

// cancelled lists the tasks that a cancel concerns, in numeric order.
func (t *tx) cancelled(id string, cascade bool) ([]string, error) {
	ids, seen := []string{id}, map[string]bool{id: true}
	for i := 0; cascade && i < len(ids); i++ {
		dependents, err := t.snap.dependents(ids[i])
		if err != nil {
			return nil, corrupt(t.b.Path(), err)
		}
		for _, d := range dependents {
			if !seen[d] {
				seen[d] = true
				ids = append(ids, d)
			}
		}
	}
	kept := ids[:0]
	for _, id := range ids {
		task, err := t.task(id)
		if err != nil {
			return nil, err
		}
		if task.Status != Completed && task.Status != Cancelled {
			kept = append(kept, id)
		}
	}
	sort.Slice(kept, func(i, j int) bool { return less(kept[i], kept[j]) })
	return kept, nil
}

func (t *tx) applyCancel(id, reason string) error {
	old, err := t.task(id)
	if err != nil {
		return err
	}
	e := Event{Event: EventCancelled, Task: id, By: Leader, Reason: reason}
	var dropped *Marker
	if old.Status == Claimed {
		if dropped, err = t.takeSubmission(old); err != nil {
			return err
		}
	}
	task, err := t.edit(id)
	if err != nil {
		return err
	}
	if c := task.Claim; c != nil {
		e.Worker, e.SpawnID, e.Token = c.Worker, c.SpawnID, c.Token
	}
	if dropped != nil {
		task.finish(dropped, OutcomeDropped)
	}
	task.toPending()
	task.Status, task.NotBefore = Cancelled, 0
	if reason != "" {
		task.ErrorMessage = reason
	}
	e.Epoch = task.Epoch
	t.note(e)
	if dropped != nil {
		t.decision(EventDropped, task, dropped, nil)
		t.stale = append(t.stale, t.b.submissionPath(id))
	}
	return nil
}

// Reopen makes an ended task pending again, an archived one included. What
// depends on a completed one is blocked again.
func (b *Board) Reopen(ctx context.Context, id string) (*TaskView, error) {
	var touched []string
	err := b.updateSeizing(ctx, change{
		plan: func(t *tx) ([]string, error) {
			if err := t.need(id); err != nil {
				return nil, err
			}
			task, err := t.task(id)
			if err != nil {
				return nil, err
			}
			if !task.Status.Terminal() {
				return nil, errs.New(errs.Conflict, "%s is %s, only an ended task can be reopened", id, task.Status).WithHint("teams task show %s", id)
			}
			touched = nil
			if task.Status == Completed {
				if touched, err = t.snap.dependents(id); err != nil {
					return nil, corrupt(t.b.Path(), err)
				}
			}
			return touched, nil
		},
		apply: func(t *tx) error {
			task, err := t.edit(id)
			if err != nil {
				return err
			}
			task.toPending()
			task.Attempt, task.NotBefore, task.CompletedAt = 0, 0, 0
			task.Result, task.ErrorMessage = "", ""
			t.note(Event{Event: EventReopened, Task: id, Epoch: task.Epoch, By: Leader})
			return t.raise(touched) // one that is claimed goes on
		},
	})
	if err != nil {
		return nil, err
	}
	return b.show(id)
}
