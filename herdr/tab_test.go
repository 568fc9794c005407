package herdr

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// labels are those of the tabs that the user has not made, sorted.
func (s *site) labels() (out []string) {
	for id, label := range s.Tabs() {
		if id != s.here.Tab {
			out = append(out, label)
		}
	}
	slices.Sort(out)
	return out
}

func (s *site) inTab(name, tab string) *Lease {
	s.t.Helper()
	r := s.request(name)
	r.Tab = tab
	return s.spawn(r)
}

// Related teammates share a tab; one of that name that is somebody else's is left
// alone.
func TestTabGroups(t *testing.T) {
	s := newSite(t)
	a, b := s.inTab("a", "research"), s.inTab("b", "research")
	if a.Tab != b.Tab || a.Tab == s.here.Tab || !slices.Equal(s.labels(), []string{"research"}) {
		t.Errorf("%+v %+v %v", a, b, s.labels())
	}
	other := s.request("c")
	other.Session, other.Tab = "other", "research"
	if c := s.spawn(other); c.Tab == a.Tab || !slices.Equal(s.labels(), []string{"research", "research-2"}) {
		t.Errorf("%+v %v", c, s.labels())
	}
	s.AddTab(s.here.Workspace, "exactly twenty chars")
	if d := s.inTab("d", "exactly twenty chars"); s.Tabs()[d.Tab] != "exactly twenty cha-2" {
		t.Errorf("%v", s.labels())
	}
	// With its last pane the tab is gone, and is made again.
	for _, l := range []*Lease{a, b} {
		if err := s.sp.Close(t.Context(), l.SpawnID); err != nil {
			t.Fatal(err)
		}
	}
	if e := s.inTab("e", "research"); s.Tabs()[e.Tab] != "research" {
		t.Errorf("%v", s.labels())
	}
}

// Several that open a tab at once get one.
func TestTabRace(t *testing.T) {
	s := newSite(t)
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := s.request(name)
			r.Tab = "together"
			if _, err := s.sp.Spawn(t.Context(), r); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if got := s.labels(); !slices.Equal(got, []string{"together"}) {
		t.Errorf("%v", got)
	}
}

// A tab closes after its grace, and only when all have ended, nobody is blocked,
// no person is in it, and it is not the caller's.
func TestTabGrace(t *testing.T) {
	now := time.Now()
	t.Cleanup(fsx.SetNow(func() time.Time { return now }))
	s := newSite(t)
	over := map[string]bool{}
	tick := func(after time.Duration) []string {
		t.Helper()
		now = now.Add(after)
		closed, err := s.sp.CloseTabs(t.Context(), func(_, spawnID string) bool { return over[spawnID] })
		if err != nil {
			t.Fatal(err)
		}
		return closed
	}
	a, b := s.inTab("a", "task"), s.inTab("b", "task")
	over[a.SpawnID] = true
	if got := append(tick(0), tick(time.Hour)...); got != nil {
		t.Errorf("one lives, closed %v", got)
	}
	over[b.SpawnID] = true
	s.SetState(b.Pane, StateBlocked)
	if got := append(tick(0), tick(time.Hour)...); got != nil {
		t.Errorf("one is blocked, closed %v", got)
	}
	s.SetState(b.Pane, StateIdle)
	if got := append(tick(0), tick(9*time.Minute)...); got != nil {
		t.Errorf("within the grace, closed %v", got)
	}
	// One that comes back starts it anew.
	c := s.inTab("c", "task")
	if got := tick(2 * time.Minute); got != nil {
		t.Errorf("closed %v", got)
	}
	over[c.SpawnID] = true
	if got := append(tick(0), tick(9*time.Minute)...); got != nil {
		t.Errorf("closed %v", got)
	}
	// A clock that is set back by a day does not hold it for a day.
	tick(-24 * time.Hour)
	mine, err := s.sp.Client.SplitPane(t.Context(), Split{Target: a.Pane, Direction: "down"})
	if err != nil {
		t.Fatal(err)
	}
	if got := tick(11 * time.Minute); !slices.Equal(got, []string{"task"}) || len(s.leases()) != 0 {
		t.Errorf("closed %v, leases %v", got, s.leases())
	}
	if _, ok := s.Get(mine.ID); !ok {
		t.Error("the pane of a person was closed")
	}
	if got := tick(time.Hour); got != nil {
		t.Errorf("closed twice: %v", got)
	}
	// The caller's own tab stays.
	d := s.inTab("d", "own")
	over[d.SpawnID] = true
	s.sp.Here = Here{Pane: d.Pane, Tab: d.Tab, Workspace: d.Workspace}
	if got := append(tick(0), tick(time.Hour)...); got != nil {
		t.Errorf("closed %v", got)
	}
	// Without herdr nothing is forgotten.
	s.sp.Here = s.here
	s.Stop()
	if _, err := s.sp.CloseTabs(t.Context(), func(string, string) bool { return true }); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
	s.Start()
	if got := append(tick(0), tick(11*time.Minute)...); !slices.Equal(got, []string{"own"}) {
		t.Errorf("closed %v", got)
	}
}
