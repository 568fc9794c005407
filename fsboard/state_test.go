package fsboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// modelTask is what a simple model knows of a task.
type modelTask struct {
	Status   Status
	Holder   string
	Lease    time.Duration // end on the boot clock, 0 none
	Deps     string        // one id, or ""
	Attempt  int
	Wait     time.Time // end of the back-off on the wall clock
	Archived bool
}

// model is a board as it should be.
type model map[string]modelTask

func (m model) state(id string, now time.Time) State {
	t := m[id]
	switch {
	case t.Status != Pending:
		return State(t.Status)
	case t.Deps != "" && m[t.Deps].Status != Completed:
		return StateBlocked
	case t.Wait.UnixMilli() > now.UnixMilli():
		return StateWaiting
	}
	return StateReady
}

// machine drives a board and its model through the same verbs.
type machine struct {
	b     *Board
	clk   *clock
	model model
	dead  map[string]bool
	ros   *fakeRoster
	lives int
}

func (m *machine) ids(keep func(id string) bool) []string {
	var ids []string
	for id := range m.model {
		if keep(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(number(a) - number(b)) })
	return ids
}

// pick draws an id, one that is not there now and then.
func (m *machine) pick(t *rapid.T) string {
	ids := append(m.ids(func(string) bool { return true }), "t_999")
	return rapid.SampledFrom(ids).Draw(t, "id")
}

// verb is one step: what it does to the board, and to the model if the board
// allows it. want is the code of the error that it must give.
type verb struct {
	name string
	act  func(b *Board) error
	want []errs.Code // "" for success
	then func(model)
}

// do runs a verb; with a crash, one that dies on its way.
func (m *machine) do(t *rapid.T, v verb) {
	t.Helper()
	after := maps.Clone(m.model)
	v.then(after)
	crash := rapid.IntRange(0, 9).Draw(t, "crash") == 0
	if !crash {
		err := v.act(m.b)
		if !slices.Contains(v.want, errs.CodeOf(err)) {
			t.Fatalf("%s: %v (%s), want %q", v.name, err, errs.CodeOf(err), v.want)
		}
		if err == nil {
			m.model = after
		}
		return
	}
	n := rapid.Int64Range(1, 70).Draw(t, "call")
	var calls atomic.Int64
	restore := fsx.SetFault(func(fsx.Op, string) error {
		if calls.Add(1) >= n {
			return errDead
		}
		return nil
	})
	err := v.act(m.b)
	restore()
	m.reopen(t)
	m.settle(t)
	swept := maps.Clone(m.model) // as far as a claim gets that folds first
	m.sweep(swept)
	if slices.Contains(v.want, "") && m.differs(after) == "" {
		m.model = after
	} else if strings.HasPrefix(v.name, "claim") && m.differs(swept) == "" {
		m.model = swept
	} else if diff := m.differs(m.model); diff != "" || err == nil && slices.Contains(v.want, "") && m.differs(after) != "" {
		t.Fatalf("%s that died before call %d (%v) left neither the board of before nor that of after: %s", v.name, n, err, diff)
	}
}

