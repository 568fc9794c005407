package fsboard

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestSubmitRefused(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{}
	b := openTest(t, Options{Roster: roster})
	addN(t, b, 3)
	mustClaim(t, b, "t_1", "ann")
	mustClaim(t, b, "t_3", "old")
	roster.set("old/old-1", Worker{Life: LifeReplaced})
	for name, c := range map[string]struct {
		r    SubmitRequest
		code errs.Code
	}{
		"unknown":    {submission("t_9", "ann"), errs.NotFound},
		"no id":      {submission("", "ann"), errs.NotFound},
		"unclaimed":  {submission("t_2", "ann"), errs.NotHolder},
		"of another": {submission("t_1", "bob"), errs.NotHolder},
		"other life": {SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-2"}, errs.StaleClaim},
		"replaced":   {submission("t_3", "old"), errs.StaleIdentity},
		"large":      {SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Result: strings.Repeat("x", MaxResult+1)}, errs.Usage},
		"status":     {SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "done"}, errs.Usage},
	} {
		_, err := b.Submit(ctx, c.r)
		if errs.CodeOf(err) != c.code {
			t.Errorf("%s: %v (%s), want %s", name, err, errs.CodeOf(err), c.code)
		}
	}
	if names, _ := fsx.List(b.path("submissions")); len(names) != 0 {
		t.Errorf("submissions/ has %v", names)
	}
	result := strings.Repeat("é", MaxResult/2)
	r := submission("t_1", "ann")
	r.Result = result
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	if v := wantState(t, again(t, b), "t_1", StateCompleted); v.Result != result {
		t.Error("the result of 1 MiB is another one")
	}
	_, err := b.Submit(ctx, submission("t_1", "bob"))
	wantCode(t, err, errs.TaskEnded)
	wantSound(t, b)
}

// TestFailedSubmissions: the back-off doubles, then the task fails; a reopened
// one starts anew.
func TestFailedSubmissions(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 1)
	fail := func(reason string) *SubmitResult {
		t.Helper()
		mustClaim(t, b, "t_1", "ann")
		r, err := b.Submit(ctx, SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "failed", Result: reason})
		if err != nil || r.Outcome != OutcomeFailed {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	for i, want := range []time.Duration{30 * time.Second, time.Minute} {
		r := fail(" no disk \n")
		if r.Task.State != StateWaiting || r.Task.Attempt != i+1 || r.Task.ErrorMessage != "no disk" || r.Task.Epoch != int64(i+1) ||
			r.Task.NotBefore != clk.wall.Add(want).UnixMilli() || r.Task.ClaimedBy != "" || r.Task.Claim != nil {
			t.Fatalf("after attempt %d: %+v", i+1, r.Task)
		}
		_, err := b.Claim(ctx, request("t_1", "ann"))
		wantCode(t, err, errs.Blocked)
		_, err = b.Claim(ctx, request("", "ann"))
		wantCode(t, err, errs.NothingClaimable)
		clk.pass(want - time.Millisecond)
		wantState(t, b, "t_1", StateWaiting)
		clk.pass(time.Millisecond)
		wantState(t, b, "t_1", StateReady)
	}
	if r := fail(""); r.Task.State != StateFailed || r.Task.ErrorMessage == "" || r.Task.LastSubmission.Outcome != OutcomeFailed {
		t.Fatalf("%+v", r.Task)
	}
	v, err := b.Reopen(ctx, "t_1")
	if err != nil || v.State != StateReady || v.Attempt != 0 || v.ErrorMessage != "" || v.NotBefore != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	// What was answered before the reopening is not the answer now.
	_, err = b.Submit(ctx, SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "failed"})
	wantCode(t, err, errs.NotHolder)
	if backoffMs(1) != 30_000 || backoffMs(3) != 120_000 || backoffMs(1000) <= 0 || backoffMs(0) != 30_000 {
		t.Error("the back-off is wrong at its ends")
	}
	wantSound(t, b)
}

