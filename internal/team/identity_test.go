package team

import (
	"os"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// from resolves a caller's place from its environment, in the session of t.
func (t *Team) from(tt *testing.T, as string, e fakeEnv) *Team {
	tt.Helper()
	full := fakeEnv{EnvRoot: t.Root, EnvSession: t.Session}
	for k, v := range e {
		full[k] = v
	}
	return Open(must(Resolve(Input{Getenv: full.get, Cwd: realTemp(tt), As: as}))(tt))
}

func TestLeader(t *testing.T) {
	team := newTeam(t)
	for _, c := range []struct {
		as   string
		env  fakeEnv
		code errs.Code
	}{
		{"", fakeEnv{}, ""},
		{"leader", fakeEnv{}, ""},
		{"", fakeEnv{EnvName: "ann"}, errs.LeaderOnly},
		{"leader", fakeEnv{EnvName: "ann"}, errs.LeaderOnly},
		{"ann", fakeEnv{}, errs.LeaderOnly},
		{"", fakeEnv{EnvSpawn: "x"}, errs.StaleIdentity},
		{"leader", fakeEnv{EnvSpawn: "x"}, errs.StaleIdentity},
		{"", fakeEnv{EnvName: "ann", EnvSpawn: "x"}, errs.LeaderOnly},
	} {
		id, err := team.from(t, c.as, c.env).Leader()
		if errs.CodeOf(err) != c.code {
			t.Errorf("--as %q in %v: %v, want %q", c.as, c.env, err, c.code)
		}
		if err != nil {
			if errs.Exit(errs.CodeOf(err)) != 5 {
				t.Errorf("%v exits %d", err, errs.Exit(errs.CodeOf(err)))
			}
			continue
		}
		if !id.Leader || id.Name != LeaderName {
			t.Errorf("%+v", id)
		}
		if id2, err := team.from(t, c.as, c.env).Actor(t.Context()); err != nil || id2 != id {
			t.Errorf("%+v, %v", id2, err)
		}
	}
	wantNothing(t, team.Root)
}

func TestWorkerWithoutName(t *testing.T) {
	team := newTeam(t)
	for _, as := range []string{"", "leader"} {
		_, err := team.from(t, as, nil).Worker(t.Context())
		wantCode(t, err, errs.Usage)
		if e := err.(*errs.Error); e.Hint != `eval "$(teams join w1 --pid $$)"` {
			t.Errorf("hint %q", e.Hint)
		}
	}
	_, err := team.from(t, "leader", fakeEnv{EnvName: "ann"}).Worker(t.Context())
	wantCode(t, err, errs.LeaderOnly)
	_, err = team.from(t, "ann", fakeEnv{EnvSpawn: "x"}).Worker(t.Context())
	wantCode(t, err, errs.StaleIdentity)
	wantNothing(t, team.Root)
}

func TestStaleIdentityChangesNothing(t *testing.T) {
	team := newTeam(t)
	first := must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	mine := team.from(t, "", fakeEnv{EnvName: "ann", EnvSpawn: first.SpawnID})
	if id, err := mine.Worker(t.Context()); err != nil || id.SpawnID != first.SpawnID || id.Name != "ann" {
		t.Fatal(id, err)
	}
	if err := mine.CheckLife(); err != nil {
		t.Fatal(err)
	}
	stale := func(what string) {
		t.Helper()
		before := string(must(os.ReadFile(team.TeammateFile("ann")))(t)) + listTree(t, team.Root)
		_, err := mine.Worker(t.Context())
		wantCode(t, err, errs.StaleIdentity)
		_, err = mine.Actor(t.Context())
		wantCode(t, err, errs.StaleIdentity)
		wantCode(t, mine.CheckLife(), errs.StaleIdentity)
		_, err = mine.Leave(t.Context(), "ann", "another", nil)
		wantCode(t, err, errs.StaleIdentity)
		if after := string(must(os.ReadFile(team.TeammateFile("ann")))(t)) + listTree(t, team.Root); after != before {
			t.Errorf("%s: before\n%safter\n%s", what, before, after)
		}
	}
	must(team.Leave(t.Context(), "ann", "", nil))(t)
	stale("stopped")
	must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	stale("another life")
	if id := mine.Reader(); id.Name != "ann" || id.SpawnID != first.SpawnID {
		t.Errorf("a reader may look all the same: %+v", id)
	}

	gone := team.from(t, "", fakeEnv{EnvName: "nobody", EnvSpawn: "x"})
	_, err := gone.Worker(t.Context())
	wantCode(t, err, errs.StaleIdentity)
	wantNothing(t, team.TeammateDir("nobody"))
}

func TestNameAlone(t *testing.T) {
	for _, via := range []string{"--as", EnvName} {
		t.Run(via, func(t *testing.T) {
			team := newTeam(t)
			call := func(name string) (Identity, error) {
				if via == "--as" {
					return team.from(t, name, nil).Worker(t.Context())
				}
				return team.from(t, "", fakeEnv{EnvName: name}).Worker(t.Context())
			}
			// An unknown name joins.
			id := must(call("ann"))(t)
			tm := must(team.Read("ann"))(t)
			if id.SpawnID != tm.SpawnID || tm.Kind != KindShell || tm.PID != 0 || tm.Status != StatusIdle || !tm.Drained {
				t.Errorf("%+v %+v", id, tm)
			}
			// It is used as it is.
			before := must(os.ReadFile(team.TeammateFile("ann")))(t)
			if again := must(call("ann"))(t); again != id {
				t.Errorf("%+v, then %+v", id, again)
			}
			if after := must(os.ReadFile(team.TeammateFile("ann")))(t); string(after) != string(before) {
				t.Errorf("rewritten: %s", after)
			}
			// A stopped one gets a new life.
			must(team.Leave(t.Context(), "ann", "", nil))(t)
			next := must(call("ann"))(t)
			if tm := must(team.Read("ann"))(t); next.SpawnID == id.SpawnID || tm.PreviousSpawnID != id.SpawnID {
				t.Errorf("%+v", tm)
			}
			// So does a dead one, since a claim of its old life would be refused.
			p, end := sleeper(t)
			dead := must(team.Join(t.Context(), JoinRequest{Name: "bob", Process: &p}))(t)
			_, err := call("bob")
			wantCode(t, err, errs.NameTaken)
			if e := err.(*errs.Error); !strings.Contains(e.Hint, "teams join bob --takeover") {
				t.Errorf("hint %q", e.Hint)
			}
			end()
			if id := must(call("bob"))(t); id.SpawnID == dead.SpawnID {
				t.Errorf("%+v", id)
			}
			// One that may live where it cannot be seen is refused too.
			p.Host = "elsewhere"
			putRecord(t, team, Teammate{Name: "carl", Kind: KindShell, Status: StatusIdle, PID: p.PID, Host: "elsewhere"})
			_, err = call("carl")
			wantCode(t, err, errs.NameTaken)
			// And a living resident.
			putRecord(t, team, Teammate{Name: "dora", Kind: KindPi, Status: StatusIdle, Host: fsx.Host()})
			lock := must(fsx.Acquire(t.Context(), team.AliveLock("dora"), 0))(t)
			defer lock.Unlock()
			_, err = call("dora")
			wantCode(t, err, errs.NameTaken)
		})
	}
}

func TestReader(t *testing.T) {
	team := newTeam(t)
	a := must(team.Join(t.Context(), JoinRequest{Name: "ann", Agent: "reviewer"}))(t)
	if id := team.from(t, "ann", nil).Reader(); id != (Identity{Name: "ann", SpawnID: a.SpawnID, Agent: "reviewer"}) {
		t.Errorf("%+v", id)
	}
	if id := team.from(t, "bob", nil).Reader(); id != (Identity{Name: "bob"}) {
		t.Errorf("%+v", id)
	}
	wantNothing(t, team.TeammateDir("bob"))
}

// badNames are the names of the fault list, and more.
var badNames = []string{"../x", ".", "..", "-rf", "a/b", "LEADER", "Ann", "con", "nul", "com1", "",
	strings.Repeat("a", 33), "😀", "a\x00b", "a b", "1a", "_a", "ä", "a\n", "leader", "harness", "board", "all", "human",
	"runs", "asks", "todo", "terms", "watches", "hosts"}

func TestBadNamesCreateNothing(t *testing.T) {
	team := newTeam(t)
	for _, name := range badNames {
		_, err := team.Join(t.Context(), JoinRequest{Name: name})
		wantCode(t, err, errs.Usage)
		_, err = team.Join(t.Context(), JoinRequest{Name: name, Takeover: true})
		wantCode(t, err, errs.Usage)
		_, _, err = team.JoinHeld(t.Context(), JoinRequest{Name: name})
		wantCode(t, err, errs.Usage)
		_, err = team.Leave(t.Context(), name, "", nil)
		wantCode(t, err, errs.Usage)
		_, err = team.Find(name)
		wantCode(t, err, errs.Usage)
		if name == "" {
			continue // counts as unset
		}
		_, err = Resolve(Input{Getenv: fakeEnv{EnvRoot: team.Root, EnvName: name}.get, Cwd: "/"})
		wantCode(t, err, errs.Usage)
		if name == LeaderName {
			continue // --as leader is the leader
		}
		_, err = Resolve(Input{Getenv: fakeEnv{EnvRoot: team.Root}.get, Cwd: "/", As: name})
		wantCode(t, err, errs.Usage)
		direct := *team
		direct.Name = name
		_, err = direct.Worker(t.Context())
		wantCode(t, err, errs.Usage)
	}
	_, err := team.Join(t.Context(), JoinRequest{Name: "ann", Agent: "No Agent"})
	wantCode(t, err, errs.Usage)
	_, _, err = team.FirstFree(t.Context(), "../", JoinRequest{})
	wantCode(t, err, errs.Usage)
	wantNothing(t, team.Root)
	for _, name := range []string{"a", "w1", "con1", "com", "com0", "leader2", strings.Repeat("a", 32), "a-_9"} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
}

// Who borrows a teammate's name answers no question either.
func TestAnswerBorrowed(t *testing.T) {
	team := newTeam(t)
	if err := team.CheckHuman(); err != nil {
		t.Fatal(err)
	}
	team.Name = "ann"
	wantCode(t, team.CheckHuman(), errs.LeaderOnly)
}
