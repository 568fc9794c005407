package fsboard

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// storyBoard has tasks in all states, an archive, and a claim and a submission
// that are only markers.
func storyBoard(t testing.TB) *Board {
	t.Helper()
	ctx := context.Background()
	isLive := false
	b := openTest(t, Options{HarnessLive: func() bool { return isLive }})
	addN(t, b, 7)
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	if _, err := b.Collect(ctx, 0, false); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_2", "ann")
	mustClaim(t, b, "t_3", "bob")
	if _, err := b.Submit(ctx, SubmitRequest{ID: "t_3", Worker: "bob", SpawnID: "bob-1", Status: "failed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t_4", "", false); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_5", "cid")
	isLive = true
	mustClaim(t, b, "t_6", "dan")
	r := submission("t_6", "dan")
	r.NoWait = true
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRepair restores what history and markers hold, whatever has become of
// the snapshot.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	base := storyBoard(t)
	whole := readFile(t, base.Path())
	cases := map[string]func(path string) error{
		"missing":   func(string) error { return nil },
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"NULs":      func(p string) error { return os.WriteFile(p, make([]byte, 12_061), 0o600) },
		"garbage":   func(p string) error { return os.WriteFile(p, []byte("not JSON"), 0o600) },
		"no format": func(p string) error { return os.WriteFile(p, []byte(`{"tasks":{}}`), 0o600) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"symlink":   func(p string) error { return os.Symlink("elsewhere.json", p) },
		"bad line": func(p string) error {
			return os.WriteFile(p, bytes.Replace(whole, []byte(`"subject":"task t_7"`), []byte(`"subject":"task t_7`), 1), 0o600)
		},
		"bad status": func(p string) error {
			return os.WriteFile(p, bytes.Replace(whole, []byte(`"t_7","status":"pending"`), []byte(`"t_7","status":"pendant"`), 1), 0o600)
		},
		"bad events": func(p string) error {
			return os.WriteFile(p, bytes.Replace(whole, []byte(`"events":[{`), []byte(`"events":[7,{`), 1), 0o600)
		},
	}
	for i := range 100 {
		n := len(whole) * i / 100
		cases[fmt.Sprintf("cut at %d", n)] = func(p string) error { return os.WriteFile(p, whole[:n], 0o600) }
	}
	for name, damage := range cases {
		b := openTest(t, Options{})
		if err := os.CopyFS(b.o.Dir, os.DirFS(base.o.Dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(b.Path()); err != nil {
			t.Fatal(err)
		}
		if err := damage(b.Path()); err != nil {
			t.Fatal(err)
		}
		broken, _ := os.ReadFile(b.Path())
		r, err := b.Repair(ctx)
		if err != nil || !r.Needed || r.Tasks != 6 || len(r.Problems) != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if name == "missing" {
			if r.Kept != "" {
				t.Errorf("%s: kept %s", name, r.Kept)
			}
		} else if kept, err := os.ReadFile(r.Kept); name != "directory" && name != "symlink" && (err != nil || !bytes.Equal(kept, broken)) {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
		for id, c := range map[string]struct {
			state State
			epoch int64
		}{"t_1": {StateCompleted, 0}, "t_2": {StateClaimed, 0}, "t_3": {StateWaiting, 3}, "t_4": {StateCancelled, 1}, "t_5": {StateClaimed, 0}, "t_6": {StateSubmitted, 0}, "t_7": {StateReady, 2}} {
			if v := wantState(t, b, id, c.state); v.Epoch != c.epoch || v.Archived != (id == "t_1") {
				t.Errorf("%s: %s is of epoch %d", name, id, v.Epoch)
			}
		}
		if s, err := b.load(); err != nil || s.head.NextTask != 8 || s.head.Revision != 11 {
			t.Errorf("%s: %+v, %v", name, s.head, err)
		}
		if d, err := b.Decide(ctx, "t_6"); err != nil || d.Outcome != OutcomeCompleted {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if v := mustAdd(t, b, NewTask{Subject: "next"})[0]; v.ID != "t_8" {
			t.Errorf("%s: the next task is %s", name, v.ID)
		}
		wantSound(t, b)
		if r, err := b.Repair(ctx); err != nil || r.Needed {
			t.Errorf("%s: again: %+v, %v", name, r, err)
		}
	}
}

// TestRepairBelievesMarkers: the lost snapshot may have held one revision that
// nothing else shows.
func TestRepairBelievesMarkers(t *testing.T) {
	ctx := context.Background()
	type lostCase struct {
		name string
		act  func(b *Board) *TaskView // its last revision is lost
		id   string
		want State
	}
	for _, c := range []lostCase{
		{"claim of the epoch after a release", func(b *Board) *TaskView {
			if _, err := b.Release(ctx, ReleaseRequest{ID: "t_1"}); err != nil {
				t.Fatal(err)
			}
			b.o.HarnessLive = live
			return mustClaim(t, b, "t_1", "bob")
		}, "t_1", StateClaimed},
		{"claim of the epoch after a reopening", func(b *Board) *TaskView {
			if _, err := b.Reopen(ctx, "t_2"); err != nil {
				t.Fatal(err)
			}
			b.o.HarnessLive = live
			return mustClaim(t, b, "t_2", "bob")
		}, "t_2", StateClaimed},
		{"submission of a claim that only the snapshot held", func(b *Board) *TaskView {
			v := mustClaim(t, b, "t_3", "bob")
			b.o.HarnessLive = live
			r := submission("t_3", "bob")
			r.NoWait = true
			if _, err := b.Submit(ctx, r); err != nil {
				t.Fatal(err)
			}
			return v
		}, "t_3", StateSubmitted},
	} {
		b := openTest(t, Options{})
		addN(t, b, 3)
		mustClaim(t, b, "t_1", "ann")
		mustClaim(t, b, "t_2", "cid")
		mustSubmit(t, b, "t_2", "cid")
		mustAdd(t, b, NewTask{Subject: "last"})
		history, ready := readFile(t, b.historyPath()), readFile(t, b.readyPath())
		told := c.act(b)
		// The last revision was in the snapshot alone.
		writeFile(t, b.historyPath(), history)
		writeFile(t, b.readyPath(), ready)
		writeFile(t, b.Path(), nil)
		b = again(t, b)
		r, err := b.Repair(ctx)
		if err != nil || len(r.Problems) != 0 {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		v := wantState(t, b, c.id, c.want)
		if v.Claim.Token != told.Claim.Token || v.Epoch != told.Epoch {
			t.Errorf("%s: told %+v, holds %+v", c.name, told, v)
		}
		for _, id := range []string{"t_1", "t_3", "t_4"} {
			if s, err := b.Show(id); err != nil || s.Status == Pending && s.Epoch != 2 {
				t.Errorf("%s: %+v, %v", c.name, s, err)
			}
		}
		wantSound(t, b)
	}
	// A marker that history has overtaken is no claim, and one of a task that
	// nothing else names is reported.
	b := openTest(t, Options{})
	addN(t, b, 2)
	mustClaim(t, b, "t_1", "ann")
	putMarker(t, b.claimPath("t_1"), `{"taskId":"t_1","worker":"bob","spawnId":"b","token":"x","epoch":0}`)
	putMarker(t, b.claimPath("t_9"), `{"taskId":"t_9","worker":"bob","spawnId":"b","token":"y","epoch":0}`)
	writeFile(t, b.Path(), nil)
	r, err := b.Repair(ctx)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "t_9") {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := wantState(t, b, "t_1", StateClaimed); v.ClaimedBy != "ann" {
		t.Errorf("%+v", v)
	}
	if v := mustAdd(t, b, NewTask{Subject: "next"})[0]; v.ID != "t_10" { // the marker's id is taken
		t.Errorf("the next is %s", v.ID)
	}
	wantSound(t, b)
}

// TestRepairSources: what each of them is good for.
func TestRepairSources(t *testing.T) {
	ctx := context.Background()
	// Archive and history disagree: the line with the higher revision wins.
	b := storyBoard(t)
	rows := bytes.SplitAfter(readFile(t, b.historyPath()), []byte("\n"))
	rows = slices.DeleteFunc(rows, func(row []byte) bool { return bytes.Contains(row, []byte(`"event":"archived"`)) })
	writeFile(t, b.historyPath(), bytes.Join(rows, nil))
	writeFile(t, b.Path(), nil)
	if r, err := b.Repair(ctx); err != nil || r.Tasks != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := wantState(t, b, "t_1", StateCompleted); !v.Archived {
		t.Error("t_1 is back")
	}
	// A task that came back after its archiving is in the snapshot.
	b = storyBoard(t)
	if _, err := b.Edit(ctx, "t_1", Edit{Subject: ptr("again")}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, b.Path(), nil)
	if r, err := b.Repair(ctx); err != nil || r.Tasks != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.Archived || v.Subject != "again" {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
	// What the archive has lost comes back from history.
	b = storyBoard(t)
	writeFile(t, b.archivePath(), []byte("{torn"))
	writeFile(t, b.Path(), nil)
	if r, err := b.Repair(ctx); err != nil || r.Tasks != 7 || len(r.Problems) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantState(t, b, "t_1", StateCompleted)
	// Without history, the lines of the broken file that are whole are used,
	// and the counter is behind nothing.
	b = storyBoard(t)
	if err := os.Remove(b.historyPath()); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, b.Path())
	writeFile(t, b.Path(), text[:bytes.Index(text, []byte(`"t_7":`))+20])
	r, err := b.Repair(ctx)
	if err != nil || r.Tasks != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = b.Show("t_7")
	wantCode(t, err, errs.NotFound)
	wantState(t, b, "t_6", StateSubmitted)
	wantSound(t, b)
	// The revision is above what the ready list has seen.
	b = storyBoard(t)
	writeFile(t, b.readyPath(), []byte("# revision 900\n"))
	writeFile(t, b.Path(), nil)
	if _, err := b.Repair(ctx); err != nil || b.mustRevision(t) != 902 {
		t.Fatal(b.mustRevision(t), err)
	}
	// Gate logs keep their ids taken.
	b = openTest(t, Options{})
	addN(t, b, 1)
	writeFile(t, b.GateLog("t_44", 1), nil)
	writeFile(t, b.Path(), nil)
	if _, err := b.Repair(ctx); err != nil {
		t.Fatal(err)
	}
	if v := mustAdd(t, b, NewTask{Subject: "next"})[0]; v.ID != "t_45" {
		t.Errorf("the next is %s", v.ID)
	}
}

// TestRepairKeepsFiveCopies of broken snapshots, the newest.
func TestRepairKeepsFiveCopies(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 1)
	for i := range 8 {
		broken := fmt.Sprintf("broken %d", i)
		writeFile(t, b.Path(), []byte(broken))
		r, err := b.Repair(ctx)
		if err != nil || string(readFile(t, r.Kept)) != broken {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	names, err := fsx.List(b.o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, name := range names {
		if strings.HasPrefix(name, "board.json.broken-") {
			kept = append(kept, string(readFile(t, b.path(name))))
		}
	}
	slices.Sort(kept)
	if strings.Join(kept, ", ") != "broken 3, broken 4, broken 5, broken 6, broken 7" {
		t.Errorf("kept %v", kept)
	}
	wantSound(t, b)
}

// TestRepairIsCareful: a passing failure to read is no damage.
func TestRepairIsCareful(t *testing.T) {
	ctx := context.Background()
	b := storyBoard(t)
	before := tree(t, b.o.Dir)
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if path == b.Path() && op == fsx.OpOpen {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
	_, err := b.Repair(ctx)
	restore()
	if err == nil || tree(t, b.o.Dir) != before {
		t.Errorf("repaired what could not be read for a moment: %v", err)
	}
	// An unreadable history or archive is not repaired around either.
	for _, file := range []string{b.historyPath(), b.archivePath()} {
		b := storyBoard(t)
		file = b.path(file[strings.LastIndexByte(file, '/')+1:])
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(file, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, b.Path(), []byte("x"))
		if _, err := b.Repair(ctx); err == nil || string(readFile(t, b.Path())) != "x" {
			t.Errorf("%s: %v", file, err)
		}
	}
	if r, err := b.Repair(ctx); err != nil || r.Needed {
		t.Errorf("%+v, %v", r, err)
	}
}
