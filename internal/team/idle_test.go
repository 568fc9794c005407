package team

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// TestIdleHooks looks at mail that was handed to its hook, or that has none,
// without a write: to take a lock is one.
func TestIdleHooks(t *testing.T) {
	ctx := context.Background()
	team, _, _ := residentOf(t, "bot", nil)
	team.Project = t.TempDir()
	hooks := Hooks{OnNotice: "exit 0"}
	if _, err := team.notify(ctx, notice{to: LeaderName, key: "k", event: eventStalled, body: "look at this\n"}); err != nil {
		t.Fatal(err)
	}
	m := &inbox.Message{Body: []byte("a report\n")}
	m.ID, m.From, m.To, m.Kind = "20300102T030405.000000Z-bot-1", "bot", LeaderName, inbox.KindReport
	if err := team.Box(LeaderName).Publish(m); err != nil {
		t.Fatal(err)
	}
	r := TickReport{}
	if team.runHooks(ctx, hooks, &r); len(r.Done) != 1 || len(r.Problems) > 0 {
		t.Fatalf("%+v", r)
	}
	lock := filepath.Join(team.TeammateDir(LeaderName), "hooks.lock")
	old := time.Now().Add(-time.Hour).Round(time.Second)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if team.runHooks(ctx, hooks, &r); len(r.Done) != 1 || len(r.Problems) > 0 {
		t.Fatalf("%+v", r)
	}
	if info := must(os.Stat(lock))(t); !info.ModTime().Equal(old) {
		t.Error("an idle look took the lock")
	}
}

// boardReads counts how often the snapshot, or its beginning, was read.
func boardReads(b *fsboard.Board, run func()) (n int) {
	defer fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpRead && path == b.Path() {
			n++
		}
		return nil
	})()
	run()
	return n
}

// TestIdleWatch looks at watched tasks only when the board has changed.
func TestIdleWatch(t *testing.T) {
	ctx := context.Background()
	team, b, _ := residentOf(t, "bot", nil)
	must(b.Add(ctx, fsboard.NewTask{Subject: "one"}, fsboard.NewTask{Subject: "two"}))(t)
	w, _, _, err := team.Watch(b, Identity{Name: LeaderName, Leader: true}, []string{"t_1", "t_2"})
	if err != nil {
		t.Fatal(err)
	}
	tick := func() int {
		r := TickReport{}
		team.tickWatches(ctx, b, 0, &r)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		return len(r.Done)
	}
	quiet := func() bool { _, ok := (*team.watched.Load())[w.ID]; return ok }
	if tick() != 0 || !quiet() {
		t.Fatal("told of nothing, or it would look again")
	}
	revision := boardReads(b, func() { must(b.Revision())(t) })
	if n := boardReads(b, func() { tick() }); n != revision {
		t.Errorf("the board was read %d times, its revision takes %d", n, revision)
	}
	for i, id := range []string{"t_1", "t_2"} {
		if _, err := b.Cancel(ctx, id, "no need", false); err != nil {
			t.Fatal(err)
		}
		if tick() != 1 {
			t.Errorf("%s has ended, and nobody was told", id)
		}
		if tick() != 0 {
			t.Errorf("told of %s again", id)
		}
		if n := len(noticesOf(t, team, eventSettled)); n != i+1 {
			t.Errorf("%d notices", n)
		}
	}
}

// TestIdleHolder does not look at the board again for a resident that holds a
// task, before the board changes.
func TestIdleHolder(t *testing.T) {
	ctx := context.Background()
	team, b, tm := residentOf(t, "bot", nil)
	lock := must(team.HoldAlive(tm))(t)
	defer lock.Unlock()
	must(b.Add(ctx, fsboard.NewTask{Subject: "one"}, fsboard.NewTask{Subject: "two"}))(t)
	must(b.Claim(ctx, fsboard.ClaimRequest{Worker: "bot", SpawnID: tm.SpawnID}))(t)
	r := TickReport{}
	team.tickOffers(ctx, b, []Teammate{tm}, &r)
	at := must(b.Revision())(t)
	if len(r.Done) > 0 || len(r.Problems) > 0 || team.offers.seen[tm.SpawnID] != (offerSeen{at, math.MaxInt64}) {
		t.Fatalf("%+v %+v", r, team.offers.seen)
	}
	must(b.Release(ctx, fsboard.ReleaseRequest{ID: "t_1", Worker: "bot", SpawnID: tm.SpawnID}))(t)
	team.tickOffers(ctx, b, []Teammate{tm}, &r)
	if len(r.Done) != 1 || len(r.Problems) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestOffersBounded keeps a notice of claimable tasks short while it is unread,
// and tells of the others when it was read.
func TestOffersBounded(t *testing.T) {
	ctx := context.Background()
	wall := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	defer fsx.SetNow(func() time.Time { return wall })()
	team, b, tm := residentOf(t, "bot", nil)
	lock := must(team.HoldAlive(tm))(t)
	defer lock.Unlock()
	for range maxOffers + 5 {
		must(b.Add(ctx, fsboard.NewTask{Subject: "task"}))(t)
	}
	pass := func() int {
		r := TickReport{}
		team.tickOffers(ctx, b, []Teammate{tm}, &r)
		wall = wall.Add(3 * time.Second)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		return len(r.Done)
	}
	if pass() != 1 || pass() != 0 {
		t.Fatal("told otherwise than once")
	}
	read := func() []string {
		var lines []string
		_, _, _, err := team.Receive(ctx, ReceiveRequest{Who: Identity{Name: "bot", SpawnID: tm.SpawnID}, Show: func(m *inbox.Message) error {
			lines = strings.Split(string(m.Body), "\n- ")[1:]
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	if got := read(); len(got) != maxOffers {
		t.Errorf("%d tasks: %q", len(got), got)
	}
	if pass() != 1 {
		t.Error("not told of the others")
	}
	if got := read(); len(got) != 5 {
		t.Errorf("%d tasks: %q", len(got), got)
	}
}

// TestHarnessRunAgain feeds one run of a name, whichever harness does.
func TestHarnessRunAgain(t *testing.T) {
	ctx := context.Background()
	team := newTeam(t)
	must(team.EnsureSession())(t)
	dead := exec.Command("sleep", "60")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	before, err := fsx.ProcessOf(dead.Process.Pid)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range []fsx.Process{before, must(fsx.Self())(t)} {
		m, err := team.newMirror(ctx, HerdrOptions{Run: "demo", Getenv: func(string) string { return "" }}, &HarnessStatus{Process: p})
		if err != nil {
			t.Fatal(err)
		}
		ids[m.run.ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("runs %v", ids)
	}
}
