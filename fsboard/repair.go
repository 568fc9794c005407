package fsboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"syscall"

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

	archived []string // tasks that only the archive says to be archived
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

// Repair rebuilds a snapshot that cannot be read, from history, archive,
// markers and what is whole of it, and keeps the broken file. A snapshot that
// can be read is left alone. The lost snapshot may have held one revision more
// than anything here shows, so epochs and the revision go up by two.
func (b *Board) Repair(ctx context.Context) (Repaired, error) {
	var r Repaired
	if err := fsx.CheckDir(b.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	if err := b.create(); err != nil {
		return r, err
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return r, err
	}
	defer lock.Unlock()
	s, broken, err := b.damage()
	if err != nil || broken == nil {
		return r, err
	}
	r.Needed = true
	if s != nil {
		// Its frame is whole: what history lacks of its events is not lost.
		t := b.newTx(s)
		b.report(t.settleOld())
	}
	rebuilt, err := b.rebuild(&r)
	if err != nil {
		return r, err
	}
	if r.Kept, err = b.keepBroken(); err != nil {
		return r, err
	}
	t := b.newTx(rebuilt)
	t.fresh = true // there is no revision to settle
	if err := t.believeMarkers(&r); err != nil {
		return r, err
	}
	t.note(Event{Event: EventRepaired, By: Leader, Message: broken.Error()})
	for _, id := range r.archived {
		t.note(Event{Event: EventArchived, Task: id, By: Leader, Reason: "repaired"})
	}
	// Every task is written to history as it stands now.
	for i := range rebuilt.lines {
		task := rebuilt.lines[i].task
		if task.Status == Pending {
			task.Epoch += 2
		}
		t.put(task)
		t.note(Event{Event: EventRepaired, Task: task.ID, Epoch: task.Epoch, By: Leader})
	}
	if err := t.commit(); err != nil {
		return r, err
	}
	r.Tasks = len(rebuilt.lines)
	b.report(t.cleanup())
	return r, nil
}

// damage returns what is wrong with the snapshot, nil when nothing is, and the
// snapshot if its frame can be read. What may be a passing failure is an
// error: it proves no damage.
func (b *Board) damage() (s *snapshot, broken, err error) {
	s, err = b.load()
	if errors.Is(err, fs.ErrPermission) {
		// The owner may have lost the right to read it; nothing else is wrong.
		if info, lerr := os.Lstat(b.Path()); lerr == nil && info.Mode().IsRegular() && os.Chmod(b.Path(), 0o600) == nil {
			s, err = b.load()
		}
	}
	switch {
	case err == nil && s == nil:
		return nil, nil, nil
	case err == nil:
		if broken, err = b.checkAge(s); broken != nil || err != nil {
			return nil, broken, err
		}
		if broken = s.checkTasks(); broken != nil {
			return s, broken, nil
		}
		return s, nil, nil
	case provesDamage(err):
		return nil, err, nil
	}
	return nil, nil, err
}

// provesDamage tells a file that is broken from one that cannot be read just
// now.
func provesDamage(err error) bool {
	return errs.CodeOf(err) == errs.Corrupt || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO)
}

// checkAge finds a snapshot that is older than its history.
func (b *Board) checkAge(s *snapshot) (broken, err error) {
	rev, _, err := b.lastEvent()
	if err != nil {
		return nil, err
	}
	return b.olderThan(s, rev), nil
}

// olderThan is the error for a snapshot that history is ahead of.
func (b *Board) olderThan(s *snapshot, rev int64) error {
	if rev <= s.head.Revision {
		return nil
	}
	return corrupt(b.Path(), fmt.Errorf("it is at revision %d, but history.jsonl is at %d: an older copy was put in its place", s.head.Revision, rev))
}

// checkTasks decodes every task and the events.
func (s *snapshot) checkTasks() error {
	for i := range s.lines {
		if _, err := s.at(i); err != nil {
			return errs.New(errs.Corrupt, "%w", err)
		}
	}
	if _, err := s.ownEvents(); err != nil {
		return errs.New(errs.Corrupt, "%w", err)
	}
	return nil
}

