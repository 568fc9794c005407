package fsboard

import (
	"errors"
	"iter"
	"slices"

	"github.com/seed6990a682/teams/internal/fsx"
)

// State is the derived state of a task, the one that people and JSON see.
type State string

// The derived states.
const (
	StateReady     State = "ready"
	StateBlocked   State = "blocked"   // a dependency is not completed
	StateWaiting   State = "waiting"   // its back-off lies ahead
	StateClaimed   State = "claimed"   // somebody works on it
	StateSubmitted State = "submitted" // a submission waits for its verdict
	StateVerifying State = "verifying" // its gate is running
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// States lists the derived states in the order in which they are shown.
func States() []State {
	return []State{StateReady, StateClaimed, StateSubmitted, StateVerifying, StateWaiting, StateBlocked, StateCompleted, StateFailed, StateCancelled}
}

// Terminal reports whether a task in this state is at its end.
func (s State) Terminal() bool { return s == StateCompleted || s == StateFailed || s == StateCancelled }

// TaskView is a task as it stands now, markers on disk included.
type TaskView struct {
	Task
	State     State
	WaitingOn []string // dependencies that are not completed
	Archived  bool     // it lies in the archive
	Known     bool     // [Board.Add] found it by its key, and added nothing
}

// MarshalJSON writes the stored fields and the derived ones.
func (t TaskView) MarshalJSON() ([]byte, error) {
	data, err := t.Task.encode()
	if err != nil {
		return nil, err
	}
	state, err := encodeJSON(t.State)
	if err != nil {
		return nil, err
	}
	waiting := t.WaitingOn
	if waiting == nil {
		waiting = []string{}
	}
	list, err := encodeJSON(waiting)
	if err != nil {
		return nil, err
	}
	data = append(data[:len(data)-1], `,"state":`...)
	data = append(append(data, state...), `,"waitingOn":`...)
	data = append(data, list...)
	if t.Archived {
		data = append(data, `,"archived":true`...)
	}
	return append(data, '}'), nil
}

// View is one consistent look at a board: submissions, then claims, then the
// snapshot, in this order. A marker is removed only after the snapshot holds
// it, so nothing is missed in both; where both have it the snapshot wins. A View
// is for one goroutine.
type View struct {
	b           *Board
	snap        *snapshot
	claims      map[string]*Marker
	submissions map[string]*Marker
	now         int64
	boot        bootPoint
	problems    []error
	states      []State // as they were derived; "" for those that were not yet
}

// View takes a look at the board. A board without state gives an empty view.
func (b *Board) View() (*View, error) {
	v, err := b.viewMarkers()
	if err != nil {
		return nil, err
	}
	return v, v.see(b.load())
}

// viewOf is a look at one task: Task of that id is all that the view is good
// for, and the revision.
func (b *Board) viewOf(id string) (*View, error) {
	v := &View{b: b, now: fsx.Now().UnixMilli(), boot: b.bootNow(), submissions: map[string]*Marker{}, claims: map[string]*Marker{}}
	if ValidID(id) {
		v.readMarker(v.submissions, "submissions", id)
		v.readMarker(v.claims, "claims", id)
	}
	return v, v.see(b.glimpse(id))
}

// viewMarkers begins a look: the snapshot comes last.
func (b *Board) viewMarkers() (*View, error) {
	v := &View{b: b, now: fsx.Now().UnixMilli(), boot: b.bootNow()}
	var err error
	if v.submissions, err = v.readMarkers("submissions"); err != nil {
		return nil, err
	}
	if v.claims, err = v.readMarkers("claims"); err != nil {
		return nil, err
	}
	return v, nil
}

// see takes the snapshot into the view.
func (v *View) see(s *snapshot, err error) error {
	if err != nil {
		return err
	}
	v.states = nil
	if v.snap = s; s == nil {
		v.snap = newSnapshot(v.b.o.Project, v.b.o.Session)
	}
	return nil
}

func (v *View) readMarkers(dir string) (map[string]*Marker, error) {
	ids, _, err := v.b.markerIDs(dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Marker, len(ids))
	for _, id := range ids {
		v.readMarker(out, dir, id)
	}
	return out, nil
}

// readMarker adds the marker of one task, if there is one that can be used.
func (v *View) readMarker(to map[string]*Marker, dir, id string) {
	m, err := readMarker(v.b.path(dir, id+".json"), id)
	var p *markerProblem
	switch {
	case err == nil && m.Worker != Leader:
		to[id] = m
	case err == nil, errors.Is(err, errVanished), errors.As(err, &p):
	default:
		v.problems = append(v.problems, err)
	}
}

// Problems returns the markers that could not be read.
func (v *View) Problems() []error { return v.problems }

// Revision is the revision of the snapshot that the view shows.
func (v *View) Revision() int64 { return v.snap.head.Revision }

// Len returns the number of tasks in the snapshot.
func (v *View) Len() int { return len(v.snap.lines) }

// Project and Session are what line 1 of the snapshot names.
func (v *View) Project() string { return v.snap.head.Project }

// Session is the key that line 1 of the snapshot names.
func (v *View) Session() string { return v.snap.head.Session }

// At returns the ith task in numeric order.
func (v *View) At(i int) (*TaskView, error) {
	t, err := v.snap.at(i)
	if err != nil {
		return nil, corrupt(v.b.Path(), err)
	}
	return v.derive(t), nil
}

// Task returns a task, nil when the snapshot does not have it.
func (v *View) Task(id string) (*TaskView, error) {
	t, err := v.snap.task(id)
	if err != nil {
		return nil, corrupt(v.b.Path(), err)
	}
	if t == nil {
		return nil, nil
	}
	return v.derive(t), nil
}

// StateAt returns the state of the ith task, decoding it only when needed.
func (v *View) StateAt(i int) (State, error) {
	switch v.snap.lines[i].status() {
	case completed:
		return StateCompleted, nil
	case failed:
		return StateFailed, nil
	case cancelled:
		return StateCancelled, nil
	}
	if v.states == nil {
		v.states = make([]State, len(v.snap.lines))
	}
	if v.states[i] == "" {
		t, err := v.At(i)
		if err != nil {
			return "", err
		}
		v.states[i] = t.State
	}
	return v.states[i], nil
}

// derive is the one function that computes the state of a task.
func (v *View) derive(stored *Task) *TaskView {
	t := &TaskView{Task: *stored.clone()}
	switch stored.Status {
	case Completed, Failed, Cancelled:
		t.State = State(stored.Status)
		return t
	case Pending:
		t.WaitingOn = v.snap.unmet(stored)
		if m := v.liveClaim(stored); m != nil {
			t.Status, t.ClaimedBy, t.NotBefore = Claimed, m.Worker, 0
			t.Claim = m.claim(v.now, v.boot)
			t.State = StateClaimed
			break
		}
		switch {
		case len(t.WaitingOn) > 0:
			t.State = StateBlocked
		case stored.NotBefore > v.now:
			t.State = StateWaiting
		default:
			t.State = StateReady
		}
		return t
	default:
		t.State = StateClaimed
	}
	if m := v.submissions[t.ID]; m != nil && t.counts(m) {
		t.State = StateSubmitted
		if held, err := fsx.Held(v.b.gateLock(t.ID)); err == nil && held {
			t.State = StateVerifying
		}
	}
	return t
}

// liveClaim returns the marker that holds a pending task: one that the next
// fold grants, also because its submission waits.
func (v *View) liveClaim(t *Task) *Marker {
	m := v.claims[t.ID]
	if m == nil {
		return nil
	}
	w := v.b.o.Roster.Lookup(m.Worker, m.SpawnID)
	reason := v.snap.refusal(t, m, &w, v.now)
	if lifeOver(reason) {
		if sub := v.submissions[t.ID]; sub != nil && sub.Token == m.Token {
			return m
		}
	}
	if reason != "" {
		return nil
	}
	return m
}

// Filter selects tasks of a view. The zero value selects all.
type Filter struct {
	States []State
	Holder string // only what this worker holds
	Role   string
	Tags   []string // all of them
	IDs    []string
}

// Tasks returns the tasks that a filter selects, in numeric order, at most
// limit of them (0: all), and how many there are in all.
func (v *View) Tasks(f Filter, limit int) (list []*TaskView, total int, err error) {
	for i := range v.indexes(f.IDs) {
		if len(f.States) > 0 {
			st, err := v.StateAt(i)
			if err != nil {
				return nil, 0, err
			}
			if !slices.Contains(f.States, st) {
				continue
			}
		}
		plain := f.Holder == "" && f.Role == "" && len(f.Tags) == 0
		if plain && limit > 0 && len(list) >= limit {
			total++ // counted, not shown: no need to decode it
			continue
		}
		t, err := v.At(i)
		if err != nil {
			return nil, 0, err
		}
		if !f.Selects(t) {
			continue
		}
		total++
		if limit == 0 || len(list) < limit {
			list = append(list, t)
		}
	}
	return list, total, nil
}

// indexes yields the indexes of the tasks with the given ids, in numeric
// order; those of all tasks when none are given.
func (v *View) indexes(ids []string) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(ids) == 0 {
			for i := range v.snap.lines {
				if !yield(i) {
					return
				}
			}
			return
		}
		var found []int
		for _, id := range ids {
			if i, there := v.snap.find(number(id)); there {
				found = append(found, i)
			}
		}
		slices.Sort(found)
		for _, i := range slices.Compact(found) {
			if !yield(i) {
				return
			}
		}
	}
}

