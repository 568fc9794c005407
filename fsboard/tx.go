package fsboard

import (
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
	touched map[int64]statusCode // what was put or dropped since the last commit, and its status before
	fresh   bool                 // the board has no file yet

	stale  []string        // marker files to remove after the commit
	reject []rejection     // files to move to rejected/ after the commit
	seized map[string]bool // claim markers taken in the leader's name
	taken  map[string]bool // submission markers taken in the leader's name
	told   []Event         // every event committed in this section
	skip   map[string]bool // markers that are dealt with and wait for their removal

	epochless bool // a marker without an epoch is among the stale
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
	err = t.run(fn)
	return t.told, err
}

// run is a lock section after its beginning.
func (t *tx) run(fn func(*tx) error) error {
	err := t.fold()
	if err == nil && t.epochless {
		// Were it still there after a release, it would be granted again.
		err = t.flush()
	}
	if err == nil && fn != nil {
		err = fn(t)
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		t.b.report(t.release())
		return err
	}
	// What cannot be removed now is superfluous, and found by the next fold.
	t.b.report(t.cleanup())
	return nil
}

// errNoBoard is what writers other than Add and Import say of a board without
// state.
func (b *Board) errNoBoard() error {
	return errs.New(errs.NoSession, "the board has no tasks yet").WithPath(b.o.Dir).
		WithHint("teams task add SUBJECT adds the first")
}

// checkPresent makes the directories that are missing, or refuses when there
// is no board and none is to be created.
func (b *Board) checkPresent(create bool) error {
	h, err := b.readHead()
	if err != nil {
		return err
	}
	if h == nil && !create {
		return b.errNoBoard()
	}
	if h != nil && h.Format > Format {
		return b.tooNew(h.Format)
	}
	return b.create()
}

// begin loads the snapshot; the caller holds the lock.
func (b *Board) begin(create bool) (*tx, error) {
	s, err := b.load()
	if err != nil {
		return nil, err
	}
	t := b.newTx(s)
	switch {
	case s == nil && !create:
		return nil, b.errNoBoard()
	case s == nil:
		t.snap, t.fresh = newSnapshot(b.o.Project, b.o.Session), true
		err = t.recountIDs()
	case s.head.Format > Format:
		return nil, b.tooNew(s.head.Format)
	case s.head.Format == 0:
		err = t.adoptBoard()
	}
	return t, err
}

func (b *Board) newTx(s *snapshot) *tx {
	return &tx{
		b: b, snap: s, now: fsx.Now().UnixMilli(), boot: b.bootNow(),
		touched: map[int64]statusCode{}, seized: map[string]bool{}, taken: map[string]bool{}, skip: map[string]bool{},
	}
}

// recountIDs puts the counter behind every id that anything here names.
func (t *tx) recountIDs() error {
	last, err := t.b.highestID(t.snap)
	t.snap.head.NextTask = last + 1
	return err
}

// adoptBoard takes a board of pi-agent-teams over: every task goes into our
// history. A claim there names no life, so it ends, as it does there when a
// session starts, unless a submission on disk tells whose it is.
func (t *tx) adoptBoard() error {
	t.snap.head.Format = Format
	if err := t.recountIDs(); err != nil {
		return err
	}
	for i := range t.snap.lines {
		task, err := t.snap.at(i)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		task = task.clone()
		if task.Status == Claimed && task.Claim == nil {
			t.adoptClaim(task)
		}
		t.put(task)
		t.note(Event{Event: EventAdded, Task: task.ID, Epoch: task.Epoch, By: Leader, Reason: "adopted"})
		if c := task.Claim; c != nil {
			t.note(Event{Event: EventClaimed, Task: task.ID, Epoch: task.Epoch, Worker: c.Worker, SpawnID: c.SpawnID, Token: c.Token, Reason: "adopted"})
		}
	}
	return nil
}

func (t *tx) adoptClaim(task *Task) {
	m, err := readMarker(t.b.submissionPath(task.ID), task.ID)
	if err == nil && m.Worker == task.ClaimedBy {
		task.Claim = &Claim{Token: fsx.RandomID(), Worker: m.Worker, SpawnID: m.SpawnID, ClaimedAt: task.UpdatedAt}
		w := t.b.o.Roster.Lookup(m.Worker, m.SpawnID)
		task.Gate = t.gateFor(task, m, &w)
		return
	}
	task.toPending()
	task.UpdatedAt = t.now
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

// bootNow is bootNow with what the board knows of the clocks of other hosts.
func (b *Board) bootNow() bootPoint {
	p := bootNow()
	p.clockAhead = b.o.ClockAhead
	return p
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

// put stores a task, whose fields may still be changed until the commit.
func (t *tx) put(task *Task) {
	t.touch(number(task.ID))
	t.snap.put(task)
}

func (t *tx) drop(id string) {
	t.touch(number(id))
	t.snap.drop(number(id))
}

// touch remembers the status that a task has on disk.
func (t *tx) touch(num int64) {
	if _, known := t.touched[num]; known {
		return
	}
	st := noStatus
	if i, there := t.snap.find(num); there {
		st = t.snap.lines[i].status()
	}
	t.touched[num] = st
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
		if err := t.settleOld(); err != nil {
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
	t.addNotices()
	var err error
	if s.events, err = encodeJSON(t.events); err != nil {
		return err
	}
	if t.events == nil {
		s.events = []byte("[]")
	}
	t.restate()
	if err := s.recount(t.boot); err != nil {
		return corrupt(t.b.Path(), err)
	}
	parts, changed, err := s.encode()
	if err != nil {
		return err
	}
	if err := fsx.ReplaceParts(t.b.Path(), parts); err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	id, known := identify(t.b.Path())
	s.committed(changed)
	t.fresh = false
	// From here on everything is on disk. The history and the ready list are
	// completed by the next writer when they cannot be written now.
	if rows, err := s.historyLines(t.events); err == nil {
		// The first lines make the file, and with it an entry of the directory
		// that no later sync of the file alone would reach.
		_ = fsx.Append(t.b.historyPath(), rows, before == 0)
	}
	t.writeReady(before)
	t.told = append(t.told, t.events...)
	t.events = nil
	clear(t.touched)
	if known {
		// What this section still changes, it changes in a copy.
		t.b.remember(s, id, string(parts[0]))
		t.snap = s.fork()
	}
	return nil
}

// restate makes the status that each touched line shows that of its task.
func (t *tx) restate() {
	for num := range t.touched {
		if i, there := t.snap.find(num); there {
			t.snap.lines[i].st = t.snap.lines[i].status()
		}
	}
}

// settleOld settles the revision that is on disk. Records of tasks that this
// section changed are read from the bytes that were loaded.
func (t *tx) settleOld() error {
	s := t.snap
	own, err := s.ownEvents()
	if err != nil {
		return corrupt(t.b.Path(), err)
	}
	old := newSnapshot("", "")
	old.head, old.events = s.head, s.events
	seen := map[int64]bool{}
	for _, e := range own {
		num := number(e.Task)
		i, there := s.find(num)
		if num == 0 || seen[num] || !there || s.lines[i].raw == nil {
			continue
		}
		seen[num] = true
		old.lines = append(old.lines, line{num: num, raw: s.lines[i].raw, st: s.lines[i].st})
	}
	sort.Slice(old.lines, func(i, j int) bool { return old.lines[i].num < old.lines[j].num })
	return t.b.settle(old)
}

// flush commits what was done so far and removes its markers, keeping those
// that were taken in the leader's name.
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

// cleanup removes markers that the committed snapshot made superfluous.
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
