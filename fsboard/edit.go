package fsboard

import (
	"context"
	"slices"
	"strings"

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

// Edit changes a task. A pending one gets a new epoch; a claimed one keeps its
// holder and its gate, unless it is assigned to somebody else, which releases
// it. An archived one comes back.
func (b *Board) Edit(ctx context.Context, id string, e Edit) (*TaskView, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	err := b.decidingFirst(ctx, id, func() error {
		return b.updateSeizing(ctx, change{
			plan:  func(t *tx) ([]string, error) { return []string{id}, nil },
			apply: func(t *tx) error { return t.applyEdit(id, &e) },
		})
	})
	if err != nil {
		return nil, err
	}
	return b.Show(id)
}

// need returns a task of the snapshot, brought back from the archive if it
// has to be.
func (t *tx) need(id string) (*Task, error) {
	task, err := t.snap.task(id)
	if err != nil {
		return nil, corrupt(t.b.Path(), err)
	}
	if task == nil {
		task, err = t.restore(id)
	}
	if task == nil && err == nil {
		err = t.b.unknownTask(id)
	}
	return task, err
}

func (t *tx) applyEdit(id string, e *Edit) error {
	old, err := t.snap.task(id)
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	if old == nil { // an edit that changes nothing brings nothing back
		if old, err = t.b.archived(id); err != nil {
			return err
		}
		if old == nil {
			return t.b.unknownTask(id)
		}
	}
	task := old.clone()
	fields := e.applyTo(task)
	if len(fields) == 0 {
		return nil
	}
	if _, err := t.need(id); err != nil {
		return err
	}
	if slices.Contains(fields, "key") && task.Key != "" {
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
	reassigned := task.Status == Claimed && slices.Contains(fields, "assignee") && task.Assignee != "" && task.Assignee != task.ClaimedBy
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
		n.Subject = strings.TrimSpace(*e.Subject)
		e.Subject = &n.Subject
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