// Selects reports whether a filter selects a task, whatever its States say.
func (f *Filter) Selects(t *TaskView) bool {
	return (f.Holder == "" || t.Status == Claimed && t.ClaimedBy == f.Holder) && (f.Role == "" || t.Role == f.Role) &&
		hasTags(t.Tags, f.Tags) && (len(f.IDs) == 0 || slices.Contains(f.IDs, t.ID))
}

// Counts returns how many tasks are in each state.
func (v *View) Counts() (map[State]int, error) {
	out := map[State]int{}
	for i := range v.snap.lines {
		st, err := v.StateAt(i)
		if err != nil {
			return nil, err
		}
		out[st]++
	}
	return out, nil
}

// Show returns a task, an archived one included.
func (b *Board) Show(id string) (*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	return v.show(id)
}

// show returns a task of the view or of the archive.
func (v *View) show(id string) (*TaskView, error) {
	t, err := v.Task(id)
	if err != nil || t != nil {
		return t, err
	}
	if t, err = v.b.archivedView(id); err != nil || t != nil {
		return t, err
	}
	return nil, v.b.unknownTask(id)
}

// Tasks takes a look at the board and returns all tasks in numeric order.
func (b *Board) Tasks() ([]*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	list, _, err := v.Tasks(Filter{}, 0)
	return list, err
}
