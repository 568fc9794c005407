package fsboard

import (
	"errors"
	"slices"
	"time"

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
// it, so nothing is missed in both; where both have it the snapshot wins.
type View struct {
	b           *Board
	snap        *snapshot
	claims      map[string]*Marker
	submissions map[string]*Marker
	now         int64
	boot        bootPoint
	problems    []error
}

// View takes a look at the board. A board without state gives an empty view.
func (b *Board) View() (*View, error) {
	v := &View{b: b, now: fsx.Now().UnixMilli(), boot: bootNow()}
	var err error
	if v.submissions, err = v.readMarkers("submissions"); err != nil {
		return nil, err
	}
	if v.claims, err = v.readMarkers("claims"); err != nil {
		return nil, err
	}
	if v.snap, err = b.load(); err != nil {
		return nil, err
	}
	if v.snap == nil {
		v.snap = newSnapshot(b.o.Project, b.o.Session)
	}
	return v, nil
}

func (v *View) readMarkers(dir string) (map[string]*Marker, error) {
	ids, _, err := v.b.markerIDs(dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Marker, len(ids))
	for _, id := range ids {
		m, err := readMarker(v.b.path(dir, id+".json"), id, time.UnixMilli(v.now))
		var p *markerProblem
		switch {
		case err == nil && m.Worker != Leader:
			out[id] = m
		case err == nil, errors.Is(err, errVanished), errors.As(err, &p):
		default:
			v.problems = append(v.problems, err)
		}
	}
	return out, nil
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
	t, err := v.snap.lines[i].decode()
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
	case Completed:
		return StateCompleted, nil
	case Failed:
		return StateFailed, nil
	case Cancelled:
		return StateCancelled, nil
	}
	t, err := v.At(i)
	if err != nil {
		return "", err
	}
	return t.State, nil
}

// derive is the one function that computes the state of a task.
func (v *View) derive(stored *Task) *TaskView {
	t := &TaskView{Task: *stored}
	switch stored.Status {
	case Completed, Failed, Cancelled:
		t.State = State(stored.Status)
		return t
	case Pending:
		t.WaitingOn = v.snap.unmet(stored)
		if m := v.liveClaim(stored); m != nil {
			t.Status, t.ClaimedBy, t.NotBefore = Claimed, m.Worker, 0
			t.Claim = markerClaim(m)
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

// liveClaim returns the marker that holds a pending task: one of its present
// epoch. A marker without an epoch counts when the task is claimable.
func (v *View) liveClaim(t *Task) *Marker {
	m := v.claims[t.ID]
	switch {
	case m == nil:
		return nil
	case m.Epoch != nil && *m.Epoch != t.Epoch:
		return nil
	case m.Epoch == nil && (len(v.snap.unmet(t)) > 0 || t.NotBefore > v.now):
		return nil
	}
	switch v.b.o.Roster.Lookup(m.Worker, m.SpawnID).Life {
	case LifeDead, LifeReplaced, LifeNoSuch:
		return nil // the next fold refuses it
	}
	return m
}

// markerClaim is the claim that a fold will make of a marker.
func markerClaim(m *Marker) *Claim {
	c := &Claim{Token: m.Token, Worker: m.Worker, SpawnID: m.SpawnID, Host: m.Host, ClaimedAt: m.Timestamp}
	if m.LeaseMs > 0 {
		c.LeaseMs, c.LeaseUntil = m.LeaseMs, m.Timestamp+m.LeaseMs
		if m.BootID != "" && m.BootMs > 0 {
			c.BootID, c.BootMs = m.BootID, m.BootMs+m.LeaseMs
		}
	}
	return c
}

// Held returns the tasks that a worker's life holds; an empty spawnID means
// every life of the name. A lease that is over holds nothing.
func (v *View) Held(worker, spawnID string) ([]*TaskView, error) {
	var out []*TaskView
	claimed := []byte(`"status":"claimed"`)
	for i := range v.snap.lines {
		l := &v.snap.lines[i]
		if _, marked := v.claims[taskID(l.num)]; !marked && (!l.mentions(claimed) || l.status() != Claimed) {
			continue
		}
		t, err := v.At(i)
		if err != nil {
			return nil, err
		}
		if t.Status != Claimed || t.Claim == nil || t.Claim.Worker != worker || spawnID != "" && t.Claim.SpawnID != spawnID {
			continue
		}
		if t.Claim.leaseOver(v.now, v.boot) && t.State == StateClaimed {
			continue
		}
		out = append(out, t)
	}
	return out, nil
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
	for i := range v.snap.lines {
		if len(f.States) > 0 {
			st, err := v.StateAt(i)
			if err != nil {
				return nil, 0, err
			}
			if !slices.Contains(f.States, st) {
				continue
			}
		}
		plain := f.Holder == "" && f.Role == "" && len(f.Tags) == 0 && len(f.IDs) == 0
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

// Tasks takes a look at the board and returns all tasks in numeric order.
func (b *Board) Tasks() ([]*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	list, _, err := v.Tasks(Filter{}, 0)
	return list, err
}
