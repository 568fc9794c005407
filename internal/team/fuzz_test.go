package team

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// fuzzTeam is a team with ann in it, in memory where that can be had: its files
// are written very often.
func fuzzTeam(f *testing.F) (*Team, Teammate) {
	f.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "team")
	if err != nil {
		dir = f.TempDir()
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	t := Open(Place{Root: filepath.Join(dir, "root"), Session: "s", Project: "/p", Cwd: "/p"})
	ann, err := t.Join(f.Context(), JoinRequest{Name: "ann"})
	if err != nil {
		f.Fatal(err)
	}
	return t, ann
}

// wantCorrupt checks that what cannot be read says so, with its path.
func wantCorrupt(t *testing.T, path string, err error) {
	t.Helper()
	var e *errs.Error
	if errs.CodeOf(err) != errs.Corrupt || !asError(err, &e) || e.Path == "" || filepath.Dir(e.Path) != filepath.Dir(path) {
		t.Fatalf("%s: %v", path, err)
	}
}

func asError(err error, to **errs.Error) bool {
	e, ok := err.(*errs.Error)
	*to = e
	return ok
}

// FuzzTeammate: a record is read or is corrupt, and what was read is written so
// that it reads the same again, with what is not known.
func FuzzTeammate(f *testing.F) {
	team, ann := fuzzTeam(f)
	path := team.TeammateFile("ann")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")))
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"name":"ann","spawnId":"x","child":{"pid":5},"usage":{"tokens":1e3},"theirs":{"a":[1.0,null]},"pid":null}`))
	f.Add([]byte(`{"name":"ann","spawnId":"x","spawnId":"y","Name":"bob","drained":"yes"}`))
	f.Add([]byte(`{"name":"../x","spawnId":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		write(t, path, data)
		one, err := team.Read("ann")
		if err != nil {
			wantCorrupt(t, path, err)
			return
		}
		if one.Name != "ann" || one.SpawnID == "" {
			t.Fatalf("%+v", one)
		}
		_ = team.Liveness(one)
		_ = team.Exports(one)
		if err := team.replace(one); err != nil {
			t.Fatal(err)
		}
		two, err := team.Read("ann")
		if err != nil {
			t.Fatalf("what it wrote cannot be read: %v", err)
		}
		a, b := recordOf(t, one), recordOf(t, two)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q is not stable:\n%s\n%s", data, a, b)
		}
	})
	_ = ann
}

