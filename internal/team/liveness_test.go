package team

import (
	"testing"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
)

// put writes a record, and with it the directories.
func putRecord(t *testing.T, team *Team, tm Teammate) {
	t.Helper()
	if tm.SpawnID == "" {
		tm.SpawnID = "s1"
	}
	if err := team.makeDirs(tm.Name); err != nil {
		t.Fatal(err)
	}
	if err := team.replace(tm); err != nil {
		t.Fatal(err)
	}
}

func TestLivenessTable(t *testing.T) {
	alive, _ := sleeper(t)
	dead, end := sleeper(t)
	end()
	reused := alive // the same number, another start time
	reused.StartTime++
	rebooted := alive
	rebooted.BootID = "another boot"
	otherHost := alive
	otherHost.Host = "elsewhere"
	otherNS := alive
	otherNS.PIDNamespace = "pid:[1]"
	noBoot := alive
	noBoot.BootID = ""
	short := func(p fsx.Process) *Child { return &Child{PID: p.PID, StartTime: p.StartTime} }
	self := must(fsx.Self())(t)

	for _, c := range []struct {
		name   string
		kind   string
		status string
		proc   *fsx.Process
		child  *Child
		held   bool
		want   fsx.Liveness
	}{
		{"stopped", KindPi, StatusStopped, &alive, &alive, false, fsx.Dead},
		{"stopped shell", KindShell, StatusStopped, &alive, nil, false, fsx.Dead},
		{"stopped, lock held", KindWork, StatusStopped, &alive, nil, true, fsx.Dead},

		{"shell without process", KindShell, StatusIdle, nil, nil, false, fsx.Unknown},
		{"shell without process, lock held", KindShell, StatusIdle, nil, nil, true, fsx.Unknown},
		{"living shell", KindShell, StatusIdle, &alive, nil, false, fsx.Alive},
		{"dead shell", KindShell, StatusIdle, &dead, nil, false, fsx.Dead},
		{"dead shell, lock held by an earlier host", KindShell, StatusIdle, &dead, nil, true, fsx.Dead},
		{"shell whose pid is used again", KindShell, StatusIdle, &reused, nil, false, fsx.Dead},
		{"shell of another boot", KindShell, StatusIdle, &rebooted, nil, false, fsx.Dead},
		{"shell of another host", KindShell, StatusIdle, &otherHost, nil, false, fsx.Unknown},
		{"shell of another namespace", KindShell, StatusIdle, &otherNS, nil, false, fsx.Unknown},
		{"shell without boot id", KindShell, StatusIdle, &noBoot, nil, false, fsx.Unknown},
		{"kind of the future", "robot", StatusIdle, &dead, nil, false, fsx.Unknown},

		{"held", KindPi, StatusWorking, &alive, nil, true, fsx.Alive},
		{"held, child gone", KindPi, StatusWorking, &alive, &dead, true, fsx.Alive},
		{"held by another host", KindPi, StatusWorking, &otherHost, nil, true, fsx.Alive},
		{"free, no child", KindPi, StatusIdle, &alive, nil, false, fsx.Dead},
		{"free, no child, other host", KindPi, StatusIdle, &otherHost, nil, false, fsx.Unknown},
		{"free, child lives", KindExec, StatusWorking, &dead, &alive, false, fsx.Alive},
		{"free, child gone", KindHerdr, StatusWorking, &dead, &dead, false, fsx.Dead},
		{"free, child's pid used again", KindWork, StatusWorking, &dead, &reused, false, fsx.Dead},
		{"free, child of another boot", KindWork, StatusWorking, &dead, &rebooted, false, fsx.Dead},
		{"free, child on another host", KindWork, StatusWorking, &dead, &otherHost, false, fsx.Unknown},
		{"free, child in another namespace", KindWork, StatusWorking, &dead, &otherNS, false, fsx.Unknown},
		{"free, short child lives", KindWork, StatusWorking, &self, short(alive), false, fsx.Alive},
		{"free, short child gone", KindWork, StatusWorking, &self, short(dead), false, fsx.Dead},
		{"free, short child, other host", KindWork, StatusWorking, &otherHost, short(dead), false, fsx.Unknown},
		{"free, empty record", KindWork, StatusIdle, &fsx.Process{}, nil, false, fsx.Unknown},

		{"starting, nobody spawns", KindPi, StatusStarting, nil, nil, false, fsx.Dead},
		{"stopping", KindPi, StatusStopping, &alive, &alive, false, fsx.Alive},
	} {
		t.Run(c.name, func(t *testing.T) {
			team := newTeam(t)
			tm := Teammate{Name: "ann", Kind: c.kind, Status: c.status, SpawnID: "s1", Child: c.child, Agent: "reviewer", Worktree: "/wt"}
			tm.SetProcess(c.proc)
			putRecord(t, team, tm)
			if c.held {
				lock := must(fsx.Acquire(t.Context(), team.AliveLock("ann"), 0))(t)
				defer lock.Unlock()
			}
			if got := team.Liveness(tm); got != c.want {
				t.Errorf("liveness %v, want %v", got, c.want)
			}
			life := map[fsx.Liveness]fsboard.Life{fsx.Unknown: fsboard.LifeUnknown,
				fsx.Alive: fsboard.LifeAlive, fsx.Dead: fsboard.LifeDead}[c.want]
			want := fsboard.Worker{Life: life, Agent: "reviewer", Cwd: "/wt"}
			if got := team.Lookup("ann", "s1"); got != want {
				t.Errorf("lookup %+v, want %+v", got, want)
			}
			if got := team.Lookup("ann", ""); got != want {
				t.Errorf("lookup of the present life %+v, want %+v", got, want)
			}
			if got := team.Lookup("ann", "s0"); got != (fsboard.Worker{Life: fsboard.LifeReplaced}) {
				t.Errorf("lookup of another life %+v", got)
			}
		})
	}
}

