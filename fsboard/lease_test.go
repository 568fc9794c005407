package fsboard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// leased claims t_1 with a lease of a minute.
func leased(t testing.TB, b *Board, id, worker string) *TaskView {
	t.Helper()
	r := request(id, worker)
	r.Lease, r.Max = time.Minute, 100
	v, err := b.Claim(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLeaseEnds(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 2)
	v := leased(t, b, "t_1", "ann")
	if v.Claim.LeaseUntil != clk.wall.Add(time.Minute).UnixMilli() || v.Claim.LeaseMs != 60_000 || v.Claim.BootID != fsx.BootID() || v.Claim.BootMs != (time.Hour+time.Minute).Milliseconds() {
		t.Fatalf("%+v", v.Claim)
	}
	mustClaim(t, b, "t_2", "bob") // without a lease
	h, err := b.readHead()
	if err != nil || h.Due != v.Claim.LeaseUntil || h.DueBoot == nil || h.DueBoot.Ms != v.Claim.BootMs || h.DueBoot.BootID != fsx.BootID() || !slices.Equal(h.Holders, []string{"ann", "bob"}) {
		t.Fatalf("%+v, %v", h, err)
	}
	clk.pass(time.Minute - time.Millisecond)
	if l, err := b.Look(); err != nil || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	clk.pass(time.Millisecond)
	if l, err := b.Look(); err != nil || !l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	if held, err := b.Held("ann", "ann-1"); err != nil || len(held) != 0 { // readers compute the end themselves
		t.Fatal(held, err)
	}
	_, err = b.Renew(ctx, "t_1", "ann", "ann-1", 0)
	wantCode(t, err, errs.StaleClaim)
	if r, err := b.Fold(ctx, false); err != nil || len(r.Events) != 0 { // only a sweep releases
		t.Fatalf("%+v, %v", r, err)
	}
	events := mustFold(t, b)
	wantEvents(t, events, "released t_1")
	if e := events[0]; e.Reason != "lease_over" || e.Worker != "ann" || e.Epoch != 1 || !strings.Contains(e.Message, stamp(v.Claim.LeaseUntil)) {
		t.Fatalf("%+v", e)
	}
	if v := wantState(t, b, "t_1", StateReady); v.Attempt != 0 || v.ClaimedBy != "" || v.Epoch != 1 {
		t.Fatalf("%+v", v)
	}
	if h, _ := b.readHead(); h.Due != 0 || h.DueBoot != nil || !slices.Equal(h.Holders, []string{"bob"}) {
		t.Fatalf("%+v", h)
	}
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	wantSound(t, b)
}

func TestRenew(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{HarnessLive: live})
	addN(t, b, 3)
	leased(t, b, "t_1", "ann") // renewed while it is only a marker
	clk.pass(50 * time.Second)
	task, err := b.Renew(ctx, "t_1", "ann", "ann-1", 0)
	if err != nil || task.Claim.LeaseUntil != clk.wall.Add(time.Minute).UnixMilli() || task.Claim.BootMs != (clk.boot+time.Minute).Milliseconds() {
		t.Fatalf("%+v, %v", task, err)
	}
	if task, err = b.Renew(ctx, "t_1", "ann", "ann-1", time.Hour); err != nil || task.Claim.LeaseMs != 3_600_000 {
		t.Fatalf("%+v, %v", task, err)
	}
	clk.pass(59 * time.Minute)
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	mustClaim(t, b, "t_2", "bob")
	if task, err = b.Renew(ctx, "t_2", "bob", "bob-1", 0); err != nil || task.Claim.LeaseUntil != 0 { // it has none, and needs none
		t.Fatalf("%+v, %v", task, err)
	}
	for _, c := range []struct {
		id, worker, spawn string
		code              errs.Code
	}{{"t_1", "bob", "bob-1", errs.NotHolder}, {"t_1", "ann", "ann-2", errs.StaleClaim}, {"t_3", "ann", "ann-1", errs.NotHolder}, {"t_9", "ann", "ann-1", errs.NotFound}} {
		_, err := b.Renew(ctx, c.id, c.worker, c.spawn, time.Minute)
		wantCode(t, err, c.code)
	}
	wantSound(t, b)
}

// TestHolderGone: proof ends a claim, silence does not.
func TestHolderGone(t *testing.T) {
	roster := &fakeRoster{}
	b := openTest(t, Options{Roster: roster})
	addN(t, b, 5)
	for i, name := range []string{"alive", "silent", "dead", "replaced", "vanished"} {
		mustClaim(t, b, taskID(int64(i+1)), name)
	}
	roster.set("alive", Worker{Life: LifeAlive})
	roster.set("dead", Worker{Life: LifeDead})
	roster.set("replaced/replaced-1", Worker{Life: LifeReplaced})
	roster.set("vanished", Worker{Life: LifeNoSuch})
	if l, err := b.Look(); err != nil || !l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	events := mustFold(t, b)
	wantEvents(t, events, "released t_3, released t_4")
	if events[0].Reason != "holder_dead" || events[1].Reason != "holder_replaced" {
		t.Fatalf("%+v", events)
	}
	if l, err := b.Look(); err != nil || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	wantSound(t, b)
}