// remains is what is known of one task of a lost snapshot.
type remains struct {
	task *Task
	rev  int64 // of the newest record
	gone bool  // it was archived
	told bool  // and history says so
	old  *Task // as the archive has it, nil when it has not
}

// leftOut reports whether the task is in the archive and not in the snapshot.
func (l *remains) leftOut() bool { return l.gone && l.old != nil }

// rebuild makes a snapshot of the newest record of every task: in history, in
// the archive, or a whole line of the broken file.
func (b *Board) rebuild(r *Repaired) (*snapshot, error) {
	left := map[string]*remains{}
	rev := int64(0)
	s := newSnapshot(b.o.Project, b.o.Session)
	torn, err := b.scanHistory(func(e *Event) {
		rev = max(rev, e.Rev)
		for i := range e.Notices { // which may not be published yet
			s.head.NoticeRev = max(s.head.NoticeRev, e.Rev)
			s.head.NoticeAt = max(s.head.NoticeAt, e.Notices[i].at())
		}
		if e.Event == EventArchived && left[e.Task] != nil {
			l := left[e.Task]
			l.rev, l.gone, l.told = e.Rev, true, true
			return
		}
		if len(e.Record) == 0 {
			return
		}
		t, err := decodeTask(e.Record)
		if err != nil || t.ID != e.Task || !ValidID(t.ID) {
			r.Problems = append(r.Problems, fmt.Sprintf("history revision %d: its record of %s cannot be read", e.Rev, fsx.SafeLine(e.Task)))
			return
		}
		left[t.ID] = &remains{task: t, rev: e.Rev}
	})
	if err != nil {
		return nil, err
	}
	if torn > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d lines of history.jsonl cannot be read", torn))
	}
	torn, err = b.scanArchive(nil, func(l archiveLine) {
		rev = max(rev, l.Rev)
		have := left[l.Task.ID]
		if have == nil {
			have = new(remains)
			left[l.Task.ID] = have
		}
		have.old = l.Task
		if l.Rev > have.rev {
			have.rev, have.gone = l.Rev, true
		}
	})
	if err != nil {
		return nil, err
	}
	if torn > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d lines of archive.jsonl cannot be read", torn))
	}
	if data, err := fsx.ReadHead(b.readyPath(), 64); err == nil {
		rev = max(rev, readyRevision(data))
	}
	salvaged, err := b.salvage(left)
	switch {
	case errs.CodeOf(err) == errs.Corrupt: // no file of ours: nothing was in it
	case provesDamage(err):
		r.Problems = append(r.Problems, fmt.Sprintf("nothing of the broken file can be read: %v", err))
	case err != nil:
		return nil, err // it may be had the next time
	}
	s.head.Revision = max(rev, salvaged) + 1 // the commit adds one more
	for _, l := range left {
		// What the archive lost comes back.
		if l.task != nil && !l.leftOut() {
			s.put(l.task)
		}
	}
	if err := bringBack(s, left); err != nil {
		return nil, err
	}
	for id, l := range left {
		if l.task != nil && l.leftOut() && !l.told {
			r.archived = append(r.archived, id)
		}
	}
	slices.SortFunc(r.archived, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	next, err := b.highestID(s)
	s.head.NextTask = next + 1
	return s, err
}

// bringBack puts back what tasks of the snapshot depend on: a gc that died behind
// its archive lines has archived nothing, and somebody may have depended on
// such a task since.
func bringBack(s *snapshot, left map[string]*remains) error {
	for i := 0; i < len(s.lines); i++ {
		task, err := s.at(i)
		if err != nil {
			return err
		}
		for _, id := range task.DependsOn {
			l := left[id]
			if _, there := s.find(number(id)); there || l == nil || !l.leftOut() {
				continue
			}
			if l.task == nil {
				l.task = l.old
			}
			l.gone = false
			s.put(l.task)
			i = -1 // it may depend on others, and lines have moved
		}
	}
	return nil
}

