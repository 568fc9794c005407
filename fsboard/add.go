package fsboard

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// NewTask is what a task is added from. In DependsOn of a batch, the key of an
// earlier entry stands for its id.
type NewTask struct {
	Subject         string   `json:"subject"`
	Description     string   `json:"description,omitempty"`
	DependsOn       []string `json:"dependsOn,omitempty"`
	Verify          string   `json:"verify,omitempty"`
	VerifyTimeoutMs *int64   `json:"verifyTimeoutMs,omitempty"` // nil: 10 min
	Priority        *int     `json:"priority,omitempty"`        // nil: 2
	Role            string   `json:"role,omitempty"`
	Assignee        string   `json:"assignee,omitempty"`
	Tags            []string `json:"tags,omitempty"`
	MaxAttempts     *int     `json:"maxAttempts,omitempty"` // nil: 3
	Key             string   `json:"key,omitempty"`         // adding the same key again returns the task that has it
	CreatedBy       string   `json:"-"`
}

// Add adds tasks, all of them or none. A task whose key is taken is returned
// as it stands, as known.
func (b *Board) Add(ctx context.Context, tasks ...NewTask) ([]*TaskView, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	tasks = slices.Clone(tasks)
	for i := range tasks {
		if err := tasks[i].check(); err != nil {
			return nil, nth(err, i, len(tasks))
		}
	}
	var ids []string
	var added map[string]bool
	_, err := b.update(ctx, true, func(t *tx) error {
		ids, added = nil, map[string]bool{}
		keys := map[string]string{}
		for i := range tasks {
			id, known, err := t.add(&tasks[i], keys)
			if err != nil {
				return nth(err, i, len(tasks))
			}
			ids = append(ids, id)
			added[id] = added[id] || !known
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	out := make([]*TaskView, 0, len(ids))
	for _, id := range ids {
		t, err := v.show(id) // a key may be that of an archived task
		if err != nil {
			return nil, err
		}
		t.Known = !added[id]
		out = append(out, t)
	}
	return out, nil
}

// nth says which task of a batch an error is about.
func nth(err error, i, n int) error {
	if n == 1 {
		return err
	}
	if e, ok := err.(*Error); ok {
		c := *e
		c.Msg = fmt.Sprintf("task %d of %d: %s", i+1, n, e.Msg)
		return &c
	}
	return fmt.Errorf("task %d of %d: %w", i+1, n, err)
}

// add stores one new task and returns its id, or that of the task that is known
// by its key.
func (t *tx) add(n *NewTask, keys map[string]string) (id string, known bool, err error) {
	if n.Key != "" {
		id, ok := keys[n.Key]
		if !ok {
			if id, err = t.findKey(n.Key); err != nil {
				return "", false, err
			}
		}
		if id != "" {
			keys[n.Key] = id
			return id, true, nil
		}
	}
	id = taskID(t.snap.head.NextTask)
	deps := make([]string, 0, len(n.DependsOn))
	for _, d := range n.DependsOn {
		if known, ok := keys[d]; ok {
			d = known
		}
		deps = append(deps, d)
	}
	if err := t.checkKnown(id, deps); err != nil {
		return "", false, err
	}
	t.snap.head.NextTask++
	task := newTask()
	task.ID, task.Status, task.Subject, task.Description, task.DependsOn = id, Pending, n.Subject, n.Description, deps
	task.Verify, task.Role, task.Assignee, task.Tags, task.Key = n.Verify, n.Role, n.Assignee, n.Tags, n.Key
	task.CreatedAt, task.UpdatedAt, task.CreatedBy = t.now, t.now, n.CreatedBy
	if task.CreatedBy == "" {
		task.CreatedBy = Leader
	}
	if n.VerifyTimeoutMs != nil {
		task.VerifyTimeoutMs = *n.VerifyTimeoutMs
	}
	if n.Priority != nil {
		task.Priority = *n.Priority
	}
	if n.MaxAttempts != nil {
		task.MaxAttempts = *n.MaxAttempts
	}
	t.put(task)
	t.note(Event{Event: EventAdded, Task: id, By: task.CreatedBy})
	if n.Key != "" {
		keys[n.Key] = id
	}
	return id, false, nil
}

// findKey returns the id of the task with an idempotency key, archived ones
// included; "" when there is none.
func (t *tx) findKey(key string) (string, error) {
	enc, err := encodeJSON(key)
	if err != nil {
		return "", err
	}
	text := append([]byte(`"key":`), enc...)
	for i := range t.snap.lines {
		l := &t.snap.lines[i]
		if !l.mentions(text) {
			continue
		}
		task, err := t.snap.at(i)
		if err != nil {
			return "", corrupt(t.b.Path(), err)
		}
		if task.Key == key {
			return task.ID, nil
		}
	}
	return t.archivedKey(key)
}

// check refuses fields that a task cannot have.
func (n *NewTask) check() error {
	n.Subject = strings.TrimSpace(n.Subject)
	if err := checkSubject(n.Subject); err != nil {
		return err
	}
	if err := checkText("description", n.Description, MaxDescription); err != nil {
		return err
	}
	if err := checkText("verify", n.Verify, 64<<10); err != nil {
		return err
	}
	if err := checkText("key", n.Key, 256); err != nil {
		return err
	}
	if ValidID(n.Key) {
		return errs.New(errs.Usage, "the key %q has the form of a task id", n.Key)
	}
	if n.VerifyTimeoutMs != nil && *n.VerifyTimeoutMs < 0 {
		return errs.New(errs.Usage, "the verify timeout is negative")
	}
	if n.Priority != nil && (*n.Priority < 0 || *n.Priority > 4) {
		return errs.New(errs.Usage, "the priority %d is not 0 to 4", *n.Priority)
	}
	if n.MaxAttempts != nil && *n.MaxAttempts < 1 {
		return errs.New(errs.Usage, "max-attempts is %d, it must be at least 1", *n.MaxAttempts)
	}
	return checkRouting(n.Role, n.Assignee, n.Tags)
}

func checkRouting(role, assignee string, tags []string) error {
	for _, h := range []string{role, assignee} {
		if h != "" {
			if err := fsx.CheckHandle(h); err != nil {
				return err
			}
		}
	}
	if len(tags) > MaxDependsOn {
		return errs.New(errs.Usage, "%d tags are too many, at most %d are allowed", len(tags), MaxDependsOn)
	}
	for i, tag := range tags {
		if tag == "" || len(tag) > 64 || strings.ContainsAny(tag, ", \t\n") || !plainText(tag) {
			return errs.New(errs.Usage, "%q is no tag: 1 to 64 bytes without white space, commas and control characters", tag)
		}
		if slices.Contains(tags[:i], tag) {
			return errs.New(errs.Usage, "the tag %s stands twice", tag)
		}
	}
	return nil
}

func checkSubject(s string) error {
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return errs.New(errs.Usage, "the subject is not UTF-8")
	case n == 0:
		return errs.New(errs.Usage, "the subject is empty").WithHint(`teams task add "Fix the login page"`)
	case n > MaxSubjectRunes:
		return errs.New(errs.Usage, "the subject has %d characters, at most %d are allowed", n, MaxSubjectRunes).
			WithHint("put the rest into the description: -d -, from stdin")
	case strings.ContainsAny(s, "\r\n"):
		return errs.New(errs.Usage, "the subject has more than one line").WithHint("put the rest into the description: -d -, from stdin")
	}
	return nil
}

func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return errs.New(errs.Usage, "the %s has %d bytes, at most %d are allowed", what, len(s), limit)
	case !utf8.ValidString(s):
		return errs.New(errs.Usage, "the %s is not UTF-8", what)
	case bytes.IndexByte([]byte(s), 0) >= 0:
		return errs.New(errs.Usage, "the %s has a NUL byte", what)
	}
	return nil
}

// plainText reports whether s is UTF-8 without control characters.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