// TestSubmittedClaimStays: nothing but a decision ends a claim with a waiting
// submission.
func TestSubmittedClaimStays(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	roster := &fakeRoster{}
	b := openTest(t, Options{Roster: roster, Gates: failing(1), HarnessLive: live})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "false"})
	leased(t, b, "t_1", "ann")
	r := submission("t_1", "ann")
	r.NoWait = true
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	roster.set("ann", Worker{Life: LifeDead})
	clk.pass(time.Hour)
	wantEvents(t, mustFold(t, b), "claimed t_1")
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	wantState(t, b, "t_1", StateSubmitted)
	if held, _ := b.Held("ann", "ann-1"); len(held) != 1 {
		t.Fatal("a claim with a waiting submission is held by nobody")
	}
	// A release decides first: the gate fails, so it goes on.
	v, err := b.Release(ctx, ReleaseRequest{ID: "t_1", Reason: "taken away"})
	if err != nil || v.State != StateReady || v.GateRuns != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	names := eventNames(history(t, b))
	if names != "added t_1, claimed t_1, gate_failed t_1, released t_1" {
		t.Fatal(names)
	}
	// And one that completes the task leaves nothing to release.
	b.o.Gates = passing()
	roster.set("ann", Worker{})
	mustClaim(t, b, "t_1", "ann")
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	_, err = b.Release(ctx, ReleaseRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1"})
	wantCode(t, err, errs.TaskEnded)
	wantState(t, b, "t_1", StateCompleted)
	wantSound(t, b)
}

// TestClockSteps sets the wall clock a day ahead and back: by the boot clock
// nothing happens, and what only the wall clock measures neither lasts for ever
// nor ends at once for good.
func TestClockSteps(t *testing.T) {
	ctx := context.Background()
	const day = 24 * time.Hour
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 3)
	leased(t, b, "t_1", "ann")
	fail := func(id string) {
		t.Helper()
		mustClaim(t, b, id, "cid")
		if _, err := b.Submit(ctx, SubmitRequest{ID: id, Worker: "cid", SpawnID: "cid-1", Status: "failed"}); err != nil {
			t.Fatal(err)
		}
	}
	clk.step(day) // leases of this boot do not lapse
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	leased(t, b, "t_2", "bob")
	fail("t_3")
	clk.step(-day)
	if v := wantState(t, b, "t_3", StateWaiting); v.NotBefore < clk.wall.Add(day).UnixMilli() {
		t.Fatalf("%+v", v)
	}
	if _, reasons, err := b.Why("t_3"); err != nil || !strings.Contains(reasons[0].Message, "in 30s") {
		t.Fatalf("%+v, %v", reasons, err)
	}
	if l, err := b.Look(); err != nil || !l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	events := mustFold(t, b)
	wantEvents(t, events, "clock, clock t_2, clock t_3")
	if v := wantState(t, b, "t_3", StateWaiting); v.NotBefore != clk.wall.Add(30*time.Second).UnixMilli() || v.Epoch != 1 {
		t.Fatalf("%+v", v)
	}
	if v := wantState(t, b, "t_2", StateClaimed); v.Claim.LeaseUntil != clk.wall.Add(time.Minute).UnixMilli() {
		t.Fatalf("%+v", v.Claim)
	}
	if l, err := b.Look(); err != nil || l.Fold { // once is enough
		t.Fatalf("%+v, %v", l, err)
	}
	clk.pass(time.Minute)
	wantEvents(t, mustFold(t, b), "released t_1, released t_2")
	wantState(t, b, "t_3", StateReady)
	wantSound(t, b)
}

// TestClaimHint names a command that the caller may give, in every case.
func TestClaimHint(t *testing.T) {
	for _, c := range []struct {
		task   Task
		worker string
		want   string
	}{
		{Task{ID: "t_1"}, "ann", "teams claim t_1"},
		{Task{ID: "t_1", Assignee: "ann"}, "ann", "teams claim t_1"},
		{Task{ID: "t_1"}, "", "teams task why t_1"},
		{Task{ID: "t_1", Assignee: "bob"}, "ann", "teams task why t_1"},
		{Task{ID: "t_1", Role: "coder"}, "ann", "teams task why t_1"},
		{Task{ID: "t_1", DependsOn: []string{"t_2"}}, "ann", "teams task why t_1"},
		{Task{ID: "t_1", NotBefore: 1}, "ann", "teams task why t_1"},
	} {
		if e := heldBy(&c.task, c.worker, ""); e.Hint != c.want {
			t.Errorf("%+v for %q: %q, want %q", c.task, c.worker, e.Hint, c.want)
		}
	}
}