func TestStartingLivesWhileItIsSpawned(t *testing.T) {
	team := newTeam(t)
	tm := Teammate{Name: "ann", Kind: KindPi, Status: StatusStarting, SpawnID: "s1"}
	tm.SetProcess(nil)
	putRecord(t, team, tm)
	lock := must(fsx.Acquire(t.Context(), team.RosterLock(), 0))(t)
	if got := team.Liveness(tm); got != fsx.Alive {
		t.Error(got)
	}
	lock.Unlock()
	if got := team.Liveness(tm); got != fsx.Dead {
		t.Error(got)
	}
}

// A look at the record from before the host let a child run does not prove the
// death of that child.
func TestStaleRecordHidesNoChild(t *testing.T) {
	team := newTeam(t)
	old := Teammate{Name: "ann", Kind: KindExec, Status: StatusIdle, SpawnID: "s1"}
	old.SetProcess(nil)
	putRecord(t, team, old)
	child, end := sleeper(t)
	if err := team.SetChild(t.Context(), "ann", "s1", &child); err != nil {
		t.Fatal(err)
	}
	if got := team.Liveness(old); got != fsx.Alive {
		t.Error(got)
	}
	end()
	if got := team.Liveness(old); got != fsx.Dead {
		t.Error(got)
	}
}

func TestLookupWithoutRecord(t *testing.T) {
	team := newTeam(t)
	if got := team.Lookup("ann", "x"); got.Life != fsboard.LifeUnknown {
		t.Errorf("%v without a root", got.Life)
	}
	must(team.EnsureSession())(t)
	mkdirs(t, team.TeammateDir("dir"))
	for _, name := range []string{"ann", "dir", "../x", "", "leader", "a\x00b"} {
		if got := team.Lookup(name, "x"); got != (fsboard.Worker{Life: fsboard.LifeNoSuch}) {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestLookupRoleGate(t *testing.T) {
	team := newTeam(t)
	team.RoleVerify = func(agent string) string { return "check " + agent }
	a := must(team.Join(t.Context(), JoinRequest{Name: "ann", Agent: "reviewer"}))(t)
	b := must(team.Join(t.Context(), JoinRequest{Name: "bob"}))(t)
	for _, tm := range []Teammate{a, b} {
		if got := team.Lookup(tm.Name, tm.SpawnID); got.Verify != "" || got.Agent != tm.Agent {
			t.Errorf("the gate is found before it is needed: %+v", got)
		}
	}
	if got := team.RoleGate("reviewer"); got != "check reviewer" {
		t.Error(got)
	}
	team.RoleVerify = nil
	if got := team.RoleGate("reviewer"); got != "" {
		t.Error(got)
	}
}
