package fsboard

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

var long = flag.Bool("long", false, "run the long storms")

// tester is what the helpers need of a test, which may be one of package rapid.
type tester interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// fakeRoster is a roster whose answers a test sets. A name it does not know is
// a worker of whom nothing is known.
type fakeRoster struct {
	mu sync.Mutex
	m  map[string]Worker // by name, or by name/spawn
}

func (r *fakeRoster) Lookup(name, spawnID string) Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.m[name+"/"+spawnID]; ok {
		return w
	}
	return r.m[name]
}

func (r *fakeRoster) set(key string, w Worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]Worker{}
	}
	r.m[key] = w
}

// fakeGates passes or fails as told and keeps what it was asked.
type fakeGates struct {
	run func(ctx context.Context, g GateRun) (Receipt, error)

	mu   sync.Mutex
	runs []GateRun
	ends []string
}

func (g *fakeGates) Run(ctx context.Context, r GateRun) (Receipt, error) {
	g.mu.Lock()
	g.runs = append(g.runs, r)
	g.mu.Unlock()
	return g.run(ctx, r)
}

func (g *fakeGates) End(_ context.Context, runID string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ends = append(g.ends, runID)
	return nil
}

func gates(r Receipt) *fakeGates {
	return &fakeGates{run: func(context.Context, GateRun) (Receipt, error) { return r, nil }}
}

func passing() *fakeGates         { return gates(Receipt{Verdict: VerdictPassed}) }
func failing(code int) *fakeGates { return gates(Receipt{Verdict: VerdictFailed, ExitCode: code}) }

// fastDir is a directory on a file system in memory if there is one: tests of
// thousands of interleavings sync as often.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fsboard")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openTest(t testing.TB, o Options) *Board {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(fastDir(t), "tasks", "app-1")
	}
	if o.Root == "" {
		o.Root = filepath.Dir(filepath.Dir(o.Dir))
	}
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