// TestLateSubmission: the claim went to somebody else meanwhile.
func TestLateSubmission(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 1)
	r := request("t_1", "ann")
	r.Lease = time.Minute
	if _, err := b.Claim(ctx, r); err != nil {
		t.Fatal(err)
	}
	clk.pass(time.Minute)
	ended := stamp(clk.wall.UnixMilli())
	clk.pass(time.Hour)
	stale := func(text, hint string) {
		t.Helper()
		_, err := b.Submit(ctx, submission("t_1", "ann"))
		var e *errs.Error
		if !errors.As(err, &e) || e.Code != errs.StaleClaim || !strings.Contains(e.Msg, text) || !strings.Contains(e.Msg, ended) || e.Hint != hint {
			t.Errorf("got %v with hint %q, want %q and %q", err, e.Hint, text, hint)
		}
	}
	mustFold(t, b)
	stale("is ready now", "teams claim t_1")
	mustClaim(t, b, "t_1", "bob")
	stale("is held by bob now", "teams claim")
	_, err := b.Claim(ctx, request("t_1", "ann"))
	wantCode(t, err, errs.AlreadyClaimed)
	mustSubmit(t, b, "t_1", "bob")
	stale("is completed now", "teams log t_1")

	// Over, but nobody else took it: it still counts.
	addN(t, b, 1)
	r.ID = "t_2"
	if _, err := b.Claim(ctx, r); err != nil {
		t.Fatal(err)
	}
	clk.pass(time.Hour)
	if r := mustSubmit(t, b, "t_2", "ann"); r.Outcome != OutcomeCompleted {
		t.Errorf("%+v", r)
	}
	wantSound(t, b)
}

// TestSubmitTwice: whoever was killed before it could print gets the same
// answer again, also out of the archive.
func TestSubmitTwice(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Gates: passing()})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"}, NewTask{Subject: "b"})
	mustClaim(t, b, "t_1", "ann")
	first := mustSubmit(t, b, "t_1", "ann")
	for range 2 {
		second := mustSubmit(t, b, "t_1", "ann")
		if second.Submission != first.Submission || second.Outcome != OutcomeCompleted || second.Verdict != VerdictPassed {
			t.Fatalf("first %+v, then %+v", first, second)
		}
		if _, err := b.Collect(ctx, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Submit(ctx, SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "failed"})
	wantCode(t, err, errs.TaskEnded)
	mustClaim(t, b, "t_2", "ann")
	fail := SubmitRequest{ID: "t_2", Worker: "ann", SpawnID: "ann-1", Status: "failed", Result: "no"}
	one, err := b.Submit(ctx, fail)
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.Submit(ctx, fail)
	if err != nil || one.Submission != two.Submission || two.Task.Attempt != 1 {
		t.Fatalf("%+v, %v", two, err)
	}
	wantSound(t, b)
}

// TestSubmitWaitsForItsOwn: a submission that waits already is the one that
// its worker waits for; with no harness left it is decided at once.
func TestSubmitWaitsForItsOwn(t *testing.T) {
	ctx := context.Background()
	var isLive atomic.Bool
	isLive.Store(true)
	b := openTest(t, Options{Gates: failing(3), HarnessLive: isLive.Load})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "false"})
	mustClaim(t, b, "t_1", "ann")
	queued := submission("t_1", "ann")
	queued.NoWait = true
	one, err := b.Submit(ctx, queued)
	if err != nil || !one.Queued || one.Task.State != StateSubmitted {
		t.Fatalf("%+v, %v", one, err)
	}
	var m Marker
	if err := json.Unmarshal(readFile(t, b.submissionPath("t_1")), &m); err != nil {
		t.Fatal(err)
	}
	if m.Submission != one.Submission || m.Status != "completed" || m.Result != "done by ann" || m.Token != one.Task.Claim.Token || m.Worker != "ann" ||
		m.SpawnID != "ann-1" || m.Timestamp == 0 {
		t.Fatalf("the marker is %+v", m)
	}
	two, err := again(t, b).Submit(ctx, queued)
	if err != nil || two.Submission != one.Submission {
		t.Fatalf("%+v, %v", two, err)
	}
	// The holder's claim is not released by its end, by a leader or by time.
	if released, kept, err := b.ReleaseAll(ctx, "ann", "ann-1", "left"); err != nil || len(released) != 0 || !slices.Equal(kept, []string{"t_1"}) {
		t.Fatal(released, kept, err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r, err := again(t, b).Submit(ctx, submission("t_1", "ann"))
			if err != nil || r.Submission != one.Submission || r.Outcome != OutcomeGateFailed || r.Verdict != VerdictFailed || r.Receipt.ExitCode != 3 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	isLive.Store(false) // the harness dies: they notice within a second
	wg.Wait()
	if v := wantState(t, b, "t_1", StateClaimed); v.GateRuns != 1 || v.GateFailures != 1 {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
}

// TestSubmitWithHarness: a live harness decides; the submitter only waits.
func TestSubmitWithHarness(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{HarnessLive: live})
	mustAdd(t, b, NewTask{Subject: "a"}, NewTask{Subject: "b", DependsOn: []string{"t_1"}})
	mustClaim(t, b, "t_1", "ann")
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := b.Submit(ctx, submission("t_1", "ann")) // its claim is still only a marker
		if err != nil || r.Outcome != OutcomeCompleted || !slices.Equal(r.Ready, []string{"t_2"}) {
			t.Errorf("%+v, %v", r, err)
		}
	}()
	harness := again(t, b)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if l, err := harness.Look(); err != nil {
			t.Fatal(err)
		} else if len(l.Submissions) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no submission came")
		}
	}
	wantState(t, harness, "t_1", StateSubmitted)
	if d, err := harness.Decide(ctx, "t_1"); err != nil || d.Outcome != OutcomeCompleted {
		t.Fatalf("%+v, %v", d, err)
	}
	<-done
	mustClaim(t, b, "t_2", "ann")
	impatient, cancel := context.WithCancel(ctx)
	go func() {
		for !exists(b.submissionPath("t_2")) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := b.Submit(impatient, submission("t_2", "ann"))
	wantCode(t, err, errs.Interrupted)
	wantState(t, b, "t_2", StateSubmitted) // it stays queued
	wantSound(t, harness)
}