// salvage uses the lines of the broken file that are whole, unless history is
// newer than the file, and returns the revision that the file names. One that
// names none is as old as anything: its lines only fill gaps.
func (b *Board) salvage(left map[string]*remains) (int64, error) {
	data, err := fsx.ReadFile(b.Path(), maxSnapshot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	rev, _ := revisionOf(data[:min(len(data), headSize)])
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		l, err := parseLine(bytes.TrimSuffix(row, []byte(",")))
		if err != nil {
			continue
		}
		t, err := l.decode()
		if have := left[taskID(l.num)]; err == nil && (have == nil || rev >= have.rev) {
			left[t.ID] = &remains{task: t, rev: rev}
		}
	}
	return rev, nil
}

// believeMarkers grants the claims that only markers show: those of an epoch
// that history has not got to, since the lost snapshot may have opened it, and
// those of the present epoch of a pending task. A submission whose token
// history has never seen is of a claim that only the lost snapshot held.
func (t *tx) believeMarkers(r *Repaired) error {
	all, unreadable, err := t.b.markers("claims")
	if err != nil {
		return err
	}
	t.b.report(unreadable...)
	believe := func(f *found, epoch int64) {
		task, err := t.snap.task(f.id)
		if err != nil || task == nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%s: its task %s is not in history", f.path, f.id))
			return
		}
		c := task.clone()
		if old := c.Claim; old != nil {
			t.note(Event{Event: EventReleased, Task: c.ID, Epoch: c.Epoch, Worker: old.Worker, SpawnID: old.SpawnID, Token: old.Token, Reason: "repaired", By: Leader})
		}
		if c.Status != Pending {
			c.toPending()
		}
		c.Epoch, c.UpdatedAt, c.CompletedAt = epoch, t.now, 0
		w := t.b.o.Roster.Lookup(f.marker.Worker, f.marker.SpawnID)
		t.grant(c, f.marker, &w)
		t.put(c)
	}
	for i := range all {
		f := &all[i]
		if f.marker == nil || f.marker.Worker == Leader || f.marker.Epoch == nil {
			continue // the next fold sees to it
		}
		task, err := t.snap.task(f.id)
		epoch := *f.marker.Epoch
		if err == nil && task != nil && (epoch < task.Epoch || epoch == task.Epoch && task.Status != Pending) {
			continue
		}
		believe(f, epoch)
		t.stale = append(t.stale, f.path)
	}
	return t.believeSubmissions(believe)
}

func (t *tx) believeSubmissions(believe func(*found, int64)) error {
	all, unreadable, err := t.b.markers("submissions")
	if err != nil || len(all) == 0 {
		return err
	}
	t.b.report(unreadable...)
	seen := map[string]bool{}
	if _, err := t.b.scanHistory(func(e *Event) { seen[e.Token] = true }); err != nil {
		return err
	}
	for i := range all {
		f := &all[i]
		if f.marker == nil || f.marker.Worker == Leader || f.marker.foreign || seen[f.marker.Token] {
			continue
		}
		task, err := t.snap.task(f.id)
		if err == nil && task != nil && task.Status == Pending {
			believe(f, task.Epoch)
		}
	}
	return nil
}

// keepBroken puts a copy of the broken snapshot aside, keeping the newest
// maxBroken. What is no file is moved there itself.
func (b *Board) keepBroken() (string, error) {
	info, err := os.Lstat(b.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var data []byte
	if info.Mode().IsRegular() {
		if data, err = fsx.ReadFile(b.Path(), maxSnapshot); err != nil {
			data = nil // its bytes cannot be had: the file itself is moved
		}
	}
	name := "board.json.broken-" + fsx.Now().UTC().Format("20060102T150405.000")
	for n := 0; ; n++ {
		kept := b.path(name)
		if n > 0 {
			kept = b.path(fmt.Sprintf("%s-%02d", name, n))
		}
		if data != nil {
			err = fsx.Publish(kept, data)
		} else {
			err = fsx.Move(b.Path(), kept)
		}
		if errors.Is(err, fs.ErrExist) && n < 99 {
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
