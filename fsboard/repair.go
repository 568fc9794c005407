package fsboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// maxBroken is how many broken snapshots repair keeps.
const maxBroken = 5

// Repaired says what a repair did.
type Repaired struct {
	Needed   bool
	Kept     string   // where the broken snapshot lies now
	Tasks    int      // how many tasks were restored
	Problems []string // what could not be restored
}

// highestID returns the highest task number that anything of this board names.
func (b *Board) highestID(s *snapshot) (int64, error) {
	var last int64
	if s != nil {
		last = s.head.NextTask - 1
		if n := len(s.lines); n > 0 {
			last = max(last, s.lines[n-1].num)
		}
	}
	see := func(id string) {
		if n, ok := taskNumber(id); ok {
			last = max(last, n)
		}
	}
	if _, err := b.scanArchive(nil, func(l archiveLine) { see(l.Task.ID) }); err != nil {
		return 0, err
	}
	if _, err := b.scanHistory(func(e *Event) { see(e.Task) }); err != nil {
		return 0, err
	}
	for _, dir := range []string{"claims", "submissions", "gates"} {
		names, err := fsx.List(b.path(dir))
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			id, _, _ := strings.Cut(name, ".")
			see(id)
		}
	}
	return last, nil
}

// scanHistory calls fn for every readable line of the history and counts the
// others.
func (b *Board) scanHistory(fn func(*Event)) (torn int, err error) {
	data, err := fsx.ReadFile(b.historyPath(), maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read history: %w", err)
	}
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		if len(row) == 0 {
			continue
		}
		var e Event
		if err := json.Unmarshal(row, &e); err != nil || e.Rev == 0 {
			torn++
			continue
		}
		fn(&e)
	}
	return torn, nil
}

// Repair rebuilds a snapshot that cannot be read, from history, archive and
// markers, and keeps the broken file. A snapshot that can be read is left
// alone. The lost snapshot may have held one revision more than anything here
// shows, so epochs and the revision go up by two.
func (b *Board) Repair(ctx context.Context) (Repaired, error) {
	var r Repaired
	if err := fsx.CheckDir(b.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return r, err
	}
	defer lock.Unlock()
	s, broken := b.load()
	if broken == nil && s != nil {
		broken = b.checkAge(s)
		if broken == nil {
			broken = s.checkTasks()
		}
	}
	if broken == nil {
		return r, nil
	}
	if errs.CodeOf(broken) != errs.Corrupt {
		return r, broken // it could not be read at all: that is no proof of damage
	}
	r.Needed = true
	rebuilt, err := b.rebuild(s, &r)
	if err != nil {
		return r, err
	}
	if r.Kept, err = b.keepBroken(); err != nil {
		return r, err
	}
	t := &tx{b: b, snap: rebuilt, now: fsx.Now().UnixMilli(), boot: bootNow(), fresh: true,
		touched: map[int64]bool{}, seized: map[string]bool{}, taken: map[string]bool{}, skip: map[string]bool{}}
	if err := b.create(); err != nil {
		return r, err
	}
	if err := t.believeMarkers(); err != nil {
		return r, err
	}
	for i := range rebuilt.lines {
		if task := rebuilt.lines[i].task; task.Status == Pending {
			task.Epoch += 2
		}
	}
	t.note(Event{Event: EventRepaired, By: Leader, Message: broken.Error()})
	// Every task is written to history as it stands now.
	for i := range rebuilt.lines {
		id := taskID(rebuilt.lines[i].num)
		t.touched[rebuilt.lines[i].num] = true
		t.note(Event{Event: EventRepaired, Task: id, Epoch: rebuilt.lines[i].task.Epoch, By: Leader})
	}
	if err := t.commit(); err != nil {
		return r, err
	}
	r.Tasks = len(rebuilt.lines)
	return r, t.cleanup()
}

// checkAge finds a snapshot that is older than its history.
func (b *Board) checkAge(s *snapshot) error {
	rev, _, err := b.lastEvent()
	if err != nil {
		return err
	}
	if rev > s.head.Revision {
		return corrupt(b.Path(), fmt.Errorf("it is at revision %d, but history.jsonl is at %d", s.head.Revision, rev))
	}
	return nil
}

// checkTasks decodes every task.
func (s *snapshot) checkTasks() error {
	for i := range s.lines {
		if _, err := s.lines[i].decode(); err != nil {
			return errs.New(errs.Corrupt, "%w", err)
		}
	}
	return nil
}

