package fsboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestDependenciesRefused(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 40)
	edit := func(id string, deps ...string) error {
		_, err := b.Edit(ctx, id, Edit{DependsOn: &deps})
		return err
	}
	var many []string
	for i := range MaxDependsOn + 1 {
		many = append(many, taskID(int64(i+2)))
	}
	for i := 2; i <= 39; i++ { // a long chain: t_40 waits for t_39 … t_2 waits for t_1
		if err := edit(taskID(int64(i)), taskID(int64(i-1))); err != nil {
			t.Fatal(err)
		}
	}
	before := readFile(t, b.Path())
	for name, c := range map[string]struct {
		id   string
		deps []string
		code errs.Code
		text string
	}{
		"self":      {"t_1", []string{"t_1"}, errs.Cycle, "t_1 cannot wait for itself"},
		"two":       {"t_1", []string{"t_2"}, errs.Cycle, "t_1 -> t_2 -> t_1"},
		"long":      {"t_1", []string{"t_39"}, errs.Cycle, "t_1 -> t_39 -> t_38 -> t_37"},
		"unknown":   {"t_1", []string{"t_99"}, errs.UnknownDep, `"t_99"`},
		"no id":     {"t_1", []string{"foo"}, errs.UnknownDep, `"foo"`},
		"duplicate": {"t_1", []string{"t_40", "t_40"}, errs.Usage, "twice"},
		"many":      {"t_40", many, errs.Usage, "at most 32"},
	} {
		err := edit(c.id, c.deps...)
		if errs.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) || errs.Exit(errs.CodeOf(err)) != 64 {
			t.Errorf("%s: %v (%s)", name, err, errs.CodeOf(err))
		}
		if _, err := b.Add(ctx, NewTask{Subject: "fine"}, NewTask{Subject: "x", DependsOn: c.deps}); name != "self" && name != "two" && name != "long" && errs.CodeOf(err) != c.code {
			t.Errorf("add with %s: %v", name, err)
		} else if err == nil {
			before = readFile(t, b.Path())
		}
	}
	var e *errs.Error
	if err := edit("t_1", "t_3"); !errors.As(err, &e) || !slices.Equal(e.Details["cycle"].([]string), []string{"t_1", "t_3", "t_2", "t_1"}) {
		t.Errorf("%v", err)
	}
	if string(readFile(t, b.Path())) != string(before) {
		t.Error("a refused dependency changed the board")
	}
	if err := edit("t_40", many[:MaxDependsOn]...); err != nil {
		t.Error(err)
	}
	wantSound(t, b)
}

// TestDependencyStates: what a dependent of each kind of task is, and why.
func TestDependencyStates(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "done"}, NewTask{Subject: "given up", MaxAttempts: ptr(1)}, NewTask{Subject: "called off"}, NewTask{Subject: "held"}, NewTask{Subject: "free"})
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	mustClaim(t, b, "t_2", "ann")
	if _, err := b.Submit(ctx, SubmitRequest{ID: "t_2", Worker: "ann", SpawnID: "ann-1", Status: "failed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t_3", "", false); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_4", "ann")
	for i, c := range []struct {
		on    string
		state State
		code  string
		text  string
	}{
		{"t_1", StateReady, "", ""},
		{"t_2", StateBlocked, "dependency_failed", "t_7 waits for t_2, which is failed"},
		{"t_3", StateBlocked, "dependency_cancelled", "t_8 waits for t_3, which is cancelled"},
		{"t_4", StateBlocked, "dependency", "t_9 waits for t_4, which is claimed by ann"},
		{"t_5", StateBlocked, "dependency", "t_10 waits for t_5, which is ready"},
		{"t_8", StateBlocked, "dependency", "t_11 waits for t_8, which is blocked because of t_3"},
	} {
		v := mustAdd(t, b, NewTask{Subject: "after " + c.on, DependsOn: []string{c.on}})[0]
		if v.ID != taskID(int64(i+6)) || v.State != c.state {
			t.Errorf("%s on %s is %s", v.ID, c.on, v.State)
		}
		_, reasons, err := b.Why(v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if c.code == "" {
			if len(reasons) != 0 {
				t.Errorf("%+v", reasons)
			}
			continue
		}
		if len(reasons) != 1 || reasons[0].Code != c.code || reasons[0].Message != c.text || reasons[0].Hint == "" {
			t.Errorf("%s: %+v", v.ID, reasons)
		}
	}
	wantSound(t, b)
}

// TestArchivedDependency comes back in the same write.
func TestArchivedDependency(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 2)
	for _, id := range []string{"t_1", "t_2"} {
		mustClaim(t, b, id, "ann")
		mustSubmit(t, b, id, "ann")
	}
	if c, err := b.Collect(ctx, 0, false); err != nil || !slices.Equal(c.Archived, []string{"t_1", "t_2"}) {
		t.Fatalf("%+v, %v", c, err)
	}
	rev := b.mustRevision(t)
	if v := mustAdd(t, b, NewTask{Subject: "c", DependsOn: []string{"t_1"}})[0]; v.ID != "t_3" || v.State != StateReady {
		t.Fatalf("%+v", v)
	}
	if b.mustRevision(t) != rev+1 {
		t.Error("it took several writes")
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.Archived {
		t.Error("it is still archived")
	}
	if v := wantState(t, b, "t_2", StateCompleted); !v.Archived {
		t.Error("it came back for nothing")
	}
	// What something depends on is not archived again.
	if c, err := b.Collect(ctx, 0, false); err != nil || len(c.Archived) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	wantSound(t, b)
}

func TestCancelCascade(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", DependsOn: []string{"t_1"}}, NewTask{Subject: "3", DependsOn: []string{"t_2"}},
		NewTask{Subject: "4", DependsOn: []string{"t_1"}}, NewTask{Subject: "5", DependsOn: []string{"t_4"}}, NewTask{Subject: "6"}, NewTask{Subject: "7", DependsOn: []string{"t_6", "t_3"}})
	// t_4 is completed although t_1 is not any more: t_5 does not wait for t_1.
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	mustClaim(t, b, "t_4", "ann")
	mustSubmit(t, b, "t_4", "ann")
	if _, err := b.Reopen(ctx, "t_1"); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_1", "bob")
	rev := b.mustRevision(t)
	list, err := b.Cancel(ctx, "t_1", "no time", true)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, v := range list {
		ids = append(ids, v.ID)
		if v.State != StateCancelled || v.ErrorMessage != "no time" {
			t.Errorf("%+v", v)
		}
	}
	if !slices.Equal(ids, []string{"t_1", "t_2", "t_3", "t_7"}) || b.mustRevision(t) != rev+1 {
		t.Errorf("cancelled %v in %d writes", ids, b.mustRevision(t)-rev)
	}
	wantState(t, b, "t_4", StateCompleted)
	wantState(t, b, "t_5", StateReady)
	wantState(t, b, "t_6", StateReady)
	_, err = b.Cancel(ctx, "t_4", "", false)
	wantCode(t, err, errs.TaskEnded)
	_, err = b.Cancel(ctx, "t_99", "", false)
	wantCode(t, err, errs.NotFound)
	rev = b.mustRevision(t)
	if list, err := b.Cancel(ctx, "t_1", "", false); err != nil || len(list) != 1 || b.mustRevision(t) != rev {
		t.Errorf("cancelling it again: %v, %v", list, err)
	}
	for _, e := range history(t, b) {
		if e.Event == EventCancelled && e.Task == "t_1" && (e.Worker != "bob" || e.SpawnID != "bob-1" || e.Reason != "no time") {
			t.Errorf("%+v", e)
		}
	}
	wantSound(t, b)
}

