package fsboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func live() bool { return true }

func TestClaimAnswers(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{}
	b := openTest(t, Options{Roster: roster})
	mustAdd(t, b,
		NewTask{Subject: "ready"},
		NewTask{Subject: "blocked", DependsOn: []string{"t_1"}},
		NewTask{Subject: "waits", MaxAttempts: ptr(2)},
		NewTask{Subject: "for another", Assignee: "bob"},
		NewTask{Subject: "for a reviewer", Role: "reviewer"},
		NewTask{Subject: "held"},
		NewTask{Subject: "done"},
		NewTask{Subject: "given up"},
		NewTask{Subject: "called off"},
		NewTask{Subject: "archived"},
		NewTask{Subject: "called off, and waits for t_9", DependsOn: []string{"t_9"}},
	)
	mustClaim(t, b, "t_3", "w1")
	if _, err := b.Submit(ctx, SubmitRequest{ID: "t_3", Worker: "w1", SpawnID: "w1-1", Status: "failed"}); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_6", "w1")
	for _, id := range []string{"t_10", "t_7"} {
		mustClaim(t, b, id, "w2")
		mustSubmit(t, b, id, "w2")
		if id == "t_10" {
			if _, err := b.Collect(ctx, 0, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := b.Edit(ctx, "t_8", Edit{MaxAttempts: ptr(1)}); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, "t_8", "w2")
	if _, err := b.Submit(ctx, SubmitRequest{ID: "t_8", Worker: "w2", SpawnID: "w2-1", Status: "failed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t_9", "not needed", false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   string
		code errs.Code
		text string
	}{
		{"t_2", errs.Blocked, "t_2 waits for t_1"},
		{"t_3", errs.Blocked, "attempt 1 of 2 failed"},
		{"t_4", errs.WrongAssignee, "assigned to bob"},
		{"t_5", errs.WrongRole, "teammates of agent reviewer"},
		{"t_6", errs.AlreadyClaimed, "claimed by w1"},
		{"t_7", errs.TaskEnded, "completed"},
		{"t_8", errs.TaskEnded, "failed"},
		{"t_9", errs.TaskEnded, "cancelled"},
		{"t_10", errs.TaskEnded, "archived"},
		{"t_11", errs.Blocked, "t_9, which is cancelled"},
		{"t_12", errs.NotFound, "there is no task t_12"},
		{"12", errs.NotFound, "look like t_12"},
		{"../t_1", errs.NotFound, "look like t_12"},
	} {
		before := readFile(t, b.Path())
		_, err := b.Claim(ctx, request(c.id, "ann"))
		if errs.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("claim %s: %v (%s), want %s %q", c.id, err, errs.CodeOf(err), c.code, c.text)
		}
		if string(readFile(t, b.Path())) != string(before) {
			t.Errorf("claim %s changed the board", c.id)
		}
	}
	mustClaim(t, b, "t_1", "ann")
	_, err := b.Claim(ctx, request("t_5", "ann"))
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != errs.AlreadyHolding || !slices.Equal(e.Details["holding"].([]string), []string{"t_1"}) {
		t.Errorf("at the limit: %v", err)
	}
	r := request("t_5", "ann")
	r.Max, r.Agent = 2, "reviewer"
	roster.set("ann", Worker{Agent: "reviewer"})
	if _, err := b.Claim(ctx, r); err != nil {
		t.Error(err)
	}
	wantSound(t, b)
}

func TestClaimOrder(t *testing.T) {
	b := openTest(t, Options{Roster: &fakeRoster{m: map[string]Worker{"rev": {Agent: "reviewer"}}}})
	mustAdd(t, b,
		NewTask{Subject: "later", Priority: ptr(4)},
		NewTask{Subject: "normal"},
		NewTask{Subject: "normal too", Tags: []string{"docs", "go"}},
		NewTask{Subject: "first", Priority: ptr(0)},
		NewTask{Subject: "mine", Priority: ptr(4), Assignee: "ann"},
		NewTask{Subject: "role", Priority: ptr(0), Role: "reviewer"},
	)
	for i := 7; i <= 12; i++ { // t_10 comes after t_9
		mustAdd(t, b, NewTask{Subject: "more", Priority: ptr(3), Tags: []string{"go"}})
	}
	next := func(worker string, change func(*ClaimRequest)) string {
		t.Helper()
		r := request("", worker)
		r.Max = 100
		if change != nil {
			change(&r)
		}
		v, err := b.Claim(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	var got []string
	for range 3 {
		got = append(got, next("ann", nil)) // hers first, then by priority and number
	}
	got = append(got, next("bob", func(r *ClaimRequest) { r.Tags = []string{"go", "docs"} }))
	got = append(got, next("rev", func(r *ClaimRequest) { r.Agent = "reviewer" }))
	for range 5 {
		got = append(got, next("bob", nil))
	}
	got = append(got, next("bob", func(r *ClaimRequest) { r.Tags = []string{"go"} }), next("bob", nil))
	want := "t_5 t_4 t_2 t_3 t_6 t_7 t_8 t_9 t_10 t_11 t_12 t_1"
	if strings.Join(got, " ") != want {
		t.Fatalf("claimed %v, want %s", got, want)
	}
	_, err := b.Claim(context.Background(), ClaimRequest{Worker: "bob", SpawnID: "bob-1", Max: 100, Role: "reviewer", Agent: "reviewer"})
	wantCode(t, err, errs.NothingClaimable)
	wantSound(t, b)
}

// TestClaimMarker checks the marker's fields and that a claim which is only a
// marker is seen by everybody.
func TestClaimMarker(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{HarnessLive: live})
	addN(t, b, 2)
	r := request("", "ann")
	r.Lease = time.Minute
	v, err := b.Claim(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(readFile(t, b.claimPath("t_1")), &m); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"taskId": "t_1", "worker": "ann", "spawnId": "ann-1", "token": v.Claim.Token, "epoch": float64(0), "pid": float64(os.Getpid()),
		"host": fsx.Host(), "leaseMs": float64(60_000), "bootId": fsx.BootID(),
	} {
		if m[key] != want {
			t.Errorf("%s is %v, want %v", key, m[key], want)
		}
	}
	if len(v.Claim.Token) != 32 || v.State != StateClaimed || v.Claim.LeaseUntil == 0 {
		t.Errorf("the claim is %+v", v.Claim)
	}
	if s, _ := b.load(); s.head.Revision != 1 {
		t.Error("a claim with a live harness folded")
	}
	other := again(t, b)
	if held, err := other.Held("ann", "ann-1"); err != nil || len(held) != 1 || held[0].ID != "t_1" {
		t.Errorf("held: %v, %v", held, err)
	}
	if held, _ := other.Held("ann", "ann-2"); len(held) != 0 {
		t.Error("another life holds it too")
	}
	_, err = other.Claim(ctx, request("t_1", "bob"))
	wantCode(t, err, errs.AlreadyClaimed)
	if v := mustClaim(t, other, "", "bob"); v.ID != "t_2" {
		t.Errorf("bob got %s", v.ID)
	}
	wantEvents(t, mustFold(t, b), "claimed t_1, claimed t_2")
	if names, _ := fsx.List(b.path("claims")); len(names) != 0 {
		t.Errorf("markers are left: %v", names)
	}
	got := wantState(t, b, "t_1", StateClaimed)
	if got.Claim.Token != v.Claim.Token || got.Claim.LeaseMs != 60_000 {
		t.Errorf("the fold stored %+v", got.Claim)
	}
	wantSound(t, b)
}

// TestClaimFoldsTheGone: without a harness, a claimer sees to the dead and the
// expired before it is told that there is nothing; with one it does not.
func TestClaimFoldsTheGone(t *testing.T) {
	ctx := context.Background()
	for _, named := range []string{"", "t_1"} {
		for _, end := range []string{"dead", "replaced", "lease"} {
			for _, harness := range []bool{false, true} {
				clk := fakeClock(t)
				roster := &fakeRoster{}
				isLive := false
				b := openTest(t, Options{Roster: roster, HarnessLive: func() bool { return isLive }})
				addN(t, b, 1)
				r := request("t_1", "ann")
				if end == "lease" {
					r.Lease = time.Minute
				}
				if _, err := b.Claim(ctx, r); err != nil {
					t.Fatal(err)
				}
				want := errs.NothingClaimable
				if named != "" {
					want = errs.AlreadyClaimed
				}
				_, err := b.Claim(ctx, request(named, "bob"))
				wantCode(t, err, want)
				switch end {
				case "dead":
					roster.set("ann", Worker{Life: LifeDead})
				case "replaced":
					roster.set("ann/ann-1", Worker{Life: LifeReplaced})
				case "lease":
					clk.pass(time.Minute)
				}
				isLive = harness
				v, err := b.Claim(ctx, request(named, "bob"))
				if harness {
					wantCode(t, err, want)
					continue
				}
				if err != nil || v.ClaimedBy != "bob" || v.Epoch != 1 {
					t.Fatalf("%s %s: %v, %v", named, end, v, err)
				}
				wantSound(t, b)
			}
		}
	}
}

func TestClaimNeedsTeammate(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{m: map[string]Worker{
		"nobody": {Life: LifeNoSuch}, "old": {Life: LifeReplaced}, "dead": {Life: LifeDead}, "blind": {Unread: true},
	}}
	b := openTest(t, Options{Roster: roster})
	addN(t, b, 1)
	for name, code := range map[string]errs.Code{
		"nobody": errs.StaleIdentity, "old": errs.StaleIdentity, "dead": errs.StaleIdentity, "blind": errs.Failure, "leader": errs.Usage, "": errs.Usage,
	} {
		_, err := b.Claim(ctx, request("t_1", name))
		wantCode(t, err, code)
	}
	if names, _ := fsx.List(b.path("claims")); len(names) != 0 {
		t.Fatalf("markers were written: %v", names)
	}
	wantState(t, b, "t_1", StateReady)
}

// TestFoldUnreadRecord: the marker of a worker whose record cannot be read just
// now is left alone, since its role's gate is not known, and nobody gets past it.
func TestFoldUnreadRecord(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{m: map[string]Worker{"ann": {Agent: "coder", Verify: "make test"}}}
	isLive := true
	b := openTest(t, Options{Roster: roster, HarnessLive: func() bool { return isLive }})
	addN(t, b, 1)
	mustClaim(t, b, "t_1", "ann")
	roster.set("ann", Worker{Unread: true})
	isLive = false
	r, err := b.Fold(ctx, true)
	if err != nil || len(r.Events) != 0 || len(r.Problems) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantState(t, b, "t_1", StateClaimed)
	_, err = b.Claim(ctx, request("t_1", "bob"))
	wantCode(t, err, errs.AlreadyClaimed)
	_, err = b.Edit(ctx, "t_1", Edit{Subject: ptr("changed")})
	wantCode(t, err, errs.Conflict)
	// Its submission waits as well, and is not taken for a stale one.
	isLive = true
	sub := submission("t_1", "ann")
	sub.NoWait = true
	if res, err := b.Submit(ctx, sub); err != nil || !res.Queued {
		t.Fatal(res, err)
	}
	isLive = false
	if d, err := b.Decide(ctx, "t_1"); err != nil || d.Waiting == "" || !exists(b.submissionPath("t_1")) {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := os.Remove(b.submissionPath("t_1")); err != nil {
		t.Fatal(err)
	}
	roster.set("ann", Worker{Agent: "coder", Verify: "make test"})
	wantEvents(t, mustFold(t, b), "claimed t_1")
	if g := wantState(t, b, "t_1", StateClaimed).Gate; g == nil || g.Command != "make test" || g.Source != "agent" {
		t.Fatalf("the gate is %+v", g)
	}
}

// TestDrained tells "nothing now" from "nothing ever".
func TestDrained(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Roster: &fakeRoster{m: map[string]Worker{"rev": {Agent: "reviewer"}}}})
	nothing := func(worker, agent string, tags ...string) errs.Code {
		_, err := b.Claim(ctx, ClaimRequest{Worker: worker, SpawnID: worker + "-1", Agent: agent, Tags: tags})
		return errs.CodeOf(err)
	}
	mustAdd(t, b, NewTask{Subject: "only a reviewer's", Role: "reviewer", Tags: []string{"x"}},
		NewTask{Subject: "after it", DependsOn: []string{"t_1"}, Assignee: "bob"},
		NewTask{Subject: "after that", DependsOn: []string{"t_2"}})
	if got := nothing("ann", ""); got != errs.NothingClaimable { // t_3 may come
		t.Errorf("ann gets %s", got)
	}
	if got := nothing("ann", "", "x"); got != errs.BoardDrained { // of this tag nothing can
		t.Errorf("ann with tag x gets %s", got)
	}
	if _, err := b.Cancel(ctx, "t_2", "", false); err != nil {
		t.Fatal(err)
	}
	if got := nothing("ann", ""); got != errs.BoardDrained { // t_3 waits for ever
		t.Errorf("ann gets %s", got)
	}
	_, reasons, err := b.Why("t_3")
	if err != nil || len(reasons) != 1 || reasons[0].Code != "dependency_cancelled" || reasons[0].Task != "t_2" {
		t.Errorf("why: %+v, %v", reasons, err)
	}
	r := request("t_1", "rev")
	r.Agent = "reviewer"
	if _, err := b.Claim(ctx, r); err != nil {
		t.Fatal(err)
	}
	if got := nothing("rev2", "reviewer"); got != errs.NothingClaimable { // t_1 may come back
		t.Errorf("rev2 gets %s", got)
	}
	mustSubmit(t, b, "t_1", "rev")
	if got := nothing("rev2", "reviewer"); got != errs.BoardDrained {
		t.Errorf("rev2 gets %s", got)
	}
	if _, err := b.Cancel(ctx, "t_3", "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Collect(ctx, 0, false); err != nil {
		t.Fatal(err)
	}
	if got := nothing("ann", ""); got != errs.BoardDrained { // all is archived
		t.Errorf("ann gets %s", got)
	}
}

// TestReadyIsOnlyAHint: whatever the list holds, claims are right.
func TestReadyIsOnlyAHint(t *testing.T) {
	ctx := context.Background()
	setUp := func() *Board {
		b := openTest(t, Options{Dir: fastDir(t) + "/s/b"})
		addN(t, b, 3)
		mustClaim(t, b, "t_1", "w1")
		return b
	}
	good := string(readFile(t, setUp().readyPath()))
	if good != "# revision 2\nt_2\t0\t2\t0\t\t\t\ttask t_2\nt_3\t0\t2\t0\t\t\t\ttask t_3\n" {
		t.Fatalf("the list is %q", good)
	}
	for name, content := range map[string]string{
		"missing": "-", "empty": "", "old": strings.Replace(good, "revision 2", "revision 1", 1), "newer": strings.Replace(good, "revision 2", "revision 9", 1),
		"no rows": "# revision 2\n", "cut": good[:len(good)-9], "NUL": "# revision 2\n\x00\x00\x00\n", "garbage": "# revision 2\nfoo\n\tbar\t\n",
		"claimed task": "# revision 2\nt_1\t0\t2\t0\t\t\t\ttask t_1\n", "old epoch": strings.ReplaceAll(good, "\t0\t2", "\t7\t2"),
		"unknown task": "# revision 2\nt_9\t0\t2\t0\t\t\t\tno task\n",
	} {
		b := setUp()
		if content == "-" {
			os.Remove(b.readyPath())
		} else {
			writeFile(t, b.readyPath(), []byte(content))
		}
		b = again(t, b)
		for _, want := range []string{"t_2", "t_3"} {
			if v, err := b.Claim(ctx, request("", "ann"+want)); err != nil || v.ID != want {
				t.Errorf("%s: got %v, %v", name, v, err)
			}
		}
		mustFold(t, b)
		if err := b.Fix(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := string(readFile(t, b.readyPath())); got != fmt.Sprintf("# revision %d\n", b.mustRevision(t)) {
			t.Errorf("%s: the list is %q", name, got)
		}
		wantSound(t, b)
	}
}

func (b *Board) mustRevision(t testing.TB) int64 {
	t.Helper()
	rev, err := b.revision()
	if err != nil {
		t.Fatal(err)
	}
	return rev
}