// rebuild makes a snapshot of the last record of every task. A task whose last
// event archived it stays in the archive. What can still be read of the broken
// snapshot (salvage, may be nil) is used where it is newer.
func (b *Board) rebuild(salvage *snapshot, r *Repaired) (*snapshot, error) {
	s := newSnapshot(b.o.Project, b.o.Session)
	last := map[string]*Task{}
	gone := map[string]bool{}
	rev := int64(0)
	torn, err := b.scanHistory(func(e *Event) {
		rev = max(rev, e.Rev)
		if e.Event == EventArchived {
			gone[e.Task] = true
			return
		}
		if len(e.Record) == 0 {
			return
		}
		t := new(Task)
		if err := json.Unmarshal(e.Record, t); err != nil || t.ID != e.Task || !ValidID(t.ID) {
			r.Problems = append(r.Problems, fmt.Sprintf("history revision %d: its record of %s cannot be read", e.Rev, e.Task))
			return
		}
		last[t.ID], gone[t.ID] = t, false
	})
	if err != nil {
		return nil, err
	}
	if torn > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d lines of history.jsonl cannot be read", torn))
	}
	b.salvageLines(salvage, last, gone, &rev)
	torn, err = b.scanArchive(nil, func(l archiveLine) { rev = max(rev, l.Rev) })
	if err != nil {
		return nil, err
	}
	if torn > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d lines of archive.jsonl cannot be read", torn))
	}
	if data, err := fsx.ReadHead(b.readyPath(), 64); err == nil {
		var n int64
		if _, err := fmt.Sscanf(string(data), readyMagic+"%d", &n); err == nil {
			rev = max(rev, n)
		}
	}
	s.head.Revision = rev + 1 // the commit adds one more
	for id, t := range last {
		if !gone[id] {
			s.put(t)
		}
	}
	next, err := b.highestID(s)
	s.head.NextTask = next + 1
	return s, err
}

// salvageLines uses the task lines of a broken snapshot that are whole, where
// history has nothing as new.
func (b *Board) salvageLines(s *snapshot, last map[string]*Task, gone map[string]bool, rev *int64) {
	if s != nil {
		*rev = max(*rev, s.head.Revision)
	}
	data, err := fsx.ReadFile(b.Path(), maxSnapshot)
	if err != nil {
		return
	}
	if n, ok := revisionOf(data[:min(len(data), headSize)]); ok {
		*rev = max(*rev, n)
	}
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		l, err := parseLine(bytes.TrimSuffix(row, []byte(",")))
		if err != nil {
			continue
		}
		t, err := l.decode()
		if err != nil || t.ID != taskID(l.num) {
			continue
		}
		if old := last[t.ID]; gone[t.ID] || old != nil && (old.UpdatedAt > t.UpdatedAt || old.Epoch > t.Epoch) {
			continue
		}
		last[t.ID] = t
	}
}

// believeMarkers grants every claim marker of a pending task whose epoch is not
// behind what history shows: the lost snapshot may have opened that epoch.
func (t *tx) believeMarkers() error {
	all, unreadable, err := t.b.markers("claims", time.UnixMilli(t.now))
	if err != nil {
		return err
	}
	t.b.report(unreadable)
	for i := range all {
		f := &all[i]
		if f.marker == nil || f.marker.Worker == Leader {
			continue
		}
		task, err := t.snap.task(f.id)
		if err != nil || task == nil || task.Status != Pending || f.marker.Epoch == nil || *f.marker.Epoch < task.Epoch {
			continue
		}
		c := task.clone()
		c.Epoch, c.UpdatedAt = *f.marker.Epoch, t.now
		t.put(c)
		t.grant(c, f.marker)
		t.stale = append(t.stale, f.path)
	}
	return nil
}

// keepBroken moves the broken snapshot aside, keeping the newest maxBroken.
func (b *Board) keepBroken() (string, error) {
	if _, err := os.Lstat(b.Path()); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	name := "board.json.broken-" + fsx.Now().UTC().Format("20060102T150405.000")
	for n := 0; ; n++ {
		kept := b.path(name)
		if n > 0 {
			kept = b.path(fmt.Sprintf("%s-%d", name, n))
		}
		err := fsx.Move(b.Path(), kept)
		if errors.Is(err, fs.ErrExist) && n < 100 {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep broken board: %w", err)
		}
		return kept, b.trimBroken()
	}
}

func (b *Board) trimBroken() error {
	names, err := fsx.List(b.o.Dir)
	if err != nil {
		return err
	}
	var broken []string
	for _, name := range names {
		if strings.HasPrefix(name, "board.json.broken-") {
			broken = append(broken, name)
		}
	}
	sort.Strings(broken)
	for _, name := range broken[:max(len(broken)-maxBroken, 0)] {
		if err := os.RemoveAll(b.path(name)); err != nil {
			return err
		}
	}
	return nil
}
