package team

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

const racers = 8

// race lets every helper do the same at once, and returns the answers.
func race(t *testing.T, hs []*helper, line string) []helperReply {
	t.Helper()
	for _, h := range hs {
		h.send(line)
	}
	rs := make([]helperReply, len(hs))
	for i, h := range hs {
		var ok bool
		if rs[i], ok = h.read(); !ok {
			t.Fatalf("helper %d died at %q", i, line)
		}
	}
	return rs
}

func startRacers(t *testing.T, root string) []*helper {
	hs := make([]*helper, racers)
	for i := range hs {
		hs[i] = startHelper(t, root)
	}
	return hs
}

// Of 8 processes that want one name, exactly one creates the life.
func TestJoinRace(t *testing.T) {
	team := newTeam(t)
	hs := startRacers(t, team.Root)
	for round := range 100 {
		ops := []string{"join", "bare"}
		if round >= 20 {
			ops = ops[:1]
		}
		for _, op := range ops {
			name := fmt.Sprintf("%s%d", op, round)
			wins := 0
			for _, r := range race(t, hs, op+" "+name) {
				switch errs.Code(r.Code) {
				case "":
					wins++
					if tm, err := team.Read(name); err != nil || tm.SpawnID != r.Spawn {
						t.Errorf("%s: told %s, the record has %s (%v)", name, r.Spawn, tm.SpawnID, err)
					}
				case errs.NameTaken:
				default:
					t.Errorf("%s: %+v", name, r)
				}
			}
			if wins != 1 {
				t.Fatalf("%s: %d winners", name, wins)
			}
		}
	}
	teammates, problems, err := team.List()
	if len(teammates) != 120 || len(problems) != 0 || err != nil {
		t.Errorf("%d teammates, problems %v, %v", len(teammates), problems, err)
	}
}

// The same for a name whose life is over: one successor.
func TestSuccessionRace(t *testing.T) {
	team := newTeam(t)
	hs := startRacers(t, team.Root)
	last := must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	for round := range 24 {
		must(team.Leave(t.Context(), "ann", last.SpawnID, nil))(t)
		wins := 0
		for _, r := range race(t, hs, []string{"join ann", "held ann"}[round/22]) {
			if r.Code == "" {
				wins++
			} else if errs.Code(r.Code) != errs.NameTaken {
				t.Errorf("round %d: %+v", round, r)
			}
		}
		tm := must(team.Read("ann"))(t)
		if wins != 1 || tm.PreviousSpawnID != last.SpawnID {
			t.Fatalf("round %d: %d winners, %+v", round, wins, tm)
		}
		last = tm
		if round/22 == 1 {
			// The winner holds the lock until it ends.
			for i, h := range hs {
				if h.cmd.Process.Pid == tm.PID {
					h.kill()
					hs[i] = startHelper(t, team.Root)
				}
			}
		}
	}
}

// Whoever comes with --as shares the life that the first one made.
func TestAsRace(t *testing.T) {
	team := newTeam(t)
	hs := startRacers(t, team.Root)
	for round := range 50 {
		name := "n" + strconv.Itoa(round)
		for range 2 { // a new name, then a stopped one
			rs := race(t, hs, "as "+name)
			tm := must(team.Read(name))(t)
			for _, r := range rs {
				if r.Code != "" || r.Spawn != tm.SpawnID {
					t.Fatalf("%s: %+v, the record has %s", name, r, tm.SpawnID)
				}
			}
			must(team.Leave(t.Context(), name, tm.SpawnID, nil))(t)
		}
	}
}

// Work loops that start at once get names of their own.
func TestFirstFreeRace(t *testing.T) {
	team := newTeam(t)
	hs := startRacers(t, team.Root)
	var names []string
	for range 3 {
		for _, r := range race(t, hs, "free w") {
			if r.Code != "" {
				t.Fatalf("%+v", r)
			}
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	if got := slices.Compact(slices.Clone(names)); len(got) != 3*racers {
		t.Errorf("names %v", names)
	}
	for _, name := range names {
		n, _ := strconv.Atoi(name[1:])
		if n < 1 || n > 3*racers {
			t.Errorf("%s is not the first free one", name)
		}
	}
}
