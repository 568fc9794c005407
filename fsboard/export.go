package fsboard

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sort"

	"github.com/seed6990a682/teams/internal/errs"
)

// Export writes the tasks of the snapshot, one a line, as they can be imported
// anywhere: a claimed one as pending, and without what only makes sense on
// this board (claim, epoch, gate, notBefore).
func (b *Board) Export(w io.Writer) error {
	s, err := b.load()
	if err != nil || s == nil {
		return err
	}
	for i := range s.lines {
		t, err := s.at(i)
		if err != nil {
			return corrupt(b.Path(), err)
		}
		row, err := t.portable()
		if err != nil {
			return err
		}
		if _, err := w.Write(append(row, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// portable is the exported form of a task.
func (t *Task) portable() ([]byte, error) {
	c := t.clone()
	if c.Status == Claimed {
		c.Status, c.ClaimedBy = Pending, ""
	}
	c.Claim, c.Gate, c.NotBefore, c.Epoch, c.GateFailures = nil, nil, 0, 0, 0
	row, err := c.encode()
	if err != nil {
		return nil, err
	}
	return bytes.Replace(row, []byte(`,"epoch":0`), nil, 1), nil
}

// Skipped is a task that an import leaves alone.
type Skipped struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Imported says what an import did, or would do.
type Imported struct {
	Imported []string  `json:"imported"`
	Skipped  []Skipped `json:"skipped"`
	DryRun   bool      `json:"dryRun"`
}

// Import takes exported tasks over, all or none. It skips claimed tasks, those
// that are newer here, and ids that are another task here. Unless apply is set
// it only tells what it would do.
func (b *Board) Import(ctx context.Context, r io.Reader, apply bool) (Imported, error) {
	in, err := readExport(r)
	if err != nil {
		return Imported{}, err
	}
	var out Imported
	if !apply {
		err := b.preview(in, &out)
		return out, err
	}
	var todo []*Task
	var blocked []string
	err = b.updateSeizing(ctx, change{
		create: true,
		plan: func(t *tx) ([]string, error) {
			out = Imported{}
			var err error
			if todo, err = t.importable(in, &out); err != nil {
				return nil, err
			}
			if blocked, err = t.blockedBy(todo); err != nil {
				return nil, err
			}
			return append(slices.Clone(out.Imported), blocked...), nil
		},
		apply: func(t *tx) error {
			if err := t.raise(blocked); err != nil {
				return err
			}
			if err := t.checkImport(todo); err != nil {
				return err
			}
			for _, task := range todo {
				t.note(Event{Event: EventImported, Task: task.ID, Epoch: task.Epoch, By: Leader})
			}
			return nil
		},
	})
	if err != nil {
		return Imported{}, err
	}
	return out, nil
}

// preview says what an import would do. It folds and changes in memory only.
func (b *Board) preview(in []*Task, out *Imported) error {
	out.DryRun = true
	v, err := b.View()
	if err != nil {
		return err
	}
	t := b.newTx(v.snap)
	for id := range v.claims {
		task, err := v.Task(id)
		if err != nil {
			return err
		}
		if task != nil && task.Status == Claimed {
			t.put(&task.Task)
		}
	}
	todo, err := t.importable(in, out)
	if err != nil {
		return err
	}
	return t.checkImport(todo)
}

// readExport decodes and checks the lines of an export.
func readExport(r io.Reader) ([]*Task, error) {
	data, err := readAtMost(r, maxSnapshot)
	if err != nil {
		return nil, err
	}
	var tasks []*Task
	seen := map[string]bool{}
	n := 0
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		n++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		t := new(Task)
		if err := json.Unmarshal(row, t); err != nil {
			return nil, errs.New(errs.Usage, "line %d: %w", n, err)
		}
		if err := t.checkImported(); err != nil {
			return nil, errs.New(errs.Usage, "line %d: %w", n, err)
		}
		if seen[t.ID] {
			return nil, errs.New(errs.Usage, "line %d: %s stands twice", n, t.ID)
		}
		seen[t.ID] = true
		tasks = append(tasks, t)
	}
	sort.Slice(tasks, func(i, j int) bool { return less(tasks[i].ID, tasks[j].ID) })
	return tasks, nil
}

// readAtMost reads all there is, up to a limit.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errs.New(errs.Usage, "the export is larger than %d bytes", limit)
	}
	return data, err
}

// checkImported refuses a task that this board could not have written.
func (t *Task) checkImported() error {
	if !ValidID(t.ID) {
		return errs.New(errs.Usage, "%q is no task id", t.ID)
	}
	switch t.Status {
	case Claimed:
		t.Status, t.ClaimedBy = Pending, ""
	case Pending, Completed, Failed, Cancelled:
	default:
		return errs.New(errs.Usage, "%q is no status", t.Status)
	}
	t.Claim, t.Gate, t.NotBefore, t.GateFailures = nil, nil, 0, 0
	n := NewTask{
		Subject: t.Subject, Description: t.Description, Verify: t.Verify, VerifyTimeoutMs: &t.VerifyTimeoutMs, Priority: &t.Priority,
		MaxAttempts: &t.MaxAttempts, Role: t.Role, Assignee: t.Assignee, Tags: t.Tags, Key: t.Key,
	}
	return n.check()
}

// importable sorts out which tasks of an import are taken.
func (t *tx) importable(in []*Task, out *Imported) ([]*Task, error) {
	out.Imported, out.Skipped = []string{}, []Skipped{}
	var todo []*Task
	for _, task := range in {
		have, err := t.snap.task(task.ID)
		if err != nil {
			return nil, corrupt(t.b.Path(), err)
		}
		if have == nil {
			if have, err = t.b.archived(task.ID); err != nil {
				return nil, err
			}
		}
		reason := ""
		switch {
		case have == nil:
		case have.CreatedAt != task.CreatedAt:
			reason = "another task has this id here"
		case have.Status == Claimed:
			reason = "it is claimed here by " + have.ClaimedBy
		case have.UpdatedAt > task.UpdatedAt:
			reason = "it is newer here"
		default:
			same, err := have.samePortable(task)
			if err != nil {
				return nil, err
			}
			if same {
				reason = "it is the same here"
			}
		}
		if reason != "" {
			out.Skipped = append(out.Skipped, Skipped{ID: task.ID, Reason: reason})
			continue
		}
		c := task.clone()
		c.Epoch = 0
		if have != nil {
			c.Epoch = have.Epoch + 1
			c.GateRuns = max(c.GateRuns, have.GateRuns)
		}
		out.Imported = append(out.Imported, c.ID)
		todo = append(todo, c)
	}
	return todo, nil
}

// blockedBy lists the tasks that an import blocks again, because what they wait
// for was completed here and is not in the import.
func (t *tx) blockedBy(todo []*Task) ([]string, error) {
	var out []string
	imported := map[string]bool{}
	for _, task := range todo {
		imported[task.ID] = true
	}
	for _, task := range todo {
		have, err := t.snap.task(task.ID)
		if err != nil {
			return nil, corrupt(t.b.Path(), err)
		}
		if have == nil || have.Status != Completed || task.Status == Completed {
			continue
		}
		dependents, err := t.snap.dependents(task.ID)
		if err != nil {
			return nil, corrupt(t.b.Path(), err)
		}
		for _, d := range dependents {
			if !imported[d] {
				out = appendNew(out, d)
			}
		}
	}
	return out, nil
}

// raise opens a new epoch of each of the tasks that was taken as pending.
func (t *tx) raise(ids []string) error {
	for _, id := range ids {
		if !t.seized[id] {
			continue
		}
		task, err := t.edit(id)
		if err != nil {
			return err
		}
		task.Epoch++
		t.note(Event{Event: EventEdited, Task: id, Epoch: task.Epoch, By: Leader, Reason: "dependency_reopened"})
	}
	return nil
}

func (t *Task) samePortable(o *Task) (bool, error) {
	a, err := t.portable()
	if err != nil {
		return false, err
	}
	b, err := o.portable()
	return bytes.Equal(a, b), err
}

// checkImport puts the tasks in place and checks their dependencies together.
func (t *tx) checkImport(todo []*Task) error {
	for _, task := range todo {
		t.put(task)
		t.snap.head.NextTask = max(t.snap.head.NextTask, number(task.ID)+1)
	}
	if last, err := t.b.highestID(t.snap); err != nil {
		return err
	} else if last >= t.snap.head.NextTask {
		t.snap.head.NextTask = last + 1
	}
	for _, task := range todo {
		if err := t.checkDeps(task.ID, task.DependsOn); err != nil {
			return err
		}
	}
	return nil
}