// TestLeaseOfAnotherBoot is measured by the wall clock, and then lasts at most
// its length from now.
func TestLeaseOfAnotherBoot(t *testing.T) {
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 2)
	leased(t, b, "t_1", "ann")
	clk.pass(30 * time.Second)
	fsxBoot := fsx.SetBootID("the next boot")
	defer fsxBoot()
	clk.boot = time.Second // it started anew
	if l, err := b.Look(); err != nil || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	mustClaim(t, b, "t_2", "bob") // a write in between
	h, err := b.readHead()
	if err != nil || h.DueBoot != nil || h.LeaseDue != clk.wall.Add(30*time.Second).UnixMilli() {
		t.Fatalf("%+v, %v", h, err)
	}
	clk.step(-time.Hour) // back: at most a minute from now
	v := wantState(t, b, "t_1", StateClaimed)
	if left := v.Claim.leaseLeft(clk.wall.UnixMilli(), bootNow()); left != 60_000 {
		t.Fatalf("%d ms are left", left)
	}
	wantEvents(t, mustFold(t, b), "clock, clock t_1")
	clk.pass(59 * time.Second)
	if l, err := b.Look(); err != nil || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	clk.pass(time.Second)
	if l, err := b.Look(); err != nil || !l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	wantEvents(t, mustFold(t, b), "released t_1")
	wantSound(t, b)
}

func TestRelease(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 3)
	leased(t, b, "t_1", "ann")
	clk.pass(time.Hour)
	// The owner's release works after the end of the lease too.
	v, err := b.Release(ctx, ReleaseRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Reason: "stuck"})
	if err != nil || v.State != StateReady || v.Epoch != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, c := range []struct {
		r    ReleaseRequest
		code errs.Code
	}{
		{ReleaseRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1"}, errs.NotHolder}, {ReleaseRequest{ID: "t_1"}, errs.NotHolder}, {ReleaseRequest{ID: "t_9"}, errs.NotFound},
	} {
		_, err := b.Release(ctx, c.r)
		wantCode(t, err, c.code)
	}
	mustClaim(t, b, "t_2", "bob")
	_, err = b.Release(ctx, ReleaseRequest{ID: "t_2", Worker: "ann", SpawnID: "ann-1"})
	wantCode(t, err, errs.NotHolder)
	_, err = b.Release(ctx, ReleaseRequest{ID: "t_2", Worker: "bob", SpawnID: "bob-2"})
	wantCode(t, err, errs.StaleClaim)
	if _, err := b.Release(ctx, ReleaseRequest{ID: "t_2"}); err != nil { // by the leader
		t.Fatal(err)
	}
	last := history(t, b)
	if e := last[len(last)-1]; e.By != Leader || e.Worker != "bob" || e.Reason != "released" {
		t.Fatalf("%+v", e)
	}
	for _, id := range []string{"t_1", "t_2"} {
		leased(t, b, id, "cid")
	}
	leased(t, b, "t_3", "dan")
	released, kept, err := b.ReleaseAll(ctx, "cid", "", "left")
	if err != nil || !slices.Equal(released, []string{"t_1", "t_2"}) || len(kept) != 0 {
		t.Fatal(released, kept, err)
	}
	if released, kept, err = b.ReleaseAll(ctx, "cid", "", "left"); err != nil || released != nil || kept != nil {
		t.Fatal(released, kept, err)
	}
	if released, _, err = b.ReleaseAll(ctx, "dan", "dan-2", "left"); err != nil || len(released) != 0 {
		t.Fatal(released, err)
	}
	wantSound(t, b)
}

// TestBusy: nobody waits longer for the board than it was told to, and the
// error names the lock.
func TestBusy(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{LockTimeout: 20 * time.Millisecond})
	addN(t, b, 1)
	lock, ok, err := fsx.TryAcquire(b.lockPath())
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err = b.Add(ctx, NewTask{Subject: "x"})
	wantCode(t, err, errs.Busy)
	wantPath(t, b, err)
	v := mustClaim(t, b, "t_1", "ann") // a claim needs no lock
	_, err = b.Submit(ctx, submission("t_1", "ann"))
	wantCode(t, err, errs.Busy) // it is on disk, and was not decided
	wantState(t, b, "t_1", StateSubmitted)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted || r.Task.LastSubmission.Token != v.Claim.Token {
		t.Fatalf("%+v", r)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Claim(cancelled, request("", "ann")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantSound(t, b)
}
