package team

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson/rawjsontest"
)

func TestTablesOfFields(t *testing.T) {
	rawjsontest.SameAsTags(t, teammateFields)
	rawjsontest.SameAsTags(t, sessionFields)
}

func TestRecordRoundTrip(t *testing.T) {
	tm := newTeam(t)
	want := Teammate{
		Name: "ann", Label: "<A & B>\n", Agent: "worker", Kind: KindPi, SpawnID: "s2", PreviousSpawnID: "s1",
		Status: StatusWorking, PID: 7, StartTime: 1 << 60, BootID: "b", PIDNamespace: "n", Host: "h",
		Child: &Child{PID: 8, StartTime: 9}, Drained: true, Cwd: "/a\nb", Worktree: "/w", Branch: "teams/ann-1",
		CurrentTask: "t_1", Activity: "x", LastOutputAt: 1, Turns: 2, Usage: &Usage{Tokens: 3, Cost: 0.5},
		Error: "e", CreatedAt: 4, UpdatedAt: 5, StoppedAt: 6,
	}
	if err := tm.create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got := must(tm.Read("ann"))(t)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if err := tm.create(t.Context(), want); !errors.Is(err, fs.ErrExist) {
		t.Errorf("taken: %v", err)
	}
	data := must(os.ReadFile(tm.TeammateFile("ann")))(t)
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines != len(plain)+2 {
		t.Errorf("%d keys on %d lines", len(plain), lines)
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	tm := newTeam(t)
	must(tm.EnsureSession())(t)
	writeFile(t, tm.TeammateFile("ann"), `{"zeta": {"a": [1,
	  2]}, "name":"ann","kind":"shell","spawnId":"s1","status":"idle","drained":true,
	  "SpawnID":"trap", "isolation":"none", "big": 123456789012345678901234567890, "createdAt":1,"updatedAt":1}`)
	if _, err := tm.Update(t.Context(), "ann", "s1", func(tm *Teammate) error { tm.Turns = 3; return nil }); err != nil {
		t.Fatal(err)
	}
	data := string(must(os.ReadFile(tm.TeammateFile("ann")))(t))
	for _, want := range []string{"\n" + `  "zeta": {"a":[1,2]}`, `"SpawnID": "trap"`, `"isolation": "none"`,
		`"big": 123456789012345678901234567890`, `"spawnId": "s1"`, `"turns": 3`} {
		if !strings.Contains(data, want) {
			t.Errorf("%s is missing from\n%s", want, data)
		}
	}
	// They are of the teammate, so a further life has them too.
	must(tm.Leave(t.Context(), "ann", "s1", nil))(t)
	must(tm.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	if data := must(os.ReadFile(tm.TeammateFile("ann")))(t); !strings.Contains(string(data), `"isolation": "none"`) {
		t.Errorf("lost in\n%s", data)
	}
}

func TestCorruptRecords(t *testing.T) {
	tm := newTeam(t)
	must(tm.Join(t.Context(), JoinRequest{Name: "good"}))(t)
	bad := map[string]func(path string) error{
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"zeros":   func(p string) error { return os.WriteFile(p, make([]byte, 100), 0o600) },
		"torn":    func(p string) error { return os.WriteFile(p, []byte(`{"name":"torn","spawnId":"x"`), 0o600) },
		"null":    func(p string) error { return os.WriteFile(p, []byte(`null`), 0o600) },
		"array":   func(p string) error { return os.WriteFile(p, []byte(`[]`), 0o600) },
		"types":   func(p string) error { return os.WriteFile(p, []byte(`{"name":"types","spawnId":7}`), 0o600) },
		"other":   func(p string) error { return os.WriteFile(p, []byte(`{"name":"good","spawnId":"x"}`), 0o600) },
		"nospawn": func(p string) error { return os.WriteFile(p, []byte(`{"name":"nospawn"}`), 0o600) },
		"huge":    func(p string) error { return os.WriteFile(p, make([]byte, maxRecord+1), 0o600) },
		"dir":     func(p string) error { return os.Mkdir(p, 0o700) },
		"link":    func(p string) error { return os.Symlink(tm.TeammateFile("good"), p) },
		"fifo":    func(p string) error { return syscall.Mkfifo(p, 0o600) },
	}
	for name, make := range bad {
		mkdirs(t, tm.TeammateDir(name))
		if err := make(tm.TeammateFile(name)); err != nil {
			t.Fatal(err)
		}
	}
	mkdirs(t, tm.TeammateDir("nobody")) // a directory without a record is no teammate
	writeFile(t, filepath.Join(tm.TeamDir(), "runs", "x.json"), "{}")

	list, problems, err := tm.List()
	if err != nil || len(list) != 1 || list[0].Name != "good" || len(problems) != len(bad) {
		t.Errorf("list %v, problems %v, %v", list, problems, err)
	}
	for name := range bad {
		path := tm.TeammateFile(name)
		before := listTree(t, tm.TeammateDir(name))
		for what, err := range map[string]error{
			"read":  second(tm.Read(name)),
			"join":  second(tm.Join(t.Context(), JoinRequest{Name: name})),
			"take":  second(tm.Join(t.Context(), JoinRequest{Name: name, Takeover: true})),
			"as":    second(tm.as(name, "").Worker(t.Context())),
			"spawn": second(tm.as(name, "x").Worker(t.Context())),
			"leave": second(tm.Leave(t.Context(), name, "", nil)),
		} {
			if errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), path) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
		if after := listTree(t, tm.TeammateDir(name)); after != before {
			t.Errorf("%s: before\n%safter\n%s", name, before, after)
		}
		if w := tm.Lookup(name, "x"); w.Life != 0 {
			t.Errorf("the life of %s is %v, want unknown", name, w.Life)
		}
	}
	free, lock, err := tm.FirstFree(t.Context(), "w", JoinRequest{})
	if err != nil || free.Name != "w1" {
		t.Errorf("%+v, %v", free, err)
	}
	lock.Unlock()
}

func second[T any](_ T, err error) error { return err }

func TestUpdate(t *testing.T) {
	tm := newTeam(t)
	a := must(tm.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	before := must(os.ReadFile(tm.TeammateFile("ann")))(t)
	_, err := tm.Update(t.Context(), "ann", "another", func(*Teammate) error { t.Error("called"); return nil })
	wantCode(t, err, errs.StaleIdentity)
	own := errors.New("no")
	if _, err := tm.Update(t.Context(), "ann", a.SpawnID, func(tm *Teammate) error { tm.Turns = 9; return own }); err != own {
		t.Error(err)
	}
	if after := must(os.ReadFile(tm.TeammateFile("ann")))(t); string(after) != string(before) {
		t.Errorf("changed to %s", after)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if _, err := tm.Update(t.Context(), "ann", "", func(tm *Teammate) error { tm.Turns++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := must(tm.Read("ann"))(t); got.Turns != 100 {
		t.Errorf("%d of 100 updates are left", got.Turns)
	}

	lock := must(fsx.Acquire(t.Context(), tm.teammateLock("ann"), 0))(t)
	defer lock.Unlock()
	short := *tm
	short.LockTimeout = 1
	_, err = short.Update(t.Context(), "ann", "", func(*Teammate) error { return nil })
	wantCode(t, err, errs.Busy)
}