// again opens the board of b as another process would.
func again(t tester, b *Board) *Board {
	t.Helper()
	n, err := Open(b.o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustAdd(t tester, b *Board, tasks ...NewTask) []*TaskView {
	t.Helper()
	list, err := b.Add(context.Background(), tasks...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// addN adds n tasks without anything special.
func addN(t testing.TB, b *Board, n int) {
	t.Helper()
	tasks := make([]NewTask, n)
	for i := range tasks {
		tasks[i].Subject = "task " + taskID(int64(i+1))
	}
	mustAdd(t, b, tasks...)
}

func request(id, worker string) ClaimRequest {
	return ClaimRequest{ID: id, Worker: worker, SpawnID: worker + "-1"}
}

func submission(id, worker string) SubmitRequest {
	return SubmitRequest{ID: id, Worker: worker, SpawnID: worker + "-1", Result: "done by " + worker}
}

func mustClaim(t tester, b *Board, id, worker string) *TaskView {
	t.Helper()
	v, err := b.Claim(context.Background(), request(id, worker))
	if err != nil {
		t.Fatalf("claim %s by %s: %v", id, worker, err)
	}
	return v
}

func mustSubmit(t tester, b *Board, id, worker string) *SubmitResult {
	t.Helper()
	r, err := b.Submit(context.Background(), submission(id, worker))
	if err != nil {
		t.Fatalf("submit %s by %s: %v", id, worker, err)
	}
	return r
}

func mustFold(t tester, b *Board) []Event {
	t.Helper()
	r, err := b.Fold(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}

func wantCode(t testing.TB, err error, code errs.Code) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Fatalf("error %v has code %q, want %q", err, errs.CodeOf(err), code)
	}
}

func wantState(t tester, b *Board, id string, state State) *TaskView {
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

// eventNames renders events as "event task" for comparison.
func eventNames(events []Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = strings.TrimSpace(e.Event + " " + e.Task)
	}
	return strings.Join(names, ", ")
}

func wantEvents(t testing.TB, events []Event, want string) {
	t.Helper()
	if got := eventNames(events); got != want {
		t.Fatalf("events are [%s], want [%s]", got, want)
	}
}

// events returns the whole history.
func history(t tester, b *Board) []Event {
	t.Helper()
	events, torn, err := b.History(HistoryFilter{})
	if err != nil || torn != 0 {
		t.Fatalf("history: %v, %d torn", err, torn)
	}
	return events
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func readFile(t tester, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

// clock is a wall clock and a boot clock that a test sets.
type clock struct {
	mu   sync.Mutex
	wall time.Time
	boot time.Duration
}

func fakeClock(t testing.TB) *clock {
	t.Helper()
	c := &clock{wall: time.Now(), boot: time.Hour}
	t.Cleanup(fsx.SetNow(func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.wall
	}))
	t.Cleanup(fsx.SetBootClock(func() (time.Duration, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.boot, nil
	}))
	return c
}

// pass lets time go by on both clocks.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.boot = c.wall.Add(d), c.boot+d
}

// step sets the wall clock alone, as somebody does who corrects it.
func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
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
	_, err := b.Claim(ctx, request("", "ann"))
	wantCode(t, err, errs.AlreadyHolding)
	_, err = b.Claim(ctx, request("t_1", "bob"))
	wantCode(t, err, errs.AlreadyClaimed)
	_, err = b.Claim(ctx, request("t_2", "bob"))
	wantCode(t, err, errs.Blocked)
	_, err = b.Claim(ctx, request("", "bob"))
	wantCode(t, err, errs.NothingClaimable)
	r := mustSubmit(t, b, "t_1", "ann")
	if r.Outcome != OutcomeCompleted || r.Verdict != VerdictNone || len(r.Ready) != 1 || r.Ready[0] != "t_2" {
		t.Fatalf("submit gave %+v", r)
	}
	mustClaim(t, b, "", "bob")
	if r := mustSubmit(t, b, "t_2", "bob"); r.Verdict != VerdictPassed || r.Task.GateRuns != 1 {
		t.Fatalf("submit gave %+v", r)
	}
	_, err = b.Claim(ctx, request("", "bob"))
	wantCode(t, err, errs.BoardDrained)
	wantEvents(t, history(t, b), "added t_1, added t_2, claimed t_1, completed t_1, claimed t_2, completed t_2")
	wantSound(t, b)
	if findings, err := b.Check(); err != nil || len(findings) != 0 {
		t.Fatalf("findings %v, %v", findings, err)
	}
}

// TestNothing asks every verb of a board that has no state.
func TestNothing(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	if there, err := b.Exists(); there || err != nil {
		t.Fatal(there, err)
	}
	_, err := b.Claim(ctx, request("", "ann"))
	wantCode(t, err, errs.NothingClaimable)
	_, err = b.Claim(ctx, request("t_1", "ann"))
	wantCode(t, err, errs.NotFound)
	_, err = b.Submit(ctx, submission("t_1", "ann"))
	wantCode(t, err, errs.NotFound)
	_, err = b.Show("t_1")
	wantCode(t, err, errs.NotFound)
	_, err = b.Cancel(ctx, "t_1", "", false)
	wantCode(t, err, errs.NoSession)
	_, err = b.Fold(ctx, true)
	wantCode(t, err, errs.NoSession)
	if l, err := b.Look(); err != nil || l.Exists || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	if list, err := b.Tasks(); len(list) != 0 || err != nil {
		t.Fatal(list, err)
	}
	if list, err := b.Held("ann", ""); len(list) != 0 || err != nil {
		t.Fatal(list, err)
	}
	if r, err := b.Repair(ctx); r.Needed || err != nil {
		t.Fatal(r, err)
	}
	if f, err := b.Check(); len(f) != 0 || err != nil {
		t.Fatal(f, err)
	}
	if exists(b.o.Dir) {
		t.Fatal("a look created the board")
	}
	if _, err := Open(Options{Dir: "relative"}); errs.CodeOf(err) != errs.Usage {
		t.Fatal(err)
	}
}
