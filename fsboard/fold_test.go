package fsboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// putMarker puts a marker in place the way pi-agent-teams does.
func putMarker(t testing.TB, path, format string, args ...any) {
	t.Helper()
	writeFile(t, path, fmt.Appendf(nil, format, args...))
}

func rejected(t testing.TB, b *Board) (files []string) {
	t.Helper()
	names, err := fsx.List(b.path("rejected"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".reason") {
			files = append(files, name)
		}
	}
	return files
}

// TestUnusableMarkers: whatever lies in the marker directories is reported
// once and moved away, never followed, and spoils nothing else.
func TestUnusableMarkers(t *testing.T) {
	ctx := context.Background()
	outside := filepath.Join(t.TempDir(), "outside.json")
	writeFile(t, outside, []byte(`{"taskId":"t_1","worker":"mallory","spawnId":"m"}`))
	old := time.Now().Add(-time.Minute)
	for name, put := range map[string]func(path string) error{
		"directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "sub", "deep"), 0o700) },
		"symlink":   func(p string) error { return os.Symlink(outside, p) },
		"dangling":  func(p string) error { return os.Symlink(filepath.Join(outside, "nothing"), p) },
		"fifo":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"large":     func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte(" "), maxMarker+1), 0o600) },
		"other id": func(p string) error {
			return os.WriteFile(p, []byte(`{"taskId":"t_2","worker":"w","spawnId":"1"}`), 0o600)
		},
		"no worker":    func(p string) error { return os.WriteFile(p, []byte(`{"taskId":"t_1"}`), 0o600) },
		"number":       func(p string) error { return os.WriteFile(p, []byte(`7`), 0o600) },
		"null":         func(p string) error { return os.WriteFile(p, []byte(`null`), 0o600) },
		"old and torn": func(p string) error { return os.WriteFile(p, []byte(`{"taskId":"t_`), 0o600) },
		"old, empty":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"old NULs":     func(p string) error { return os.WriteFile(p, make([]byte, 100), 0o600) },
		"of tomorrow":  func(p string) error { return os.WriteFile(p, []byte(`{`), 0o600) },
		"bad status": func(p string) error {
			return os.WriteFile(p, []byte(`{"taskId":"t_1","worker":"w","status":"maybe"}`), 0o600)
		},
	} {
		for _, dir := range []string{"claims", "submissions"} {
			t.Run(dir+" "+name, func(t *testing.T) {
				b := openTest(t, Options{Dir: fastDir(t) + "/s/b"})
				addN(t, b, 3)
				mustClaim(t, b, "t_3", "ann")
				if dir == "submissions" {
					mustClaim(t, b, "t_1", "bob")
				}
				path := b.path(dir, "t_1.json")
				if err := put(path); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(name, "old") {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
				if name == "of tomorrow" {
					next := time.Now().Add(24 * time.Hour)
					if err := os.Chtimes(path, next, next); err != nil {
						t.Fatal(err)
					}
				}
				if name == "number" { // a claim of a number may be a torn one: it gets its time
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
				var events []Event
				if dir == "claims" {
					events = mustFold(t, b)
				} else {
					mustFold(t, b) // cannot release it, and leaves it to the decision
					d, err := b.Decide(ctx, "t_1")
					if err != nil {
						t.Fatal(err)
					}
					events = d.Events
				}
				wantEvents(t, events, "rejected t_1")
				if again := mustFold(t, b); len(again) != 0 {
					t.Errorf("reported again: %+v", again)
				}
				files := rejected(t, b)
				if len(files) != 1 || !strings.HasPrefix(files[0], "t_1.") || exists(path) {
					t.Errorf("rejected/ has %v", files)
				} else if reason := readFile(t, b.path("rejected", files[0]+".reason")); len(reason) < 5 {
					t.Errorf("the reason is %q", reason)
				}
				if dir == "claims" {
					if v := mustClaim(t, b, "t_1", "bob"); v.Epoch != 1 {
						t.Errorf("the epoch is %d", v.Epoch)
					}
				} else if r := mustSubmit(t, b, "t_1", "bob"); r.Outcome != OutcomeCompleted {
					t.Errorf("submit gave %+v", r)
				}
				mustClaim(t, b, "t_2", "cid")
				wantState(t, b, "t_3", StateClaimed)
				wantSound(t, b)
			})
		}
	}
	if got := readFile(t, outside); !strings.Contains(string(got), "mallory") {
		t.Errorf("the file outside is %q", got)
	}
}

// TestTornMarkerWaits: a marker that somebody may be writing is left alone for
// 30 s; nobody claims past it, and a leader's write says why it cannot.
func TestTornMarkerWaits(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 2)
	path := b.claimPath("t_1")
	putMarker(t, path, `{"taskId":"t_1","wor`)
	if events := mustFold(t, b); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	_, err := b.Claim(ctx, request("t_1", "ann"))
	wantCode(t, err, errs.AlreadyClaimed)
	if v := mustClaim(t, b, "", "ann"); v.ID != "t_2" {
		t.Fatalf("got %s", v.ID)
	}
	_, err = b.Cancel(ctx, "t_1", "", false)
	wantCode(t, err, errs.Conflict)
	wantPath(t, b, err)
	putMarker(t, path, `{"taskId":"t_1","worker":"ext","spawnId":"e1","timestamp":5}`) // now it is whole
	wantEvents(t, mustFold(t, b), "claimed t_1")
	wantSound(t, b)

	// A torn submission holds up its own task only.
	putMarker(t, b.submissionPath("t_1"), `{"tas`)
	d, err := b.Decide(ctx, "t_1")
	if err != nil || d.Waiting == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	_, err = b.Release(ctx, ReleaseRequest{ID: "t_1"})
	wantCode(t, err, errs.Conflict)
	released, kept, err := b.ReleaseAll(ctx, "ext", "", "left")
	if err != nil || len(released) != 0 || len(kept) != 1 {
		t.Fatal(released, kept, err)
	}
	if list, err := b.Waiting(); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
}

