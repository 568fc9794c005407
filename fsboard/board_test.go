package fsboard

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// fakeRoster is a roster whose answers a test sets.
type fakeRoster map[string]Worker

func (r fakeRoster) Lookup(name, spawnID string) Worker {
	if w, ok := r[name+"/"+spawnID]; ok {
		return w
	}
	return r[name]
}

// fakeGates passes or fails as told and counts its runs.
type fakeGates struct {
	run  func(ctx context.Context, g GateRun) (Receipt, error)
	runs int
	ends []string
}

func (g *fakeGates) Run(ctx context.Context, r GateRun) (Receipt, error) {
	g.runs++
	return g.run(ctx, r)
}

func (g *fakeGates) End(_ context.Context, runID string) error {
	g.ends = append(g.ends, runID)
	return nil
}

func passing() *fakeGates {
	return &fakeGates{run: func(context.Context, GateRun) (Receipt, error) { return Receipt{Verdict: VerdictPassed}, nil }}
}

func failing(code int) *fakeGates {
	return &fakeGates{run: func(context.Context, GateRun) (Receipt, error) {
		return Receipt{Verdict: VerdictFailed, ExitCode: code}, nil
	}}
}

func openTest(t *testing.T, o Options) *Board {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "tasks", "app-1")
	}
	o.Root = filepath.Dir(filepath.Dir(o.Dir))
	if o.Project == "" {
		o.Project = "/srv/app"
	}
	o.Session = "app-1"
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustAdd(t *testing.T, b *Board, tasks ...NewTask) []*TaskView {
	t.Helper()
	list, err := b.Add(context.Background(), tasks...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustClaim(t *testing.T, b *Board, id, worker string) *TaskView {
	t.Helper()
	v, err := b.Claim(context.Background(), ClaimRequest{ID: id, Worker: worker, SpawnID: worker + "-1"})
	if err != nil {
		t.Fatalf("claim %s by %s: %v", id, worker, err)
	}
	return v
}

func mustSubmit(t *testing.T, b *Board, id, worker string) *SubmitResult {
	t.Helper()
	r, err := b.Submit(context.Background(), SubmitRequest{ID: id, Worker: worker, SpawnID: worker + "-1", Result: "done"})
	if err != nil {
		t.Fatalf("submit %s by %s: %v", id, worker, err)
	}
	return r
}

func wantCode(t *testing.T, err error, code errs.Code) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Fatalf("error %v has code %q, want %q", err, errs.CodeOf(err), code)
	}
}

func wantState(t *testing.T, b *Board, id string, state State) *TaskView {
	t.Helper()
	v, err := b.Show(id)
	if err != nil {
		t.Fatal(err)
	}
	if v.State != state {
		t.Fatalf("%s is %s, want %s", id, v.State, state)
	}
	return v
}

func TestLife(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Gates: passing()})
	list := mustAdd(t, b, NewTask{Subject: "one"}, NewTask{Subject: "two", DependsOn: []string{"t_1"}, Verify: "true"})
	if list[0].State != StateReady || list[1].State != StateBlocked {
		t.Fatalf("states are %s and %s", list[0].State, list[1].State)
	}
	c := mustClaim(t, b, "", "ann")
	if c.ID != "t_1" || c.State != StateClaimed || c.ClaimedBy != "ann" {
		t.Fatalf("claimed %s in state %s by %s", c.ID, c.State, c.ClaimedBy)
	}
	_, err := b.Claim(ctx, ClaimRequest{Worker: "ann", SpawnID: "ann-1"})
	wantCode(t, err, errs.AlreadyHolding)
	_, err = b.Claim(ctx, ClaimRequest{ID: "t_1", Worker: "bob", SpawnID: "bob-1"})
	wantCode(t, err, errs.AlreadyClaimed)
	_, err = b.Claim(ctx, ClaimRequest{ID: "t_2", Worker: "bob", SpawnID: "bob-1"})
	wantCode(t, err, errs.Blocked)
	_, err = b.Claim(ctx, ClaimRequest{Worker: "bob", SpawnID: "bob-1"})
	wantCode(t, err, errs.NothingClaimable)
	r := mustSubmit(t, b, "t_1", "ann")
	if r.Outcome != OutcomeCompleted || len(r.Ready) != 1 || r.Ready[0] != "t_2" {
		t.Fatalf("submit gave %+v", r)
	}
	mustClaim(t, b, "", "bob")
	if r := mustSubmit(t, b, "t_2", "bob"); r.Verdict != VerdictPassed || r.Task.GateRuns != 1 {
		t.Fatalf("submit gave %+v", r)
	}
	_, err = b.Claim(ctx, ClaimRequest{Worker: "bob", SpawnID: "bob-1"})
	wantCode(t, err, errs.BoardDrained)
	events, torn, err := b.History(HistoryFilter{})
	if err != nil || torn != 0 {
		t.Fatal(err, torn)
	}
	var names []string
	for _, e := range events {
		names = append(names, e.Event+" "+e.Task)
	}
	t.Log(names)
	if data, err := os.ReadFile(b.Path()); err == nil {
		t.Logf("\n%s", data)
	}
	if f, err := b.Check(); err != nil || len(f) != 0 {
		t.Fatalf("findings %v, %v", f, err)
	}
}

func TestFailedSubmissionBacksOff(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	n := 2
	mustAdd(t, b, NewTask{Subject: "one", MaxAttempts: &n})
	mustClaim(t, b, "t_1", "ann")
	r, err := b.Submit(ctx, SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "failed", Result: " no disk \n"})
	if err != nil || r.Outcome != OutcomeFailed || r.Task.State != StateWaiting || r.Task.ErrorMessage != "no disk" {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := r.Task.NotBefore - time.Now().UnixMilli(); d < 25_000 || d > 30_000 {
		t.Fatalf("back-off is %d ms", d)
	}
	_, err = b.Claim(ctx, ClaimRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1"})
	wantCode(t, err, errs.Blocked)
}
