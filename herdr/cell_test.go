package herdr

import (
	"errors"
	"testing"

	"github.com/seed6990a682/teams/herdr/herdrtest"
)

func (s *site) cell(pane string) *Cell {
	p, _ := s.Get(pane)
	return &Cell{Client: s.sp.Client, Seq: s.sp.Leases.Sequences(), Pane: pane, Terminal: p.Terminal, Source: CellSource("coder", "bob"), Label: CellLabel}
}

// A state of our own is taken, read back, and given back.
func TestCellReports(t *testing.T) {
	s := newSite(t)
	pane := s.here.Pane
	c := s.cell(pane)
	for _, state := range []string{StateWorking, StateBlocked, StateWorking, StateIdle} {
		if err := c.Report(t.Context(), state); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
	s.Focus(pane)
	// Another process reports under the same source, and its numbers are greater.
	if err := s.cell(pane).Report(t.Context(), StateBlocked); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(pane); p.State != StateBlocked || p.Agent != CellLabel {
		t.Errorf("%+v", p)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(pane); p.State != StateUnknown || p.Agent != "" {
		t.Errorf("%+v", p)
	}
}

// An idle cell that nobody looks at is read as done.
func TestCellDone(t *testing.T) {
	s := newSite(t)
	_, pane := s.AddTab(s.here.Workspace, "x")
	c := s.cell(pane)
	if err := errors.Join(c.Report(t.Context(), StateWorking), c.Report(t.Context(), StateIdle)); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(pane); p.State != StateDone {
		t.Errorf("%+v", p)
	}
}

// "ok" of herdr is not believed, and where an integration owns the state nothing
// is reported.
func TestCellDropped(t *testing.T) {
	s := newSite(t)
	pane := s.here.Pane
	s.Fault("pane.report_agent", 1, herdrtest.Ignore)
	c := s.cell(pane)
	if err := c.Report(t.Context(), StateBlocked); !errors.Is(err, ErrDropped) {
		t.Errorf("%v", err)
	}
	if n := len(s.Requests("pane.report_agent")); n != 1 {
		t.Errorf("%d reports", n)
	}
	s.Anchor(pane, "pi", StateWorking)
	if err := c.Report(t.Context(), StateBlocked); !errors.Is(err, ErrOfficial) || len(s.Requests("pane.report_agent")) != 1 {
		t.Errorf("%v", err)
	}
	// The same report, made all the same, is answered ok and dropped.
	err := s.sp.Client.ReportAgent(t.Context(), Report{Pane: pane, Source: "custom:x", Agent: "x", State: StateBlocked, Seq: 1})
	if p, _ := s.Get(pane); err != nil || p.State != StateWorking {
		t.Errorf("%v %+v", err, p)
	}
	// A number that is not greater is answered ok and ignored.
	_, other := s.AddTab(s.here.Workspace, "x")
	for _, r := range []Report{{State: StateWorking, Seq: 5}, {State: StateBlocked, Seq: 5}, {State: StateBlocked, Seq: 4}, {State: StateBlocked}} {
		r.Pane, r.Source, r.Agent = other, "custom:x", "x"
		if err := s.sp.Client.ReportAgent(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	if p, _ := s.Get(other); p.State != StateWorking {
		t.Errorf("%+v", p)
	}
}

// After a restart herdr knows neither numbers nor states, and is told again.
func TestCellAfterRestart(t *testing.T) {
	s := newSite(t)
	pane := s.here.Pane
	if err := s.cell(pane).Report(t.Context(), StateBlocked); err != nil {
		t.Fatal(err)
	}
	s.Restarted()
	if err := s.cell(pane).Report(t.Context(), StateBlocked); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(pane); p.State != StateBlocked {
		t.Errorf("%+v", p)
	}
}