// TestStrangers: names that are no ids, in both directories.
func TestStrangers(t *testing.T) {
	b := openTest(t, Options{})
	addN(t, b, 1)
	for _, dir := range []string{"claims", "submissions"} {
		for _, name := range []string{"x.json", "t_01.json", "t_1", "t_1.json.bak", "t_99999999999999999999.json", "e\nvil\x1b[31m.json", "…"} {
			writeFile(t, b.path(dir, name), []byte(`{"taskId":"t_1","worker":"w"}`))
		}
		writeFile(t, b.path(dir, ".t_1.json.0123456789abcdef"), []byte("half"))
	}
	if l, err := b.Look(); err != nil || !l.Fold || len(l.Submissions) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	events := mustFold(t, b)
	if len(events) != 14 {
		t.Fatalf("%d events: %s", len(events), eventNames(events))
	}
	files := rejected(t, b)
	if len(files) != 14 {
		t.Fatalf("rejected/ has %q", files)
	}
	for _, name := range files {
		if strings.ContainsAny(name, "\n\x1b") {
			t.Errorf("rejected/ has %q", name)
		}
	}
	if l, err := b.Look(); err != nil || l.Fold {
		t.Fatalf("%+v, %v", l, err)
	}
	wantState(t, b, "t_1", StateReady)
	wantSound(t, b)
}

// TestRejectedIsBounded: at most 100 are kept, the newest.
func TestRejectedIsBounded(t *testing.T) {
	b := openTest(t, Options{Dir: fastDir(t) + "/s/b"})
	addN(t, b, 1)
	for round := range 5 {
		for i := range 30 {
			name := fmt.Sprintf("x%d-%d.json", round, i)
			if i%3 == 0 {
				if err := os.MkdirAll(b.path("claims", name, "full"), 0o700); err != nil {
					t.Fatal(err)
				}
			} else {
				writeFile(t, b.path("claims", name), nil)
			}
		}
		mustFold(t, b)
	}
	files := rejected(t, b)
	if len(files) != maxRejected {
		t.Fatalf("rejected/ has %d files", len(files))
	}
	for _, f := range files {
		if strings.HasPrefix(f, "x0-") {
			t.Errorf("the oldest is kept: %s", f)
		}
	}
}

