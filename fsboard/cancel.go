package fsboard

import (
	"context"
	"sort"

	"github.com/seed6990a682/teams/internal/errs"
)

// Cancel ends tasks that are not completed; with cascade also all that wait
// for them, directly or not. A submission of a cancelled claim is dropped. It
// returns the cancelled tasks; one that is cancelled already is left as it is.
func (b *Board) Cancel(ctx context.Context, id, reason string, cascade bool) ([]*TaskView, error) {
	if err := checkText("reason", reason, MaxResult); err != nil {
		return nil, err
	}
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
	list, _, err := v.Tasks(Filter{IDs: appendNew(ids, id)}, 0)
	return list, err
}

// cancelled lists the tasks that a cancel concerns, in numeric order. What
// waits for a task that is completed does not wait for what that waited for.
func (t *tx) cancelled(id string, cascade bool) ([]string, error) {
	ids, seen := []string{id}, map[string]bool{id: true}
	var waiters map[string][]string
	if cascade {
		var err error
		if waiters, err = t.snap.waiters(); err != nil {
			return nil, corrupt(t.b.Path(), err)
		}
	}
	for i := 0; i < len(ids); i++ {
		if t.snap.completed(ids[i]) {
			continue
		}
		for _, d := range waiters[ids[i]] {
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
	var blocked []string
	err := b.updateSeizing(ctx, change{
		plan: func(t *tx) ([]string, error) {
			blocked = nil
			if !t.snap.completed(id) {
				return nil, nil
			}
			var err error
			if blocked, err = t.snap.dependents(id); err != nil {
				return nil, corrupt(t.b.Path(), err)
			}
			return blocked, nil
		},
		apply: func(t *tx) error {
			task, err := t.need(id)
			if err != nil {
				return err
			}
			if !task.Status.Terminal() {
				return errs.New(errs.Conflict, "%s is %s, only an ended task can be reopened", id, task.Status).WithHint("teams task show %s", id)
			}
			// What it depends on may have been archived along with it.
			for _, d := range task.DependsOn {
				if _, there := t.snap.find(number(d)); !there {
					if _, err := t.restore(d); err != nil {
						return err
					}
				}
			}
			if task, err = t.edit(id); err != nil {
				return err
			}
			task.toPending()
			task.Attempt, task.NotBefore, task.CompletedAt = 0, 0, 0
			task.Result, task.ErrorMessage = "", ""
			t.note(Event{Event: EventReopened, Task: id, Epoch: task.Epoch, By: Leader})
			return t.raise(blocked) // one that is claimed goes on
		},
	})
	if err != nil {
		return nil, err
	}
	return b.Show(id)
}
