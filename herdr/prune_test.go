package herdr

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Only what is proven over is freed.
func TestPrune(t *testing.T) {
	s := newSite(t)
	a, b := s.spawn(s.request("a")), s.spawn(s.request("b"))
	dead := self(t)
	dead.StartTime++
	for i, owner := range []fsx.Process{self(t), dead, {PID: 1, Host: "elsewhere"}} {
		if _, err := s.sp.Leases.Acquire(Lease{SpawnID: fmt.Sprint("opening-", i), Name: "x", Session: "app", Owner: owner, Socket: s.Path}); err != nil && i < 2 {
			t.Fatal(err)
		}
	}
	s.Remove(a.Pane)
	s.Move(b.Pane)
	s.Stop()
	freed, err := s.sp.Prune(t.Context(), nil)
	if !IsUnavailable(err) || len(freed) != 1 || freed[0].SpawnID != "opening-1" {
		t.Errorf("without herdr: %v %v", freed, err)
	}
	s.Start()
	freed, err = s.sp.Prune(t.Context(), nil)
	if err != nil || len(freed) != 1 || freed[0].Name != "a" {
		t.Errorf("%v %v", freed, err)
	}
	if left := s.leases(); len(left) != 2 || left[0].Name != "b" || left[1].SpawnID != "opening-0" {
		t.Errorf("%v", left)
	}
	// Another herdr knows nothing of these panes.
	other := newSite(t)
	other.sp.Leases = s.sp.Leases
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 0 {
		t.Errorf("%v %v", freed, err)
	}
	// It may know that there is none any more, but who opened a pane may come back.
	dead.StartTime++
	r := s.request("d")
	r.Owner = dead
	s.sp.Leases.Max = 8
	s.spawn(r)
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 0 {
		t.Errorf("%v %v", freed, err)
	}
	s.Fault("ping", -1, herdrtest.Silent)
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 0 {
		t.Errorf("%v %v", freed, err)
	}
	s.Behave()
	s.Stop()
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 1 || freed[0].Name != "d" {
		t.Errorf("%v %v", freed, err)
	}
	// Nothing outlives a restart of the machine.
	restore := fsx.SetBootID("another")
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 2 {
		t.Errorf("%v %v", freed, err)
	}
	restore()
	s.Start()
	s.spawn(s.request("e"))
	// After a restart of herdr the terminals are others.
	s.Restarted()
	if freed, err := s.sp.Prune(t.Context(), nil); err != nil || len(freed) != 1 {
		t.Errorf("%v %v", freed, err)
	}
}

// A pane that its end has left is closed later, and only while it is its own.
func TestPruneClosesWhatIsOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sp.Leases.Max = 8
	a, b, c, d := s.spawn(s.request("a")), s.spawn(s.request("b")), s.spawn(s.request("c")), s.spawn(s.request("d"))
	s.Fault("", -1, herdrtest.Silent)
	if err := s.sp.Close(t.Context(), a.SpawnID); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
	ended := func(session, spawnID string) bool { return session == "app" && spawnID == d.SpawnID }
	if freed, err := s.sp.Prune(t.Context(), ended); !IsUnavailable(err) || len(freed) != 0 {
		t.Errorf("a silent herdr: %v %v", freed, err)
	}
	s.Behave()
	// A pane that herdr keeps is tried again; one that is another's is not touched.
	s.Fault("pane.close", 1, herdrtest.Refuse(CodeConfirm, "sure?"))
	if err := s.sp.Close(t.Context(), b.SpawnID); CodeOf(err) != CodeConfirm {
		t.Errorf("%v", err)
	}
	s.Reuse(b.Pane)
	// Whoever is told of another herdr closes it where it is.
	other := newSite(t)
	other.sp.Leases = s.sp.Leases
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 2 {
		t.Errorf("%v %v", freed, err)
	}
	if freed, err := s.sp.Prune(t.Context(), ended); err != nil || len(freed) != 1 || freed[0].Name != "d" {
		t.Errorf("%v %v", freed, err)
	}
	if list := s.leases(); len(list) != 1 || list[0].SpawnID != c.SpawnID || len(s.Panes()) != 3 {
		t.Errorf("leases %+v\npanes %+v", list, s.Panes())
	}
	if _, there := s.Get(a.Pane); there {
		t.Error("the pane of a is left")
	}
	// The caller's own pane is no leftover.
	s.sp.Here.Pane = c.Pane
	if err := s.sp.Close(t.Context(), c.SpawnID); err == nil || s.leases()[0].Over {
		t.Errorf("%v %+v", err, s.leases())
	}
}

// A pane of which nobody knows the id, as the answer that had it was lost, is found
// once herdr answers again; until then its lease stays.
func TestPruneFindsWhatWasLost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it is found in /proc")
	}
	s := newSite(t, func(srv *herdrtest.Server) {
		srv.OnPane = func(_, _ string, env map[string]string) int { return sleeper(t, env) }
	})
	s.sp.Client.Act = 200 * time.Millisecond
	s.Fault("pane.split", 1, herdrtest.Deaf)
	s.Fault("pane.list", -1, herdrtest.Silent)
	r := s.request("bob")
	r.Owner.StartTime++ // it dies then
	if _, err := s.sp.Spawn(t.Context(), r); !IsUnavailable(err) {
		t.Fatal(err)
	}
	other := newSite(t)
	other.sp.Leases = s.sp.Leases
	for _, sp := range []*Spawner{s.sp, other.sp} {
		if freed, _ := sp.Prune(t.Context(), nil); len(freed) != 0 || len(s.Panes()) != 2 {
			t.Errorf("%v, %d panes", freed, len(s.Panes()))
		}
	}
	s.Behave()
	if freed, err := other.sp.Prune(t.Context(), nil); err != nil || len(freed) != 1 || len(s.Panes()) != 1 {
		t.Errorf("%v %v, %d panes", freed, err, len(s.Panes()))
	}
}