// TestForeignClaim: a marker of pi-agent-teams, without token, epoch, pid and
// host. Its writer cannot say what it saw, so the task must be claimable now.
func TestForeignClaim(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Roster: &fakeRoster{m: map[string]Worker{"gone": {Life: LifeNoSuch}, "stopped": {Life: LifeDead}, "ext/e0": {Life: LifeReplaced}}}})
	mustAdd(t, b, NewTask{Subject: "a"}, NewTask{Subject: "b", DependsOn: []string{"t_1"}}, NewTask{Subject: "c", Assignee: "bob"},
		NewTask{Subject: "d", Role: "coder"}, NewTask{Subject: "e"})
	foreign := func(id, worker, spawn string) string {
		return fmt.Sprintf(`{"taskId":%q,"worker":%q,"spawnId":%q,"timestamp":%d}`, id, worker, spawn, time.Now().UnixMilli())
	}
	for _, c := range []struct{ id, worker, spawn, reason string }{
		{"t_2", "ext", "e1", "blocked"}, {"t_3", "ext", "e1", "wrong_assignee"}, {"t_4", "ext", "e1", "wrong_role"},
		{"t_5", "gone", "g", "no_such_teammate"}, {"t_5", "stopped", "s", "holder_dead"}, {"t_5", "ext", "e0", "replaced"}, {"t_77", "ext", "e1", "unknown_task"},
	} {
		putMarker(t, b.claimPath(c.id), "%s", foreign(c.id, c.worker, c.spawn))
		before, _ := b.Show(c.id)
		events := mustFold(t, b)
		if len(events) != 1 || events[0].Event != EventClaimRefused || events[0].Reason != c.reason {
			t.Errorf("%+v gives %+v", c, events)
		}
		if before != nil {
			if after, _ := b.Show(c.id); after.Epoch != before.Epoch+1 || after.Status != Pending {
				t.Errorf("%+v: epoch %d became %d", c, before.Epoch, after.Epoch)
			}
		}
	}
	text := foreign("t_1", "ext", "e1")
	putMarker(t, b.claimPath("t_1"), "%s", text)
	if v := wantState(t, b, "t_1", StateClaimed); v.ClaimedBy != "ext" {
		t.Errorf("held by %s", v.ClaimedBy)
	}
	wantEvents(t, mustFold(t, b), "claimed t_1")
	sum := sha256.Sum256([]byte(text))
	if v := wantState(t, b, "t_1", StateClaimed); v.Claim.Token != hex.EncodeToString(sum[:]) || v.Claim.SpawnID != "e1" {
		t.Errorf("the claim is %+v", v.Claim)
	}
	// The same one left after its fold is only removed.
	putMarker(t, b.claimPath("t_1"), "%s", text)
	if events := mustFold(t, b); len(events) != 0 || exists(b.claimPath("t_1")) {
		t.Errorf("the left marker gives %+v", events)
	}
	// And one that is left while its task is released is never granted again.
	putMarker(t, b.claimPath("t_1"), "%s", text)
	if _, err := b.Release(ctx, ReleaseRequest{ID: "t_1"}); err != nil {
		t.Fatal(err)
	}
	if events := mustFold(t, b); len(events) != 0 {
		t.Errorf("after the release: %+v", events)
	}
	wantState(t, b, "t_1", StateReady)

	putMarker(t, b.claimPath("t_1"), "%s", foreign("t_1", "ext", "e1"))
	putMarker(t, b.submissionPath("t_1"), `{"taskId":"t_1","worker":"ext","spawnId":"e1","status":"completed","result":"fine","timestamp":1}`)
	wantState(t, b, "t_1", StateSubmitted)
	if d, err := b.Decide(ctx, "t_1"); err != nil || d.Outcome != OutcomeCompleted {
		t.Errorf("%+v, %v", d, err)
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.Result != "fine" || v.ClaimedBy != "ext" {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
}

// TestForeignReleasedInOneSection: a foreign marker that is granted and
// released in the same lock section must be gone before the release commits, or
// a crash would bring the claim back.
func TestForeignReleasedInOneSection(t *testing.T) {
	b := openTest(t, Options{})
	addN(t, b, 1)
	putMarker(t, b.claimPath("t_1"), `{"taskId":"t_1","worker":"ext","spawnId":"e1","timestamp":5}`)
	writes := 0
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpRename && path == b.Path() {
			if writes++; writes == 2 && exists(b.claimPath("t_1")) {
				t.Error("the marker is there while the release commits")
			}
		}
		return nil
	})
	defer restore()
	if _, err := b.Release(context.Background(), ReleaseRequest{ID: "t_1"}); err != nil {
		t.Fatal(err)
	}
	if writes != 2 {
		t.Errorf("%d writes", writes)
	}
	wantState(t, b, "t_1", StateReady)
}

// TestRefusedRaisesEpoch: nobody who published in an epoch in which a marker
// was refused can be told that it holds the task.
func TestRefusedRaisesEpoch(t *testing.T) {
	roster := &fakeRoster{}
	isLive := true
	b := openTest(t, Options{Roster: roster, HarnessLive: func() bool { return isLive }})
	addN(t, b, 1)
	mustClaim(t, b, "t_1", "ann") // told, and dies before the fold
	roster.set("ann", Worker{Life: LifeDead})
	events := mustFold(t, b)
	wantEvents(t, events, "claim_refused t_1")
	if events[0].Reason != "holder_dead" || events[0].Epoch != 1 {
		t.Fatalf("%+v", events[0])
	}
	if v := mustClaim(t, b, "t_1", "bob"); v.Epoch != 1 {
		t.Fatalf("the new claim is of epoch %d", v.Epoch)
	}
	// A marker of an epoch that is over is refused too.
	isLive = false
	mustFold(t, b)
	if _, err := b.Release(context.Background(), ReleaseRequest{ID: "t_1"}); err != nil {
		t.Fatal(err)
	}
	putMarker(t, b.claimPath("t_1"), `{"taskId":"t_1","worker":"cid","spawnId":"c","token":"x","epoch":1}`)
	wantState(t, b, "t_1", StateReady)
	if v := mustClaim(t, b, "t_1", "dan"); v.ClaimedBy != "dan" || v.Epoch != 3 {
		t.Fatalf("%+v", v)
	}
	wantSound(t, b)
}