// settle folds and decides, as the next process does.
func (m *machine) settle(t *rapid.T) {
	if there, err := m.b.Exists(); err != nil || !there {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := m.b.Fold(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	ids, err := m.b.Waiting()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := m.b.Decide(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) reopen(t *rapid.T) {
	b, err := Open(m.b.o)
	if err != nil {
		t.Fatal(err)
	}
	m.b = b
}

// differs compares the board with a model.
func (m *machine) differs(want model) string {
	var out strings.Builder
	list, err := m.b.Tasks()
	if err != nil {
		return err.Error()
	}
	old, err := m.b.Archived()
	if err != nil {
		return err.Error()
	}
	if len(list)+len(old) != len(want) {
		fmt.Fprintf(&out, "%d and %d tasks, want %d; ", len(list), len(old), len(want))
	}
	for _, v := range append(list, old...) {
		w, ok := want[v.ID]
		state := want.state(v.ID, fsx.Now())
		switch {
		case !ok || v.State != state || v.Archived != w.Archived || v.Attempt != w.Attempt:
			fmt.Fprintf(&out, "%s is %s, attempt %d, archived %v, want %s %+v; ", v.ID, v.State, v.Attempt, v.Archived, state, w)
		case v.Status == Claimed && v.ClaimedBy != w.Holder:
			fmt.Fprintf(&out, "%s is held by %s, want %s; ", v.ID, v.ClaimedBy, w.Holder)
		}
	}
	return out.String()
}

func (m *machine) Add(t *rapid.T) {
	if len(m.model) >= 8 {
		t.Skip("enough")
	}
	deps := rapid.SampledFrom(append(m.ids(func(string) bool { return true }), "", "", "t_999")).Draw(t, "dep")
	v := verb{name: "add", want: []errs.Code{""}}
	n := NewTask{Subject: "x", MaxAttempts: ptr(2)}
	if deps != "" {
		n.DependsOn = []string{deps}
		if deps == "t_999" {
			v.want = []errs.Code{errs.UnknownDep}
		}
	}
	id := taskID(int64(len(m.model) + 1))
	v.act = func(b *Board) error { _, err := b.Add(context.Background(), n); return err }
	v.then = func(after model) {
		after[id] = modelTask{Status: Pending, Deps: deps}
		if d, ok := after[deps]; ok {
			d.Archived = false
			after[deps] = d
		}
	}
	m.do(t, v)
}

func (m *machine) Claim(t *rapid.T) {
	id, worker := m.pick(t), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "worker")
	if len(m.model) == 0 || m.dead[worker] {
		t.Skip("nothing there")
	}
	r := request(id, worker)
	r.Max = 100
	v := verb{name: "claim " + id + " by " + worker, want: []errs.Code{errs.NotFound}, then: func(model) {}}
	if _, ok := m.model[id]; ok {
		switch m.model.state(id, m.clk.wall) {
		case StateReady:
			v.want = []errs.Code{""}
		case StateBlocked, StateWaiting:
			v.want = []errs.Code{errs.Blocked}
		case StateClaimed:
			v.want = []errs.Code{errs.AlreadyClaimed}
			if m.over(id) != "" { // it folds first, and takes it
				v.want = []errs.Code{""}
			}
		default:
			v.want = []errs.Code{errs.TaskEnded}
		}
		v.then = func(after model) {
			if v.want[0] != "" {
				return
			}
			if m.model[id].Status == Claimed {
				m.sweep(after)
			}
			c := after[id]
			c.Status, c.Holder, c.Lease, c.Wait = Claimed, worker, 0, time.Time{}
			if rapid.Bool().Draw(t, "lease") {
				r.Lease, c.Lease = time.Minute, m.clk.boot+time.Minute
			}
			after[id] = c
		}
	}
	v.act = func(b *Board) error { _, err := b.Claim(context.Background(), r); return err }
	m.do(t, v)
}

// over returns who loses a claim by time or death.
func (m *machine) over(id string) string {
	c := m.model[id]
	if c.Status == Claimed && (c.Lease > 0 && c.Lease <= m.clk.boot || m.dead[c.Holder]) {
		return c.Holder
	}
	return ""
}

func (m *machine) sweep(after model) {
	for id := range m.model {
		if m.over(id) != "" {
			c := after[id]
			c.Status, c.Holder, c.Lease = Pending, "", 0
			after[id] = c
		}
	}
}

func (m *machine) Submit(t *rapid.T) {
	id, worker := m.pick(t), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "worker")
	c, ok := m.model[id]
	if !ok || c.Status != Claimed {
		t.Skip("not claimed")
	}
	s := submission(id, worker)
	fails := rapid.Bool().Draw(t, "fails")
	if fails {
		s.Status = "failed"
	}
	v := verb{name: "submit " + id + " by " + worker, want: []errs.Code{errs.NotHolder, errs.StaleClaim}, then: func(model) {}}
	if c.Holder == worker {
		v.want = []errs.Code{""}
		v.then = func(after model) {
			c.Holder, c.Lease = "", 0
			switch {
			case !fails:
				c.Status = Completed
			case c.Attempt+1 < 2:
				c.Status, c.Wait = Pending, m.clk.wall.Add(30*time.Second)
				c.Attempt++
			default:
				c.Status = Failed
				c.Attempt++
			}
			after[id] = c
		}
	}
	v.act = func(b *Board) error { _, err := b.Submit(context.Background(), s); return err }
	m.do(t, v)
}

func (m *machine) Release(t *rapid.T) {
	id := m.pick(t)
	c, ok := m.model[id]
	v := verb{name: "release " + id, then: func(model) {}}
	switch {
	case len(m.model) == 0:
		t.Skip("nothing there")
	case !ok || c.Archived:
		v.want = []errs.Code{errs.NotFound}
	case c.Status.Terminal():
		v.want = []errs.Code{errs.TaskEnded}
	case c.Status == Pending:
		v.want = []errs.Code{errs.NotHolder}
	default:
		v.want = []errs.Code{""}
		v.then = func(after model) {
			c.Status, c.Holder, c.Lease = Pending, "", 0
			after[id] = c
		}
	}
	v.act = func(b *Board) error { _, err := b.Release(context.Background(), ReleaseRequest{ID: id}); return err }
	m.do(t, v)
}

func (m *machine) Cancel(t *rapid.T) {
	id := m.pick(t)
	c, ok := m.model[id]
	v := verb{name: "cancel " + id, want: []errs.Code{""}}
	switch {
	case len(m.model) == 0:
		t.Skip("nothing there")
	case !ok:
		v.want = []errs.Code{errs.NotFound}
	case c.Archived || c.Status == Completed:
		v.want = []errs.Code{errs.TaskEnded}
	}
	v.then = func(after model) {
		if ok {
			c.Status, c.Holder, c.Lease, c.Wait = Cancelled, "", 0, time.Time{}
			after[id] = c
		}
	}
	v.act = func(b *Board) error { _, err := b.Cancel(context.Background(), id, "", false); return err }
	m.do(t, v)
}

func (m *machine) Edit(t *rapid.T) {
	id := m.pick(t)
	c, ok := m.model[id]
	m.lives++
	subject := fmt.Sprint("edited ", m.lives)
	v := verb{name: "edit " + id, want: []errs.Code{""}}
	if len(m.model) == 0 {
		t.Skip("nothing there")
	}
	if !ok {
		v.want = []errs.Code{errs.NotFound}
	}
	v.then = func(after model) {
		if ok {
			c.Archived = false
			after[id] = c
		}
	}
	v.act = func(b *Board) error {
		_, err := b.Edit(context.Background(), id, Edit{Subject: &subject})
		return err
	}
	m.do(t, v)
}

func (m *machine) Reopen(t *rapid.T) {
	id := m.pick(t)
	c, ok := m.model[id]
	v := verb{name: "reopen " + id, want: []errs.Code{""}}
	switch {
	case len(m.model) == 0:
		t.Skip("nothing there")
	case !ok:
		v.want = []errs.Code{errs.NotFound}
	case !c.Status.Terminal():
		v.want = []errs.Code{errs.Conflict}
	}
	v.then = func(after model) {
		if ok {
			after[id] = modelTask{Status: Pending, Deps: c.Deps}
			if d, ok := after[c.Deps]; ok {
				d.Archived = false
				after[c.Deps] = d
			}
		}
	}
	v.act = func(b *Board) error { _, err := b.Reopen(context.Background(), id); return err }
	m.do(t, v)
}

func (m *machine) Sweep(t *rapid.T) {
	if len(m.model) == 0 {
		t.Skip("nothing there")
	}
	m.do(t, verb{name: "fold", want: []errs.Code{""}, then: m.sweep,
		act: func(b *Board) error {
			r, err := b.Fold(context.Background(), true)
			return errors.Join(append(r.Problems, err)...)
		}})
}

func (m *machine) Collect(t *rapid.T) {
	if len(m.model) == 0 {
		t.Skip("nothing there")
	}
	m.do(t, verb{name: "collect", want: []errs.Code{""},
		act: func(b *Board) error { _, err := b.Collect(context.Background(), -48*time.Hour, false); return err },
		then: func(after model) {
			keep := map[string]bool{}
			for changed := true; changed; {
				changed = false
				for id, c := range after {
					if (!c.Status.Terminal() || keep[id]) && !c.Archived && c.Deps != "" && !keep[c.Deps] {
						keep[c.Deps], changed = true, true
					}
				}
			}
			for id, c := range after {
				if c.Status.Terminal() && !keep[id] {
					c.Archived = true
					after[id] = c
				}
			}
		}})
}

func (m *machine) Time(t *rapid.T) {
	m.clk.pass(time.Duration(rapid.IntRange(1, 70).Draw(t, "seconds")) * time.Second)
}

// Step sets the wall clock a day ahead and back, within which nothing but the
// fold happens; back-offs last at most as long as they are.
func (m *machine) Step(t *rapid.T) {
	if len(m.model) == 0 {
		t.Skip("nothing there")
	}
	day := rapid.SampledFrom([]time.Duration{24 * time.Hour, -24 * time.Hour}).Draw(t, "step")
	m.clk.step(day)
	if day < 0 {
		for id, c := range m.model {
			if most := m.clk.wall.Add(30 * time.Second); c.Status == Pending && c.Wait.After(most) {
				c.Wait = most
				m.model[id] = c
			}
		}
	}
	if _, err := m.b.Fold(context.Background(), false); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Die(t *rapid.T) {
	worker := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "worker")
	m.dead[worker] = !m.dead[worker]
	life := LifeAlive
	if m.dead[worker] {
		life = LifeDead
	}
	m.ros.set(worker, Worker{Life: life})
}

func (m *machine) Reopened(t *rapid.T) { m.reopen(t) }

// Check compares the board with the model after each step.
func (m *machine) Check(t *rapid.T) {
	if diff := m.differs(m.model); diff != "" {
		t.Fatalf("the board is not as it should be: %s", diff)
	}
}
