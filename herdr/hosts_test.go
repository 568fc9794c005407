package herdr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// moveTo makes a lease, and the record of its tab, those of another host.
func (s *site) moveTo(host string, l *Lease) {
	s.t.Helper()
	l.Owner.Host = host
	if err := s.sp.Leases.Update(l); err != nil {
		s.t.Fatal(err)
	}
	if l.TabName != "" {
		s.tabHost(l.Session, l.TabName, host)
	}
}

func (s *site) tabHost(session, name, host string) {
	s.t.Helper()
	t, err := readTab(s.sp.tabPath(session, name))
	if err == nil {
		t.Host = host
		err = t.write()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// The socket of another host has the same path: nothing is concluded about its
// panes from what the herdr of this one knows.
func TestPanesOfAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.spawn(s.request("a")), s.spawn(s.request("b"))
	s.moveTo("elsewhere", a)
	s.moveTo("elsewhere", b)
	s.Remove(a.Pane)
	all := func(string, string) bool { return true }
	if freed, err := s.sp.Prune(t.Context(), all); err != nil || len(freed) != 0 || len(s.leases()) != 2 {
		t.Errorf("%v %v", freed, err)
	}
	if err := s.sp.Close(t.Context(), b.SpawnID); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here}
	if err := st.Report(t.Context(), b.SpawnID, StateBlocked, "x"); err != nil {
		t.Error(err)
	}
	if p, there := s.Get(b.Pane); !there || p.State == StateBlocked || p.Display != "" {
		t.Errorf("touched: %v %+v", there, p)
	}
	// There it is closed later.
	b = &s.leases()[1]
	s.moveTo(fsx.Host(), b)
	if freed, err := s.sp.Prune(t.Context(), nil); err != nil || len(freed) != 1 || len(s.Panes()) != 1 {
		t.Errorf("%v %v", freed, err)
	}
}

// The same holds for tabs, of which each host has its own.
func TestTabsOfAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sp.Grace = time.Millisecond
	all := func(string, string) bool { return true }
	tick := func() (closed []string) {
		t.Helper()
		for range 2 {
			list, err := s.sp.CloseTabs(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			closed = append(closed, list...)
			time.Sleep(5 * time.Millisecond)
		}
		return closed
	}
	a := s.inTab("a", "research")
	s.moveTo("elsewhere", a)
	if got := tick(); got != nil {
		t.Errorf("closed %v", got)
	}
	b := s.inTab("b", "research")
	if b.Tab == a.Tab {
		t.Error("a tab of another host was taken for ours")
	}
	// A pane of another host that happens to look like one in it is not in it.
	a.Terminal, a.Tab = b.Terminal, b.Tab
	s.moveTo("elsewhere", a)
	if got := tick(); !slices.Equal(got, []string{"research-2"}) || len(s.leases()) != 1 {
		t.Errorf("closed %v, leases %v", got, s.leases())
	}
	if _, err := os.Stat(s.sp.tabPath("app", "research")); err != nil {
		t.Error("the record of the other host is lost")
	}
	// Without a host a record is ours, unless the root is shared.
	c := s.inTab("c", "old")
	s.tabHost("app", "old", "")
	var raw map[string]any
	data, err := os.ReadFile(filepath.Join(s.sp.Leases.tabsDir(), "app,old.json"))
	if err != nil || json.Unmarshal(data, &raw) != nil || raw["host"] != nil {
		t.Errorf("%s %v", data, err)
	}
	s.sp.Shared = true
	if got := tick(); got != nil {
		t.Errorf("closed %v", got)
	}
	s.sp.Shared = false
	if got := tick(); !slices.Equal(got, []string{"old"}) {
		t.Errorf("closed %v", got)
	}
	if _, there := s.Get(c.Pane); there {
		t.Error("its pane is left")
	}
}

// A run on another host is neither shown nor given up here.
func TestRunOfAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.request("wf")
	r.Kind = ""
	l := s.spawn(r)
	s.moveTo("elsewhere", l)
	run := Run{ID: "wf-1", Name: "wf", Status: Running, Phase: "Plan"}
	run.FromLease(l)
	st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here}
	if err := st.Changed(t.Context(), &run, &run, nil); err != nil {
		t.Error(err)
	}
	s.Remove(l.Pane)
	if st.Gone(t.Context())(&run) || len(s.Requests("pane.report_agent")) != 0 {
		t.Error("it was asked of the herdr of this host")
	}
	run.Status = Completed
	if err := st.Changed(t.Context(), &run, &run, nil); err == nil || !s.leases()[0].Over {
		t.Errorf("%v %+v", err, s.leases())
	}
	// Records from before the socket stood in them: their leases say it.
	old := Run{ID: "old-1", Own: true, Terminal: l.Terminal, SpawnID: l.SpawnID}
	if st.Gone(t.Context())(&old) {
		t.Error("the lease is of another host")
	}
	s.moveTo(fsx.Host(), l)
	if !st.Gone(t.Context())(&old) {
		t.Error("the pane is gone")
	}
}
