package fsboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// tx is one lock section over the snapshot. Changes are made in memory, then
// committed at once; markers are removed only after the snapshot that makes
// them superfluous is on disk.
type tx struct {
	b    *Board
	snap *snapshot
	now  int64 // wall clock, epoch ms
	boot bootPoint

	events  []Event
	touched map[int64]bool // tasks that were put or dropped since the last commit
	fresh   bool           // the board has no file yet

	stale  []string        // marker files to remove after the commit
	reject []rejection     // files to move to rejected/ after the commit
	seized map[string]bool // claim markers taken in the leader's name
	taken  map[string]bool // submission markers taken in the leader's name
	told   []Event         // every event committed in this section
	skip   map[string]bool // markers that are dealt with and wait for their removal
}

// update runs fn in a lock section, after a fold, and commits what changed.
// When fn fails nothing of it is committed.
func (b *Board) update(ctx context.Context, create bool, fn func(*tx) error) ([]Event, error) {
	if err := b.checkPresent(create); err != nil {
		return nil, err
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	t, err := b.begin(create)
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := t.fold(); err != nil {
		return nil, err
	}
	if fn != nil {
		if err := fn(t); err != nil {
			return nil, errors.Join(err, t.release())
		}
	}
	if err := t.commit(); err != nil {
		return nil, errors.Join(err, t.release())
	}
	return t.told, t.cleanup()
}

// errNoBoard is what writers other than Add and Import say of a board without
// state.
func (b *Board) errNoBoard() error {
	return errs.New(errs.NoSession, "the board has no tasks yet").WithPath(b.o.Dir).
		WithHint("teams task add SUBJECT adds the first")
}

// checkPresent makes the directories, or refuses when there are none.
func (b *Board) checkPresent(create bool) error {
	h, err := b.readHead()
	if err != nil {
		return err
	}
	if h == nil && !create {
		return b.errNoBoard()
	}
	if h == nil {
		if err := b.create(); err != nil {
			return err
		}
	}
	return b.checkDirs()
}

// begin loads the snapshot; the caller holds the lock.
func (b *Board) begin(create bool) (*tx, error) {
	s, err := b.reload()
	if err != nil {
		return nil, err
	}
	t := &tx{
		b: b, now: fsx.Now().UnixMilli(), boot: bootNow(),
		touched: map[int64]bool{}, seized: map[string]bool{}, taken: map[string]bool{}, skip: map[string]bool{},
	}
	if s == nil {
		if !create {
			return nil, b.errNoBoard()
		}
		s = newSnapshot(b.o.Project, b.o.Session)
		t.fresh = true
		if s.head.NextTask, err = b.highestID(s); err != nil {
			return nil, err
		}
		s.head.NextTask++
	}
	if s.head.Format > Format {
		return nil, errs.New(errs.Failure, "it has format %d, and this version of teams writes format %d", s.head.Format, Format).
			WithPath(b.Path()).WithHint("use the version of teams that wrote it")
	}
	s.head.Format = Format
	t.snap = s
	return t, nil
}

// end keeps the snapshot for the next user of this Board.
func (t *tx) end() {
	if t.snap == nil || len(t.touched) > 0 || len(t.events) > 0 {
		return // it has changes that were not committed
	}
	t.b.keep(t.snap)
}

// bootNow is the present point of the boot clock; without one no lease can be
// measured by it.
func bootNow() bootPoint {
	d, err := fsx.BootClock()
	if err != nil {
		return bootPoint{}
	}
	return bootPoint{BootID: fsx.BootID(), Ms: d.Milliseconds()}
}

// task returns a task for reading; a missing one is an error.
func (t *tx) task(id string) (*Task, error) {
	task, err := t.snap.task(id)
	if err != nil {
		return nil, corrupt(t.b.Path(), err)
	}
	if task == nil {
		return nil, t.b.unknownTask(id)
	}
	return task, nil
}

func (b *Board) unknownTask(id string) *Error {
	e := errs.New(errs.NotFound, "there is no task %s", fsx.SafeLine(id)).WithHint("teams task list shows the tasks")
	if !ValidID(id) {
		e.Msg = fmt.Sprintf("there is no task %q: task ids look like t_12", id)
	}
	return e
}

// edit returns a copy of a task that is stored when the section commits.
func (t *tx) edit(id string) (*Task, error) {
	old, err := t.task(id)
	if err != nil {
		return nil, err
	}
	c := old.clone()
	c.UpdatedAt = t.now
	t.put(c)
	return c, nil
}

func (t *tx) put(task *Task) {
	num, _ := taskNumber(task.ID)
	t.snap.put(task)
	t.touched[num] = true
}

// note records an event of the revision that is being made.
func (t *tx) note(e Event) { t.events = append(t.events, e) }

// commit writes the snapshot if anything changed: first what history lacks of
// the revision before, then the snapshot, then what may be done again.
func (t *tx) commit() error {
	if len(t.touched) == 0 && len(t.events) == 0 {
		t.checkReady()
		return nil
	}
	s := t.snap
	if !t.fresh {
		old, err := t.b.peekCommitted(s)
		if err != nil {
			return err
		}
		if err := t.b.settle(old); err != nil {
			return err
		}
	}
	before := s.head.Revision
	s.head.Revision++
	s.head.UpdatedAt = t.now
	if s.head.Project == "" {
		s.head.Project = t.b.o.Project
	}
	if s.head.Session == "" {
		s.head.Session = t.b.o.Session
	}
	for i := range t.events {
		e := &t.events[i]
		e.Rev, e.N, e.Of, e.At, e.Time = s.head.Revision, i+1, len(t.events), t.now, stamp(t.now)
	}
	var err error
	if s.events, err = encodeJSON(t.events); err != nil {
		return err
	}
	if err := t.recount(); err != nil {
		return corrupt(t.b.Path(), err)
	}
	parts, err := s.encode()
	if err != nil {
		return err
	}
	if err := fsx.ReplaceParts(t.b.Path(), parts); err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	t.fresh = false
	// From here on everything is on disk. The history and the ready list are
	// completed by the next writer when they cannot be written now.
	if rows, err := s.historyLines(t.events); err == nil {
		_ = fsx.Append(t.b.historyPath(), rows, false)
	}
	t.writeReady(before)
	t.told = append(t.told, t.events...)
	t.events = nil
	clear(t.touched)
	return s.committed(parts)
}

// committed makes the lines clean again, so that the snapshot can be used on.
func (s *snapshot) committed(parts [][]byte) error {
	for i := range s.lines {
		s.lines[i].raw, s.lines[i].dirty = parts[1+2*i], false
	}
	return nil
}

// peekCommitted returns the snapshot as it is on disk, for the records of the
// events that history lacks. Tasks that this section changed are read from
// the bytes that were loaded.
func (b *Board) peekCommitted(s *snapshot) (*snapshot, error) {
	old := &snapshot{head: s.head, events: s.events}
	own, err := s.ownEvents()
	if err != nil {
		return nil, corrupt(b.Path(), err)
	}
	seen := map[int64]bool{}
	for _, e := range own {
		num, ok := taskNumber(e.Task)
		if !ok || seen[num] {
			continue
		}
		seen[num] = true
		i, ok := s.find(num)
		if !ok || s.lines[i].raw == nil {
			continue
		}
		old.lines = append(old.lines, line{num: num, raw: s.lines[i].raw})
	}
	sort.Slice(old.lines, func(i, j int) bool { return old.lines[i].num < old.lines[j].num })
	return old, nil
}

// recount brings the head's due times and holders up to date. Tasks that can
// have neither are not decoded.
func (t *tx) recount() error {
	h := &t.snap.head
	h.Due, h.DueBoot, h.LeaseDue, h.Holders, h.HolderSpawns = 0, nil, 0, []string{}, nil
	claimed, backoff := []byte(`"status":"claimed"`), []byte(`"notBefore":`)
	for i := range t.snap.lines {
		l := &t.snap.lines[i]
		if !l.mentions(claimed) && !l.mentions(backoff) {
			continue
		}
		task, err := l.decode()
		if err != nil {
			return err
		}
		h.count(task, t.boot)
	}
	sort.Strings(h.Holders)
	return nil
}

// count adds one task to the head's due times and holders.
func (h *head) count(task *Task, boot bootPoint) {
	soonest := func(at *int64, v int64) {
		if v > 0 && (*at == 0 || v < *at) {
			*at = v
		}
	}
	switch {
	case task.Status == Pending:
		soonest(&h.Due, task.NotBefore)
	case task.Status == Claimed && task.Claim != nil:
		c := task.Claim
		if _, known := h.HolderSpawns[c.Worker]; !known {
			h.Holders = append(h.Holders, c.Worker)
			if h.HolderSpawns == nil {
				h.HolderSpawns = map[string][]string{}
			}
		}
		h.HolderSpawns[c.Worker] = appendNew(h.HolderSpawns[c.Worker], c.SpawnID)
		soonest(&h.Due, c.LeaseUntil)
		switch {
		case c.LeaseUntil == 0:
		case c.BootID != "" && c.BootID == boot.BootID:
			if h.DueBoot == nil {
				h.DueBoot = &bootPoint{BootID: boot.BootID}
			}
			soonest(&h.DueBoot.Ms, c.BootMs)
		default:
			soonest(&h.LeaseDue, c.LeaseUntil)
		}
	}
}

func appendNew(list []string, v string) []string {
	for _, have := range list {
		if have == v {
			return list
		}
	}
	return append(list, v)
}

// cleanup removes markers that the committed snapshot made superfluous. What
// cannot be removed is found by the next fold, so it is reported but hurts
// nobody.
func (t *tx) cleanup() error {
	var problems []error
	for _, path := range t.stale {
		problems = append(problems, fsx.Remove(path))
	}
	t.stale = nil
	for _, r := range t.reject {
		problems = append(problems, t.b.moveRejected(r))
	}
	t.reject = nil
	clear(t.skip)
	return errors.Join(errors.Join(problems...), t.release())
}

// release removes the markers taken in the leader's name.
func (t *tx) release() error {
	var problems []error
	for id := range t.seized {
		problems = append(problems, fsx.Remove(t.b.claimPath(id)))
	}
	for id := range t.taken {
		problems = append(problems, fsx.Remove(t.b.submissionPath(id)))
	}
	clear(t.seized)
	clear(t.taken)
	return errors.Join(problems...)
}

// reload reads the snapshot under the lock, or uses the one this Board read or
// wrote last when line 1 and size are still the same.
func (b *Board) reload() (*snapshot, error) {
	b.mu.Lock()
	c := b.cache
	b.cache = nil
	b.mu.Unlock()
	if c != nil {
		first, err := fsx.ReadHead(b.Path(), len(c.line1))
		if err == nil && string(first) == c.line1 {
			return c.snap, nil
		}
	}
	return b.load()
}

// keep remembers a clean snapshot for reload.
func (b *Board) keep(s *snapshot) {
	for i := range s.lines {
		if s.lines[i].dirty || s.lines[i].raw == nil {
			return
		}
	}
	first, err := s.head.line()
	if err != nil || bytes.IndexByte(first, '\n') < 0 {
		return
	}
	b.mu.Lock()
	b.cache = &cached{line1: string(first), snap: s}
	b.mu.Unlock()
}
