package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
)

// begun has everybody join, and something to do.
func (m *machine) begun(t *rapid.T) {
	leader := m.callers[0]
	for i := range 3 {
		m.run(t, m.adding(leader, fsboard.NewTask{DependsOn: [][]string{nil, nil, {"t_1"}}[i]}), trouble{})
	}
	for _, c := range m.teammates() {
		if c.kind != isBare {
			m.run(t, m.joining(c, false), trouble{})
		}
	}
}

// Break breaks the snapshot, as a disk may, when history has all that it has.
// Nobody overwrites it, and the doctor restores it.
func (m *machine) Break(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("not often")
	}
	_, b := m.observer()
	whole, err := os.ReadFile(b.Path())
	if err != nil || !m.historyIsWhole(b) {
		t.Skip("there is something that only the snapshot has")
	}
	var broken []byte
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		broken = whole[:rapid.IntRange(0, len(whole)-2).Draw(t, "cut")]
	case 1:
		broken = make([]byte, len(whole))
	case 2:
		broken = bytes.Replace(whole, []byte(`"id":"t_`), []byte(`"id":"x_`), 1)
	}
	m.log("  the snapshot is broken: %d of %d bytes", len(broken), len(whole))
	if broken == nil {
		err = os.Remove(b.Path())
	} else {
		err = os.WriteFile(b.Path(), broken, 0o600)
	}
	if err != nil {
		m.fatal(t, "%v", err)
	}
	if _, err := b.Fold(t.Context(), true); len(whole) != len(broken) && errs.CodeOf(err) != errs.Corrupt {
		m.fatal(t, "a fold says %v", err)
	}
	if now, _ := os.ReadFile(b.Path()); len(whole) != len(broken) && !bytes.Equal(now, broken) {
		m.fatal(t, "the broken snapshot was changed to %q", now)
	}
	repair := verb{who: m.callers[0], name: "repair", run: func(k *call) error { _, err := k.b.Repair(k.ctx); return err }}
	for range rapid.IntRange(0, 2).Draw(t, "deaths") {
		m.run(t, repair, trouble{dieAt: rapid.IntRange(1, 60).Draw(t, "call")})
	}
	if out := m.run(t, repair, trouble{}); out.err != nil {
		m.fatal(t, "repair: %v", out.err)
	}
}

// End ends the session, or dies at it.
func (m *machine) End(t *rapid.T) {
	if m.held != nil || rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("not often")
	}
	v := m.endSession(m.callers[0])
	if rapid.Bool().Draw(t, "dies") {
		m.run(t, v, trouble{dieAt: rapid.IntRange(1, 150).Draw(t, "call")})
		return
	}
	if out := m.run(t, v, trouble{}); out.err != nil {
		m.fatal(t, "session end: %v", out.err)
	}
}

// historyIsWhole says whether the file has every event of the snapshot.
func (m *machine) historyIsWhole(b *fsboard.Board) bool {
	rev, err := b.Revision()
	data, rerr := os.ReadFile(filepath.Join(b.Dir(), "history.jsonl"))
	rows := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var last fsboard.Event
	return err == nil && rerr == nil && json.Unmarshal(rows[len(rows)-1], &last) == nil && last.Rev == rev && last.N == last.Of
}

// settle is the end of a run: nothing goes wrong any more, and what is left to
// do must be possible.
func (m *machine) settle(t *rapid.T) {
	m.log("  the end begins")
	if m.held != nil {
		m.Harness(t)
	}
	tm, b := m.observer()
	if there, err := tm.Exists(); err != nil || !there {
		return
	}
	tick := m.tick(m.callers[1])
	m.run(t, tick, trouble{})
	ctx := t.Context()
	if err := errors.Join(notYet(b.Fix(ctx)), tm.Fix(ctx, b)); err != nil {
		m.fatal(t, "doctor --fix: %v", err)
	}
	m.freeAll(t)
	m.workAll(t)
	m.readAll(t)
	m.run(t, tick, trouble{}) // what came of that
	m.readAll(t)
	m.Check(t)
	m.atRest(t)
}

// teammates are the callers that are no leader and no harness.
func (m *machine) teammates() []*caller { return m.callers[2:] }