// TestForeignSubmission: it counts for the claim that its worker and spawn id
// hold, and for no other.
func TestForeignSubmission(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 1)
	mustClaim(t, b, "t_1", "ann")
	for _, m := range []string{
		`{"taskId":"t_1","worker":"bob","spawnId":"bob-1","status":"completed"}`,
		`{"taskId":"t_1","worker":"ann","spawnId":"ann-2","status":"completed"}`,
		`{"taskId":"t_1","worker":"ann","spawnId":"ann-1","status":"completed","token":"00","submission":"s1"}`,
	} {
		putMarker(t, b.submissionPath("t_1"), "%s", m)
		wantState(t, b, "t_1", StateClaimed)
		d, err := b.Decide(ctx, "t_1")
		if err != nil || d.Outcome != "" || eventNames(d.Events) != "dropped t_1" || exists(b.submissionPath("t_1")) {
			t.Fatalf("%s: %+v, %v", m, d, err)
		}
	}
	putMarker(t, b.submissionPath("t_1"), `{"taskId":"t_1","worker":"ann","spawnId":"ann-1","status":"failed","result":"tired"}`)
	wantState(t, b, "t_1", StateSubmitted)
	if d, err := b.Decide(ctx, "t_1"); err != nil || d.Outcome != OutcomeFailed || len(d.Submission) != 64 {
		t.Fatalf("%+v, %v", d, err)
	}
	if v := wantState(t, b, "t_1", StateWaiting); v.ErrorMessage != "tired" {
		t.Fatalf("%+v", v)
	}
	// For tasks that are not there.
	putMarker(t, b.submissionPath("t_7"), `{"taskId":"t_7","worker":"ann","spawnId":"ann-1"}`)
	if d, err := b.Decide(ctx, "t_7"); err != nil || eventNames(d.Events) != "dropped t_7" {
		t.Fatalf("%+v, %v", d, err)
	}
	// A stale one in the way of the holder is dropped, not taken for its own.
	if _, err := b.Reopen(ctx, "t_1"); errs.CodeOf(err) != errs.Conflict {
		t.Fatal(err)
	}
	addN(t, b, 1)
	mustClaim(t, b, "t_2", "ann")
	putMarker(t, b.submissionPath("t_2"), `{"taskId":"t_2","worker":"bob","spawnId":"bob-1","status":"completed"}`)
	if r := mustSubmit(t, b, "t_2", "ann"); r.Outcome != OutcomeCompleted || r.Task.ClaimedBy != "ann" {
		t.Fatalf("%+v", r)
	}
	wantSound(t, b)
}
