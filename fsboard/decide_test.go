package fsboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// TestGateIsFixedAtClaim: neither the task's nor the role's gate of later
// counts.
func TestGateIsFixedAtClaim(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{m: map[string]Worker{"ann": {Agent: "coder", Verify: "role gate", Cwd: "/srv/app/wt"}}}
	g := passing()
	b := openTest(t, Options{Gates: g, Roster: roster})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "task gate", VerifyTimeoutMs: ptr(int64(1500))}, NewTask{Subject: "b"}, NewTask{Subject: "c"})
	mustClaim(t, b, "t_1", "ann")
	if _, err := b.Edit(ctx, "t_1", Edit{Verify: ptr("true"), VerifyTimeoutMs: ptr(int64(1))}); err != nil {
		t.Fatal(err)
	}
	mustSubmit(t, b, "t_1", "ann")
	mustClaim(t, b, "t_2", "ann")
	roster.set("ann", Worker{Agent: "coder", Verify: "true"})
	mustSubmit(t, b, "t_2", "ann")
	mustClaim(t, b, "t_3", "bob")
	mustSubmit(t, b, "t_3", "bob")
	if len(g.runs) != 2 {
		t.Fatalf("%d runs", len(g.runs))
	}
	for i, want := range []GateRun{
		{Worker: "ann", Command: "task gate", Cwd: "/srv/app/wt", Timeout: 1500 * time.Millisecond, Number: 1, Log: b.GateLog("t_1", 1)},
		{Worker: "ann", Command: "role gate", Cwd: "/srv/app/wt", Timeout: 10 * time.Minute, Number: 1, Log: b.GateLog("t_2", 1)},
	} {
		got := g.runs[i]
		if len(got.RunID) != 32 || got.Task.ID != taskID(int64(i+1)) {
			t.Errorf("%+v", got)
		}
		got.Task, got.RunID = nil, ""
		if got != want {
			t.Errorf("ran %+v, want %+v", got, want)
		}
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.Gate == nil || v.LastGate.Verdict != VerdictPassed || v.LastGate.Run != 1 || v.LastGate.Submission != v.LastSubmission.ID {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
}

// TestFailedGates: the task stays claimed, runs are numbered, and the leader is
// told once, after the third failure of one claim.
func TestFailedGates(t *testing.T) {
	ctx := context.Background()
	g := failing(7)
	b := openTest(t, Options{Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "false"})
	names := ""
	for claim := range 2 {
		mustClaim(t, b, "t_1", "ann")
		for i := range 4 {
			r := mustSubmit(t, b, "t_1", "ann")
			if r.Outcome != OutcomeGateFailed || r.Verdict != VerdictFailed || r.Task.State != StateClaimed || r.Task.GateFailures != i+1 || r.Task.GateRuns != 4*claim+i+1 ||
				r.Receipt.Run != r.Task.GateRuns || r.Task.Attempt != 0 || r.Task.ErrorMessage != "gate failed with exit code 7" {
				t.Fatalf("%+v", r.Task)
			}
		}
		if _, err := b.Release(ctx, ReleaseRequest{ID: "t_1"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range history(t, b) {
		if e.Event == EventEscalation {
			names += fmt.Sprint(e.Reason, " ", e.Run, ", ")
		}
	}
	if names != "gate_keeps_failing 3, gate_keeps_failing 7, " {
		t.Errorf("escalations: %s", names)
	}
	// A gate that cannot start is told each time, and counted never.
	g.run = func(context.Context, GateRun) (Receipt, error) {
		return Receipt{Verdict: VerdictCouldNotStart, ExitCode: 127, Reason: "no such file"}, nil
	}
	mustClaim(t, b, "t_1", "ann")
	for range 2 {
		if r := mustSubmit(t, b, "t_1", "ann"); r.Task.GateFailures != 0 || r.Verdict != VerdictCouldNotStart {
			t.Fatalf("%+v", r.Task)
		}
	}
	last := history(t, b)
	if e := last[len(last)-1]; e.Event != EventEscalation || e.Reason != "gate_could_not_start" || e.Run != 10 {
		t.Errorf("%+v", e)
	}
	g.run = passing().run
	if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted || r.Task.ErrorMessage != "" {
		t.Fatalf("%+v", r.Task)
	}
	wantSound(t, b)
}

// TestGateRunFile: it is there, whole, before the gate starts, and goes last.
func TestGateRunFile(t *testing.T) {
	b := openTest(t, Options{})
	var steps []string
	g := passing()
	g.run = func(_ context.Context, r GateRun) (Receipt, error) {
		var run struct {
			RunID, Task, Submission, BootID, PIDNamespace, Host string
			Number, PID                                         int
			StartTime                                           uint64
		}
		if err := json.Unmarshal(readFile(t, b.gateRunPath("t_1")), &run); err != nil {
			t.Error(err)
		}
		self, err := fsx.Self()
		if err != nil {
			t.Error(err)
		}
		if run.RunID != r.RunID || run.Number != 5 || r.Number != 5 || run.Task != "t_1" || run.Submission == "" || run.PID != self.PID || run.StartTime != self.StartTime ||
			run.BootID != self.BootID || run.PIDNamespace != self.PIDNamespace || run.Host != self.Host {
			t.Errorf("the run file is %+v", run)
		}
		if held, err := fsx.Held(b.gateLock("t_1")); !held || err != nil {
			t.Error("the gate lock is free")
		}
		if held, err := fsx.Held(b.lockPath()); held || err != nil {
			t.Error("the board lock is held")
		}
		wantState(t, again(t, b), "t_1", StateVerifying)
		steps = append(steps, "gate")
		return Receipt{Verdict: VerdictPassed}, nil
	}
	b = openTest(t, Options{Dir: b.o.Dir, Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	writeFile(t, b.GateLog("t_1", 4), []byte("of a run that was lost"))
	writeFile(t, b.path("gates", "t_11.9.log"), nil)
	writeFile(t, b.path("gates", "t_1.x.log"), nil)
	mustClaim(t, b, "t_1", "ann")
	watched := map[string]string{b.gateRunPath("t_1"): "run file", b.Path(): "board", b.submissionPath("t_1"): "submission"}
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if what := watched[path]; what != "" && (op == fsx.OpRename || op == fsx.OpUnlink || op == fsx.OpLink) {
			steps = append(steps, string(op)+" "+what)
		}
		if op == fsx.OpFsyncDir && path == b.path("gates")+"/" || path == b.path("gates") && op == fsx.OpFsyncDir {
			steps = append(steps, "sync gates")
		}
		return nil
	})
	mustSubmit(t, b, "t_1", "ann")
	restore()
	want := "link submission, rename run file, sync gates, gate, rename board, unlink submission, unlink run file"
	if got := strings.Join(steps, ", "); got != want {
		t.Errorf("steps are\n%s, want\n%s", got, want)
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.GateRuns != 5 {
		t.Errorf("gateRuns is %d", v.GateRuns)
	}
}

// TestLeftRun: what is left of a run is ended before the next; where it cannot
// be seen, the submission waits and why names the place.
func TestLeftRun(t *testing.T) {
	ctx := context.Background()
	self, err := fsx.Self()
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*fsx.Process)) fsx.Process {
		p := self
		f(&p)
		return p
	}
	for name, c := range map[string]struct {
		p           fsx.Process
		ended, wait bool
	}{
		"dead decider":    {p: change(func(p *fsx.Process) { p.PID = 999_999_999 }), ended: true},
		"after a reboot":  {p: change(func(p *fsx.Process) { p.BootID, p.PIDNamespace = "another boot", "pid:[1]" })},
		"other host":      {p: change(func(p *fsx.Process) { p.Host = "elsewhere" }), wait: true},
		"other namespace": {p: change(func(p *fsx.Process) { p.PIDNamespace = "pid:[1]" }), wait: true},
	} {
		g := passing()
		b := openTest(t, Options{Gates: g, Dir: fastDir(t) + "/s/b"})
		mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
		mustClaim(t, b, "t_1", "ann")
		data, err := encodeLines(&runFile{RunID: "r-old", Task: "t_1", Number: 1, Process: c.p})
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, b.gateRunPath("t_1"), data)
		r, err := b.Submit(ctx, submission("t_1", "ann"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (len(g.ends) == 1 && g.ends[0] == "r-old") != c.ended || r.Queued != c.wait || (len(g.runs) == 0) != c.wait {
			t.Errorf("%s: ended %v, ran %d, %+v", name, g.ends, len(g.runs), r)
		}
		if !c.wait {
			continue
		}
		place := c.p.Host
		if name == "other namespace" {
			place = c.p.PIDNamespace
		}
		_, reasons, err := b.Why("t_1")
		if err != nil || len(reasons) != 2 || reasons[1].Code != "gate_run_unseen" || !strings.Contains(reasons[1].Message, place) {
			t.Errorf("%s: %+v, %v", name, reasons, err)
		}
		_, err = b.Release(ctx, ReleaseRequest{ID: "t_1"})
		wantCode(t, err, errs.Conflict)
		_, err = b.RunGate(ctx, "t_1")
		wantCode(t, err, errs.Conflict)
		if err := fsx.Remove(b.gateRunPath("t_1")); err != nil {
			t.Fatal(err)
		}
		if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted {
			t.Errorf("%s: %+v", name, r)
		}
		wantSound(t, b)
	}
}

// TestGateOfAnotherHost: the submission waits for it.
func TestGateOfAnotherHost(t *testing.T) {
	ctx := context.Background()
	g := passing()
	b := openTest(t, Options{Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	putMarker(t, b.claimPath("t_1"), `{"taskId":"t_1","worker":"ann","spawnId":"ann-1","token":"k","epoch":0,"host":"elsewhere"}`)
	r := mustSubmit(t, b, "t_1", "ann")
	if !r.Queued || !strings.Contains(r.Waiting, "elsewhere") || len(g.runs) != 0 {
		t.Fatalf("%+v", r)
	}
	_, reasons, err := b.Why("t_1")
	if err != nil || reasons[1].Code != "gate_elsewhere" {
		t.Fatalf("%+v, %v", reasons, err)
	}
	_, err = b.RunGate(ctx, "t_1")
	wantCode(t, err, errs.Conflict)
}

// TestVerdictOfAnotherSubmission: while the gate of the first runs, the first
// is decided by nobody, its marker is replaced, and the verdict must not count.
func TestVerdictOfAnotherSubmission(t *testing.T) {
	ctx := context.Background()
	g := passing()
	b := openTest(t, Options{Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	mustClaim(t, b, "t_1", "ann")
	first := submission("t_1", "ann")
	first.NoWait = true
	b.o.HarnessLive = live
	if _, err := b.Submit(ctx, first); err != nil {
		t.Fatal(err)
	}
	g.run = func(context.Context, GateRun) (Receipt, error) {
		if len(g.runs) > 1 {
			return Receipt{Verdict: VerdictFailed, ExitCode: 1}, nil
		}
		if err := fsx.Remove(b.submissionPath("t_1")); err != nil {
			t.Error(err)
		}
		second := first
		second.Result = "the second"
		if _, err := again(t, b).Submit(ctx, second); err != nil {
			t.Error(err)
		}
		return Receipt{Verdict: VerdictPassed}, nil
	}
	d, err := b.Decide(ctx, "t_1")
	if err != nil || d.Outcome != "" || len(d.Events) != 0 {
		t.Fatalf("the old verdict was used: %+v, %v", d, err)
	}
	if d, err = b.Decide(ctx, "t_1"); err != nil || d.Outcome != OutcomeGateFailed {
		t.Fatalf("%+v, %v", d, err)
	}
	wantSound(t, b)
}

// TestTwoDeciders: one gate at a time, and one verdict.
func TestTwoDeciders(t *testing.T) {
	ctx := context.Background()
	running := make(chan struct{}, 10)
	g := &fakeGates{run: func(context.Context, GateRun) (Receipt, error) {
		select {
		case running <- struct{}{}:
		default:
		}
		if len(running) > 1 {
			t.Error("two gates run at once")
		}
		time.Sleep(20 * time.Millisecond)
		<-running
		return Receipt{Verdict: VerdictPassed}, nil
	}}
	b := openTest(t, Options{Gates: g, HarnessLive: live})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	mustClaim(t, b, "t_1", "ann")
	r := submission("t_1", "ann")
	r.NoWait = true
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	outcomes := make(chan string, 4)
	for range 4 {
		wg.Go(func() {
			d, err := again(t, b).Decide(ctx, "t_1")
			if err != nil {
				t.Error(err)
			}
			if d.Outcome != "" {
				outcomes <- d.Outcome
			}
		})
	}
	wg.Wait()
	if len(outcomes) != 1 || len(g.runs) != 1 {
		t.Errorf("%d verdicts of %d runs", len(outcomes), len(g.runs))
	}
	wantSound(t, b)
}

// TestGateEndsWithItsClaim: the gate of a cancelled task is ended within about
// a second.
func TestGateEndsWithItsClaim(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	started := make(chan struct{})
	g := &fakeGates{run: func(ctx context.Context, r GateRun) (Receipt, error) {
		close(started)
		<-ctx.Done()
		return Receipt{}, ctx.Err()
	}}
	b := openTest(t, Options{Gates: g, HarnessLive: live})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "sleep 100"})
	mustClaim(t, b, "t_1", "ann")
	done := make(chan error, 1)
	go func() {
		_, err := b.Submit(ctx, submission("t_1", "ann"))
		done <- err
	}()
	harness := again(t, b)
	decided := make(chan Decision, 1)
	go func() {
		for {
			if l, err := harness.Look(); err == nil && len(l.Submissions) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		d, err := harness.Decide(ctx, "t_1")
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	<-started
	if _, err := again(t, b).Cancel(ctx, "t_1", "no longer needed", false); err != nil {
		t.Fatal(err)
	}
	if d := <-decided; d.Outcome != "" {
		t.Errorf("%+v", d)
	}
	wantCode(t, <-done, errs.StaleClaim)
	v := wantState(t, b, "t_1", StateCancelled)
	if v.LastSubmission == nil || v.LastSubmission.Outcome != OutcomeDropped || exists(b.gateRunPath("t_1")) {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
}

// TestInterruptedGate is no verdict.
func TestInterruptedGate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	g := &fakeGates{run: func(ctx context.Context, _ GateRun) (Receipt, error) {
		cancel()
		<-ctx.Done()
		return Receipt{}, ctx.Err()
	}}
	b := openTest(t, Options{Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	mustClaim(t, b, "t_1", "ann")
	_, err := b.Submit(ctx, submission("t_1", "ann"))
	wantCode(t, err, errs.Interrupted)
	if v := wantState(t, b, "t_1", StateSubmitted); v.GateRuns != 0 || exists(b.gateRunPath("t_1")) {
		t.Fatalf("%+v", v)
	}
	g.run = func(context.Context, GateRun) (Receipt, error) { return Receipt{}, nil } // a defect of the runner
	_, err = b.Submit(context.Background(), submission("t_1", "ann"))
	wantCode(t, err, errs.Internal)
	g.run = passing().run
	if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted {
		t.Fatalf("%+v", r)
	}
	b.o.Gates = nil
	mustAdd(t, b, NewTask{Subject: "b", Verify: "true"})
	mustClaim(t, b, "t_2", "ann")
	if _, err := b.Submit(context.Background(), submission("t_2", "ann")); err == nil {
		t.Error("a gate was decided without a runner")
	}
	wantState(t, b, "t_2", StateSubmitted)
}

// TestRunGate runs a gate without a submission.
func TestRunGate(t *testing.T) {
	ctx := context.Background()
	g := failing(1)
	b := openTest(t, Options{Gates: g})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"}, NewTask{Subject: "b"})
	before := readFile(t, b.Path())
	r, err := b.RunGate(ctx, "t_1")
	if err != nil || r.Verdict != VerdictFailed || r.Run != 1 || r.Submission != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	writeFile(t, b.GateLog("t_1", 1), nil)
	if r, err = b.RunGate(ctx, "t_1"); err != nil || r.Run != 2 || g.runs[1].Log != b.GateLog("t_1", 2) {
		t.Fatalf("%+v, %v", r, err)
	}
	if string(readFile(t, b.Path())) != string(before) || exists(b.gateRunPath("t_1")) {
		t.Error("a run without a submission left something")
	}
	_, err = b.RunGate(ctx, "t_2")
	wantCode(t, err, errs.Conflict)
	_, err = b.RunGate(ctx, "t_3")
	wantCode(t, err, errs.NotFound)
	lock, ok, err := fsx.TryAcquire(b.gateLock("t_1"))
	if !ok || err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err = b.RunGate(short, "t_1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside another run: %v", err)
	}
}