// recordOf is a record as it is written.
func recordOf(t *testing.T, tm Teammate) []byte {
	t.Helper()
	data, err := rawjson.Append(nil, teammateFields, &tm, tm.extra)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzRecords: every small record of a session is read or is corrupt, whatever
// it holds, and no name in one leads out of the session.
func FuzzRecords(f *testing.F) {
	team, ann := fuzzTeam(f)
	for _, seed := range []string{
		`{"key":"s","project":"/p","created":5,"shared":true,"more":{}}`,
		`{"id":"w1","for":"leader","tasks":["t_1","t_2"],"told":["t_1"],"createdAt":1}`,
		`{"id":"w1","for":"ann","spawnId":"` + ann.SpawnID + `","tasks":["t_9"],"told":[]}`,
		`{"id":"w1","for":"leader","tasks":["t_9"],"told":[],"message":"../../../../../x","telling":["t_9"]}`,
		`{"id":"w1","for":"../../../x","tasks":["t_9"],"told":[]}`,
		`{"id":"q_1","from":"ann","question":"?","options":["a"],"process":{"pid":1}}`,
		`{"outcome":"answered","text":"a"}`,
		`{"id":"r1","from":"ann","to":"leader","sent":5}`,
		`{"revision":5,"pending":[{"revision":4,"id":"x"}]}`,
		`{"spawnId":"` + ann.SpawnID + `","told":{"t_1":1},"message":"../../x","tasks":[{"id":"t_1"}],"pending":true}`,
		`{"running":true,"pid":5,"problems":["x"]}`, `{"host":"a/b"}`, `{"done":true,"id":"x"}`, `null`, `[]`, `{`, "",
	} {
		f.Add([]byte(seed))
	}
	b, err := fsboard.Open(fsboard.Options{Dir: team.BoardDir(), Root: team.Root, Session: "s", Roster: team})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := b.Add(f.Context(), fsboard.NewTask{Subject: "one"}); err != nil {
		f.Fatal(err)
	}
	session, err := os.ReadFile(team.SessionFile())
	if err != nil {
		f.Fatal(err)
	}
	outside := filepath.Dir(team.Root)
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(path string, read func() error) {
			t.Helper()
			write(t, path, data)
			err := read()
			if err != nil {
				wantCorrupt(t, path, err)
			}
			_ = os.Remove(path)
		}
		read(team.SessionFile(), func() error { _, err := team.ReadSession(); return err })
		write(t, team.SessionFile(), session)
		read(team.askPath("q_1"), func() error { _, err := team.readAsk("q_1"); return err })
		read(team.answerPath("q_1"), func() error { _, err := team.readAnswer("q_1"); return err })
		read(team.requestPath("ann", "r1"), func() error { _, err := readRequest(team.requestPath("ann", "r1")); return err })
		read(team.noticesFile(), func() error { _, err := team.published(); return err })
		read(team.offerFile("ann"), func() error { _, err := team.readOffers(ann); return err })
		read(team.harnessFile(), func() error { _, err := team.HarnessStatus(); return err })
		read(team.hostFile("h"), func() error { _, err := team.readHost(team.hostFile("h")); return err })
		// A registration is acted upon.
		path := team.watchPath("w1")
		write(t, path, data)
		_, _, err := team.settleWatch(t.Context(), b, "w1", 0)
		if err != nil && errs.CodeOf(err) == errs.Internal {
			t.Fatal(err)
		}
		_ = os.Remove(path)
		if names, _ := os.ReadDir(outside); len(names) != 1 {
			t.Fatalf("%q led out of the root: %v", data, names)
		}
		if names, _ := os.ReadDir(team.Root); len(names) != 2 {
			t.Fatalf("%q led out of the session: %v", data, names)
		}
		if names, _ := os.ReadDir(team.TeammateDir("ann")); slices.ContainsFunc(names, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".md" }) {
			t.Fatalf("%q led out of the mailbox: %v", data, names)
		}
	})
}

// FuzzLedger: a line is a row or is skipped, and a row is written so that it
// reads the same again.
func FuzzLedger(f *testing.F) {
	team, ann := fuzzTeam(f)
	row, err := json.Marshal(team.ledgerRow(ann, LedgerRunning, "spawn"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row)
	f.Add([]byte(`{"taskId":"a","kind":"resident","status":"closed","sessionFile":"x","launchCommand":null}`))
	f.Add([]byte(`{"taskId":"a","kind":7,"status":"running"}`))
	f.Add([]byte("\x00\x00\n{}\n" + `{"taskId":"a","status":"unheard"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, ok := parseLedgerRow(data)
		if ok {
			again, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			two, ok := parseLedgerRow(again)
			third, _ := json.Marshal(two)
			if !ok || !bytes.Equal(again, third) {
				t.Fatalf("%q is not stable:\n%s\n%s", data, again, third)
			}
		}
		write(t, team.LedgerPath(), data)
		rows, skipped, err := team.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(rows)+skipped > lines {
			t.Fatalf("%d rows and %d skipped of %d lines", len(rows), skipped, lines)
		}
		for _, r := range rows {
			if r.TaskID == "" || r.LaunchCommand == nil {
				t.Fatalf("%+v", r)
			}
			if found, err := team.LedgerFind(r.TaskID); err != nil || found.TaskID != r.TaskID {
				t.Fatalf("%q is not found: %v", r.TaskID, err)
			}
		}
	})
}