// TestDeadClaimerSubmitted: a claim that is only a marker, of a life that ended
// after it had submitted, stands until the submission is decided.
func TestDeadClaimerSubmitted(t *testing.T) {
	ctx := context.Background()
	for _, life := range []Life{LifeDead, LifeReplaced, LifeNoSuch} {
		roster := &fakeRoster{m: map[string]Worker{"ann": {Verify: "make"}}}
		b := openTest(t, Options{Roster: roster, Gates: passing(), HarnessLive: live})
		addN(t, b, 1)
		mustClaim(t, b, "t_1", "ann")
		r := submission("t_1", "ann")
		r.NoWait = true
		res, err := b.Submit(ctx, r)
		if err != nil || !res.Queued {
			t.Fatal(res, err)
		}
		roster.set("ann/ann-1", Worker{Life: life})
		wantState(t, b, "t_1", StateSubmitted)
		wantEvents(t, mustFold(t, b), "claimed t_1")
		d, err := b.Decide(ctx, "t_1")
		if err != nil || d.Outcome != OutcomeCompleted {
			t.Fatalf("life %d: %+v, %v", life, d, err)
		}
		if life == LifeReplaced && (d.Receipt == nil || d.Receipt.Verdict != VerdictPassed) {
			t.Error("the gate of the role was left out")
		}
		wantSound(t, b)
	}
}

// TestTakenUntilTheCommit: a decision in whose fold the claim of a dead worker is
// refused keeps the place of its submission until the refusal is on disk.
func TestTakenUntilTheCommit(t *testing.T) {
	ctx := context.Background()
	roster := &fakeRoster{}
	b := openTest(t, Options{Roster: roster, HarnessLive: live})
	addN(t, b, 1)
	mustClaim(t, b, "t_1", "ann")
	roster.set("ann", Worker{Life: LifeDead})
	putMarker(t, b.submissionPath("t_1"), `{"taskId":"t_1","worker":"bob","spawnId":"b","token":"old","submission":"s"}`)
	committed := false
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpRename && path == b.Path() {
			committed = true
			if m, err := readMarker(b.submissionPath("t_1"), "t_1"); err != nil || m.Worker != Leader {
				t.Errorf("at the commit the marker is %+v, %v", m, err)
			}
		}
		return nil
	})
	d, err := b.Decide(ctx, "t_1")
	restore()
	if err != nil || !committed || eventNames(d.Events) != "dropped t_1, claim_refused t_1" || exists(b.submissionPath("t_1")) {
		t.Errorf("%+v, %v", d, err)
	}
	wantSound(t, b)
}

// TestLeaderMarkersLeft: what a killed leader left is removed, never granted,
// never decided, and does not make a task claimed or submitted.
func TestLeaderMarkersLeft(t *testing.T) {
	ctx := context.Background()
	for _, harness := range []bool{false, true} {
		isLive := harness
		b := openTest(t, Options{HarnessLive: func() bool { return isLive }})
		addN(t, b, 1)
		left := func(path string) {
			putMarker(t, path, `{"taskId":"t_1","worker":"leader","spawnId":"","timestamp":1,"token":"abc","pid":1}`)
		}
		left(b.claimPath("t_1"))
		wantState(t, b, "t_1", StateReady)
		if harness {
			_, err := b.Claim(ctx, request("t_1", "ann")) // the harness will see to it
			wantCode(t, err, errs.AlreadyClaimed)
			_, err = b.Claim(ctx, request("", "ann"))
			wantCode(t, err, errs.NothingClaimable)
			if events := mustFold(t, b); len(events) != 0 {
				t.Fatalf("%+v", events)
			}
		}
		if v := mustClaim(t, b, "t_1", "ann"); v.Epoch != 0 {
			t.Fatalf("epoch %d", v.Epoch)
		}
		left(b.submissionPath("t_1"))
		wantState(t, b, "t_1", StateClaimed)
		if d, err := b.Decide(ctx, "t_1"); err != nil || d.Outcome != "" || exists(b.submissionPath("t_1")) {
			t.Fatalf("%+v, %v", d, err)
		}
		left(b.submissionPath("t_1"))
		isLive = false
		if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted {
			t.Fatalf("%+v", r)
		}
		wantSound(t, b)
	}
}
