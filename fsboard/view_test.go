package fsboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestTaskViewJSON(t *testing.T) {
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "a"}, NewTask{Subject: "b <&>", DependsOn: []string{"t_1"}})
	v, err := b.Show("t_2")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := v.encode()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSuffix(string(stored), "}") + `,"state":"blocked","waitingOn":["t_1"]}`
	var a, c any
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &c); err != nil || fmt.Sprint(a) != fmt.Sprint(c) {
		t.Errorf("%s, want %s, %v", data, want, err)
	}
}

func TestViewFilters(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Roster: &fakeRoster{m: map[string]Worker{"ann": {Agent: "coder"}}}})
	mustAdd(t, b, NewTask{Subject: "1", Tags: []string{"go", "docs"}}, NewTask{Subject: "2", Tags: []string{"go"}, Role: "coder"},
		NewTask{Subject: "3", DependsOn: []string{"t_1"}}, NewTask{Subject: "4"}, NewTask{Subject: "5"})
	r := request("t_2", "ann")
	r.Agent = "coder"
	if _, err := b.Claim(ctx, r); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t_5", "", false); err != nil {
		t.Fatal(err)
	}
	v, err := b.View()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f     Filter
		limit int
		want  string
		total int
	}{
		{Filter{}, 0, "t_1 t_2 t_3 t_4 t_5", 5},
		{Filter{}, 2, "t_1 t_2", 5},
		{Filter{States: []State{StateReady}}, 0, "t_1 t_4", 2},
		{Filter{States: []State{StateReady, StateCancelled}}, 1, "t_1", 3},
		{Filter{Holder: "ann"}, 0, "t_2", 1},
		{Filter{Holder: "bob"}, 0, "", 0},
		{Filter{Role: "coder"}, 0, "t_2", 1},
		{Filter{Tags: []string{"go"}}, 0, "t_1 t_2", 2},
		{Filter{Tags: []string{"docs", "go"}}, 0, "t_1", 1},
		{Filter{IDs: []string{"t_4", "t_1", "t_4", "t_77", "x"}}, 0, "t_1 t_4", 2},
		{Filter{IDs: []string{"t_4", "t_5"}, States: []State{StateReady}}, 0, "t_4", 1},
	} {
		list, total, err := v.Tasks(c.f, c.limit)
		var ids []string
		for _, task := range list {
			ids = append(ids, task.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != c.want || total != c.total {
			t.Errorf("%+v: %s, %d, %v", c.f, got, total, err)
		}
	}
	counts, err := v.Counts()
	if err != nil || fmt.Sprint(counts) != "map[blocked:1 cancelled:1 claimed:1 ready:2]" {
		t.Errorf("%v, %v", counts, err)
	}
	if v.Len() != 5 || v.Project() != "/srv/app" || v.Session() != "app-1" || v.Revision() != 3 || len(v.Problems()) != 0 {
		t.Error(v.Len(), v.Project(), v.Session(), v.Revision(), v.Problems())
	}
	for i, want := range []State{StateReady, StateClaimed, StateBlocked, StateReady, StateCancelled} {
		if st, err := v.StateAt(i); err != nil || st != want {
			t.Errorf("%d is %s, %v", i, st, err)
		}
	}
	// What a caller does to a task that it was given concerns nobody else.
	task, err := v.Task("t_2")
	if err != nil {
		t.Fatal(err)
	}
	task.Claim.Token, task.Subject = "mine", "mine"
	if v := wantState(t, b, "t_2", StateClaimed); v.Claim.Token == "mine" || v.Subject == "mine" {
		t.Error("the board shares its memory")
	}
}

// TestOldestMarkerFirst: markers are folded in the order in which they came.
func TestOldestMarkerFirst(t *testing.T) {
	b := openTest(t, Options{})
	addN(t, b, 5)
	now := time.Now()
	for i, id := range []string{"t_3", "t_1", "t_5", "t_2", "t_4"} {
		putMarker(t, b.claimPath(id), `{"taskId":%q,"worker":"w%d","spawnId":"s"}`, id, i)
		at := now.Add(time.Duration(i-10) * time.Second)
		if err := os.Chtimes(b.claimPath(id), at, at); err != nil {
			t.Fatal(err)
		}
	}
	wantEvents(t, mustFold(t, b), "claimed t_3, claimed t_1, claimed t_5, claimed t_2, claimed t_4")
	for i, id := range []string{"t_3", "t_5", "t_1"} {
		putMarker(t, b.submissionPath(id), `{"taskId":%q,"worker":"x"}`, id)
		at := now.Add(time.Duration(i-10) * time.Second)
		if err := os.Chtimes(b.submissionPath(id), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := b.Waiting(); err != nil || !slices.Equal(ids, []string{"t_3", "t_5", "t_1"}) {
		t.Error(ids, err)
	}
}

// TestIdleLook costs the same on every board, and writes nothing.
func TestIdleLook(t *testing.T) {
	b := openTest(t, Options{})
	addN(t, b, 3000)
	mustClaim(t, b, "t_1", "ann")
	b = again(t, b)
	var calls []string
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		calls = append(calls, string(op)+" "+strings.TrimPrefix(path, b.o.Dir))
		return nil
	})
	l, err := b.Look()
	restore()
	if err != nil || !l.Exists || l.Fold || len(l.Submissions) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	reads := 0
	for _, c := range calls {
		if strings.HasPrefix(c, "read /board.json") {
			reads++
		}
		if op, _, _ := strings.Cut(c, " "); op != "open" && op != "read" {
			t.Errorf("it does %s", c)
		}
	}
	if reads != 1 || len(calls) > 12 {
		t.Errorf("it takes %d calls: %v", len(calls), calls)
	}
}

// TestReadyIsRewritten: a list that a killed writer left behind is written anew
// by the next fold, even if there is nothing else to do; an idle look sees it.
func TestReadyIsRewritten(t *testing.T) {
	b := openTest(t, Options{})
	addN(t, b, 2)
	want := readFile(t, b.readyPath())
	for _, left := range []string{"# revision 0\n", "", "-"} {
		writeFile(t, b.readyPath(), []byte(left))
		if left == "-" {
			if err := os.Remove(b.readyPath()); err != nil {
				t.Fatal(err)
			}
		}
		b = again(t, b)
		if l, err := b.Look(); err != nil || !l.Fold {
			t.Errorf("%q: %+v, %v", left, l, err)
		}
		if events := mustFold(t, b); len(events) != 0 {
			t.Errorf("%q: %+v", left, events)
		}
		if got := readFile(t, b.readyPath()); string(got) != string(want) {
			t.Errorf("%q: it is %q", left, got)
		}
		if l, err := b.Look(); err != nil || l.Fold {
			t.Errorf("%q: then %+v, %v", left, l, err)
		}
	}
}

// TestOneBoardManyGoroutines uses one Board at once, as a harness does.
func TestOneBoardManyGoroutines(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{LockTimeout: time.Minute})
	addN(t, b, 24)
	var wg sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("w%d", i)
		wg.Go(func() {
			for {
				v, err := b.Claim(ctx, request("", name))
				if errs.CodeOf(err) == errs.BoardDrained || errs.CodeOf(err) == errs.NothingClaimable {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := b.Submit(ctx, submission(v.ID, name)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			if _, err := b.Tasks(); err != nil {
				t.Error(err)
			}
			if _, _, err := b.History(HistoryFilter{}); err != nil {
				t.Error(err)
			}
			if _, err := b.Look(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	counts := map[State]int{}
	list, err := b.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		counts[v.State]++
	}
	if counts[StateCompleted] != 24 {
		t.Error(counts)
	}
	wantSound(t, b)
}

// TestForeignWriterIsSeen: a Board keeps what it read, and still sees what
// others write, in the file's place or into it.
func TestForeignWriterIsSeen(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 2)
	wantState(t, b, "t_1", StateReady)
	if _, err := again(t, b).Cancel(ctx, "t_1", "", false); err != nil {
		t.Fatal(err)
	}
	wantState(t, b, "t_1", StateCancelled)
	text := strings.Replace(string(readFile(t, b.Path())), `"subject":"task t_2"`, `"subject":"by hand"`, 1)
	writeFile(t, b.Path(), []byte(text)) // line 1 is the same
	if v := wantState(t, b, "t_2", StateReady); v.Subject != "by hand" {
		t.Errorf("%+v", v)
	}
	if _, err := b.Edit(ctx, "t_1", Edit{Priority: ptr(0)}); err != nil {
		t.Fatal(err)
	}
	if v := wantState(t, again(t, b), "t_2", StateReady); v.Subject != "by hand" {
		t.Error("what was written by hand was overwritten")
	}
}

// TestNotices: who is told of what.
func TestNotices(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{Gates: failing(1), GateRetries: 1})
	mustAdd(t, b, NewTask{Subject: "1", Verify: "false"}, NewTask{Subject: "2"}, NewTask{Subject: "3"}, NewTask{Subject: "4"})
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	if _, err := b.Edit(ctx, "t_1", Edit{Priority: ptr(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t_1", "", false); err != nil {
		t.Fatal(err)
	}
	leased(t, b, "t_2", "bob")
	clk.pass(time.Hour)
	mustFold(t, b)
	mustClaim(t, b, "t_3", "cid")
	if _, err := b.Release(ctx, ReleaseRequest{ID: "t_3", Worker: "cid", SpawnID: "cid-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Edit(ctx, "t_4", Edit{Priority: ptr(1)}); err != nil {
		t.Fatal(err)
	}
	var got []string
	last := ""
	for _, e := range history(t, b) {
		for _, n := range e.Notices {
			got = append(got, e.Event+" "+e.Task+" to "+n.To)
			if n.ID <= last {
				t.Errorf("notice %s comes behind %s", n.ID, last)
			}
			last = n.ID
		}
	}
	want := "gate_failed t_1 to ann, escalation t_1 to leader, edited t_1 to ann, cancelled t_1 to ann, released t_2 to bob, released t_2 to leader"
	if strings.Join(got, ", ") != want {
		t.Errorf("notices: %s", strings.Join(got, ", "))
	}
	if owed, rev, err := b.NoticeRevision(); err != nil || owed >= rev || owed == 0 {
		t.Error(owed, rev, err)
	}
	wantSound(t, b)
}
