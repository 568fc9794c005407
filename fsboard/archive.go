package fsboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// archiveLine is one line of archive.jsonl: the task as it was stored, and the
// revision in which it left the snapshot.
type archiveLine struct {
	Rev  int64 `json:"rev"`
	Task *Task `json:"task"`
}

// readArchive returns the bytes of the archive, nil when there is none.
func (b *Board) readArchive() ([]byte, error) {
	data, err := fsx.ReadFile(b.archivePath(), maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return data, nil
}

// scanArchive calls fn for every readable line that may hold text, oldest
// first, and counts those that cannot be read.
func (b *Board) scanArchive(text []byte, fn func(archiveLine)) (torn int, err error) {
	data, err := b.readArchive()
	if err != nil {
		return 0, err
	}
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		if len(row) == 0 || text != nil && !bytes.Contains(row, text) {
			continue
		}
		var l archiveLine
		if err := json.Unmarshal(row, &l); err != nil || l.Task == nil || !ValidID(l.Task.ID) {
			torn++
			continue
		}
		fn(l)
	}
	return torn, nil
}

// archived returns a task from the archive, nil when it is not there. The last
// line of an id counts.
func (b *Board) archived(id string) (*Task, error) {
	if !ValidID(id) {
		return nil, nil
	}
	var found *Task
	_, err := b.scanArchive([]byte(`"id":"`+id+`"`), func(l archiveLine) {
		if l.Task.ID == id {
			found = l.Task
		}
	})
	return found, err
}

// archivedView is archived for display.
func (b *Board) archivedView(id string) (*TaskView, error) {
	t, err := b.archived(id)
	if err != nil || t == nil {
		return nil, err
	}
	return &TaskView{Task: *t, State: State(t.Status), Archived: true}, nil
}

// archivedKey returns the id of the archived task that has an idempotency key.
// The last line of an id counts, and none does when the task is back in the
// snapshot.
func (t *tx) archivedKey(key string) (string, error) {
	enc, err := encodeJSON(key)
	if err != nil {
		return "", err
	}
	var ids []string
	_, err = t.b.scanArchive(append([]byte(`"key":`), enc...), func(l archiveLine) {
		if l.Task.Key == key {
			ids = appendNew(ids, l.Task.ID)
		}
	})
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if _, back := t.snap.find(number(id)); back {
			continue
		}
		last, err := t.b.archived(id)
		if err != nil {
			return "", err
		}
		if last != nil && last.Key == key {
			return id, nil
		}
	}
	return "", nil
}

// Archived returns the archived tasks that are not in the snapshot, in the
// order in which they were archived.
func (b *Board) Archived() ([]*TaskView, error) {
	s, err := b.load()
	if err != nil || s == nil {
		return nil, err
	}
	last := map[string]*Task{}
	var order []string
	_, err = b.scanArchive(nil, func(l archiveLine) {
		if last[l.Task.ID] == nil {
			order = append(order, l.Task.ID)
		}
		last[l.Task.ID] = l.Task
	})
	if err != nil {
		return nil, err
	}
	var out []*TaskView
	for _, id := range order {
		if _, there := s.find(number(id)); !there {
			out = append(out, &TaskView{Task: *last[id], State: State(last[id].Status), Archived: true})
		}
	}
	return out, nil
}

// restore brings an archived task back into the snapshot; nil when there is
// none. Its line in the archive stays: the snapshot wins.
func (t *tx) restore(id string) (*Task, error) {
	task, err := t.b.archived(id)
	if err != nil || task == nil {
		return nil, err
	}
	t.put(task)
	t.note(Event{Event: EventRestored, Task: id, Epoch: task.Epoch, By: Leader})
	return task, nil
}

// Collected says what Collect moved or removed, or would.
type Collected struct {
	Archived []string // task ids
	Removed  []string // gate logs and rejected files
}

// Collect moves terminal tasks that ended at least age ago, and that no task
// left in the snapshot depends on, to the archive, and removes gate logs and
// rejected files of that age. With dryRun it only tells.
func (b *Board) Collect(ctx context.Context, age time.Duration, dryRun bool) (Collected, error) {
	var c Collected
	h, err := b.readHead()
	if err != nil || h == nil {
		return c, err
	}
	if dryRun {
		s, err := b.load()
		if err != nil {
			return c, err
		}
		if c.Archived, err = s.collectable(fsx.Now().UnixMilli(), age); err != nil {
			return c, corrupt(b.Path(), err)
		}
	} else {
		_, err := b.update(ctx, false, func(t *tx) error {
			ids, err := t.snap.collectable(t.now, age)
			if err != nil {
				return corrupt(t.b.Path(), err)
			}
			c.Archived = ids
			return t.archive(ids)
		})
		if err != nil {
			return c, err
		}
	}
	c.Removed, err = b.collectFiles(age, dryRun)
	return c, err
}

// collectable lists the terminal tasks that ended at least age ago and that
// nothing left depends on. An end that lies ahead counts as now.
func (s *snapshot) collectable(now int64, age time.Duration) ([]string, error) {
	old := make([]bool, len(s.lines))
	var kept []int // tasks that stay and whose dependencies stay with them
	for i := range s.lines {
		t, err := s.at(i)
		if err != nil {
			return nil, err
		}
		old[i] = t.Status.Terminal() && min(max(t.UpdatedAt, t.CompletedAt), now) <= now-age.Milliseconds()
		if !old[i] {
			kept = append(kept, i)
		}
	}
	for len(kept) > 0 {
		t, err := s.at(kept[len(kept)-1])
		if err != nil {
			return nil, err
		}
		kept = kept[:len(kept)-1]
		for _, d := range t.DependsOn {
			if i, there := s.find(number(d)); there && old[i] {
				old[i] = false
				kept = append(kept, i)
			}
		}
	}
	var ids []string
	for i := range s.lines {
		if old[i] {
			ids = append(ids, taskID(s.lines[i].num))
		}
	}
	return ids, nil
}

// archive moves tasks to the archive: its lines are on disk before the
// snapshot without the tasks is.
func (t *tx) archive(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var rows []byte
	for _, id := range ids {
		task, err := t.task(id)
		if err != nil {
			return err
		}
		row, err := encodeJSON(archiveLine{Rev: t.snap.head.Revision + 1, Task: task})
		if err != nil {
			return err
		}
		rows = append(append(rows, row...), '\n')
	}
	if err := fsx.Append(t.b.archivePath(), rows, true); err != nil {
		return fmt.Errorf("append archive: %w", err)
	}
	// Events of the revision before need the records of these tasks.
	if err := t.settleOld(); err != nil {
		return err
	}
	for _, id := range ids {
		t.drop(id)
		t.note(Event{Event: EventArchived, Task: id, By: Leader})
	}
	return nil
}

// collectFiles removes old gate logs and rejected files.
func (b *Board) collectFiles(age time.Duration, dryRun bool) ([]string, error) {
	var removed []string
	before := fsx.Now().Add(-age)
	for _, dir := range []string{"gates", "rejected"} {
		names, err := fsx.List(b.path(dir))
		if err != nil {
			return removed, err
		}
		for _, name := range names {
			if dir == "gates" && !strings.HasSuffix(name, ".log") {
				continue // locks are never deleted
			}
			path := b.path(dir, name)
			info, err := os.Lstat(path)
			if err != nil || info.ModTime().After(before) {
				continue
			}
			removed = append(removed, path)
			if dryRun {
				continue
			}
			if dir == "rejected" {
				err = os.RemoveAll(path) // it may be a directory
			} else {
				err = fsx.Remove(path)
			}
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}