// TestReopenRaisesDependents: what depended on a completed task gets a new
// epoch when it is blocked again; one that is claimed goes on.
func TestReopenRaisesDependents(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{HarnessLive: live})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", DependsOn: []string{"t_1"}}, NewTask{Subject: "3", DependsOn: []string{"t_1"}},
		NewTask{Subject: "4", DependsOn: []string{"t_1"}})
	mustClaim(t, b, "t_1", "ann")
	r := submission("t_1", "ann")
	r.NoWait = true
	if _, err := b.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Decide(ctx, "t_1"); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_2", "bob")
	mustFold(t, b)
	told := mustClaim(t, b, "t_3", "cid") // only a marker
	if v, err := b.Reopen(ctx, "t_1"); err != nil || v.Epoch != 1 || v.State != StateReady || v.Result != "" || v.CompletedAt != 0 || v.ClaimedBy != "" {
		t.Fatalf("%+v, %v", v, err)
	}
	wantState(t, b, "t_2", StateClaimed)
	if v := wantState(t, b, "t_3", StateClaimed); v.Claim.Token != told.Claim.Token {
		t.Errorf("%+v", v)
	}
	if v := wantState(t, b, "t_4", StateBlocked); v.Epoch != 1 {
		t.Errorf("its epoch is %d", v.Epoch)
	}
	for _, id := range []string{"t_1", "t_2"} {
		_, err := b.Reopen(ctx, id)
		wantCode(t, err, errs.Conflict)
	}
	_, err := b.Reopen(ctx, "t_9")
	wantCode(t, err, errs.NotFound)
	wantSound(t, b)
}

// TestLongChains: nothing here is quadratic, and deep chains overflow nothing.
func TestLongChains(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	n := 2000
	if *long {
		n = 10_000
	}
	tasks := make([]NewTask, n)
	for i := range tasks {
		tasks[i] = NewTask{Subject: "link"}
		if i > 0 {
			tasks[i].DependsOn = []string{taskID(int64(i))}
		}
	}
	start := time.Now()
	mustAdd(t, b, tasks...)
	if _, err := b.Edit(ctx, "t_1", Edit{DependsOn: &[]string{taskID(int64(n))}}); errs.CodeOf(err) != errs.Cycle {
		t.Error(err)
	}
	if _, err := b.Claim(ctx, ClaimRequest{Worker: "ann", SpawnID: "1", Tags: []string{"none"}}); errs.CodeOf(err) != errs.BoardDrained {
		t.Error(err)
	}
	mustClaim(t, b, "t_1", "ann")
	if _, err := b.Claim(ctx, request("", "bob")); errs.CodeOf(err) != errs.NothingClaimable || !strings.Contains(err.Error(), fmt.Sprint(n)) {
		t.Error(err)
	}
	if f, err := b.Check(); err != nil || len(f) != 0 {
		t.Error(f, err)
	}
	if list, err := b.Cancel(ctx, "t_1", "", true); err != nil || len(list) != n {
		t.Error(len(list), err)
	}
	if _, err := b.Claim(ctx, request("", "bob")); errs.CodeOf(err) != errs.BoardDrained {
		t.Error(err)
	}
	if c, err := b.Collect(ctx, 0, false); err != nil || len(c.Archived) != n {
		t.Error(len(c.Archived), err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	wantSound(t, b)
}
