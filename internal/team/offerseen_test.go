package team

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// times are the files below a directory with their times.
func times(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			out[path] = must(d.Info())(t).ModTime()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ticks is a resident that is ticked by one process after the other.
type ticks struct {
	t    *testing.T
	team *Team
	b    *fsboard.Board
	tm   Teammate
}

func newTicks(t *testing.T, tasks int) *ticks {
	team, b, tm := residentOf(t, "bot", nil)
	lock := must(team.HoldAlive(tm))(t)
	t.Cleanup(func() { lock.Unlock() })
	for range tasks {
		must(b.Add(context.Background(), fsboard.NewTask{Subject: "task"}))(t)
	}
	return &ticks{t, team, b, tm}
}

// tick is one pass of a process of its own. It returns how often it told of tasks,
// and how often it opened the ready list: once for its first line.
func (k *ticks) tick() (told, reads int, problems []string) {
	k.t.Helper()
	ready := filepath.Join(k.team.BoardDir(), "ready")
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpOpen && path == ready {
			reads++
		}
		return nil
	})
	defer restore()
	team := Open(k.team.Place)
	r, err := team.Tick(context.Background(), must(team.Board(BoardOptions{}))(k.t), TickOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, d := range r.Done {
		if d.Event == eventClaimable {
			told++
		}
	}
	return told, reads, r.Problems
}

// idle checks that a tick does nothing, reads little and writes nothing.
func (k *ticks) idle(when string) {
	k.t.Helper()
	k.tick() // what it is to remember
	before := times(k.t, k.team.Root)
	told, reads, problems := k.tick()
	if told > 0 || len(problems) > 0 {
		k.t.Errorf("%s: told %d times, %q", when, told, problems)
	}
	if reads > 1 {
		k.t.Errorf("%s: the ready list was read %d times", when, reads)
	}
	for path, at := range times(k.t, k.team.Root) {
		if !before[path].Equal(at) {
			k.t.Errorf("%s: %s was written", when, path)
		}
	}
}

// TestIdleTick: a tick that has nothing to tell takes no lock, writes nothing and
// does not read what can be claimed, and what ends that is seen by the next one.
func TestIdleTick(t *testing.T) {
	ctx := context.Background()
	wall := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	defer fsx.SetNow(func() time.Time { return wall })()
	k := newTicks(t, maxOffers+2)
	quiet := k.idle
	tells := func(when string) {
		t.Helper()
		wall = wall.Add(3 * time.Second)
		if told, _, problems := k.tick(); told != 1 || len(problems) > 0 {
			t.Errorf("%s: told %d times, %q", when, told, problems)
		}
	}
	read := func() {
		t.Helper()
		if _, _, _, err := k.team.Receive(ctx, ReceiveRequest{Who: Identity{Name: "bot", SpawnID: k.tm.SpawnID}, Show: func(*inbox.Message) error { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	tells("at first")
	wall = wall.Add(3 * time.Second)
	quiet("a full notice is unread")
	read()
	tells("the notice was read")
	quiet("told of all")
	read()
	quiet("it has read that")
	must(k.b.Add(ctx, fsboard.NewTask{Subject: "one more"}))(t)
	tells("a new task")
	quiet("told of that")
	read()

	// A task that comes back after a while is told of when it does.
	other := must(k.team.Join(ctx, JoinRequest{Name: "ann"}))(t)
	must(k.b.Claim(ctx, fsboard.ClaimRequest{Worker: "ann", SpawnID: other.SpawnID, ID: "t_1"}))(t)
	must(k.b.Submit(ctx, fsboard.SubmitRequest{Worker: "ann", SpawnID: other.SpawnID, ID: "t_1", Status: "failed", Result: "no"}))(t)
	wall = wall.Add(3 * time.Second)
	quiet("one task waits")
	wall = wall.Add(time.Minute)
	tells("its back-off is over")
	read()
	quiet("told of it again")

	// A notice that fails is told by a later tick, though the board is the same.
	must(k.b.Add(ctx, fsboard.NewTask{Subject: "the last"}))(t)
	wall = wall.Add(3 * time.Second)
	box := k.team.InboxDir("bot")
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpLink && strings.HasPrefix(path, box) {
			return syscall.ENOSPC
		}
		return nil
	})
	r, err := Open(k.team.Place).Tick(ctx, k.b, TickOptions{})
	restore()
	if err != nil || len(r.Problems) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	unread := func() int { return len(must(k.team.Box("bot").IDs(false))(t)) }
	if k.tick(); unread() != 1 {
		t.Errorf("%d notices after one that failed", unread())
	}
	quiet("told after all")

	// Without what it was told it is told again, and with a clock that went back
	// it is looked again.
	if err := os.Remove(k.team.offerFile("bot")); err != nil {
		t.Fatal(err)
	}
	read()
	tells("its record is gone")
	wall = wall.Add(-24 * time.Hour)
	if _, reads, _ := k.tick(); reads < 2 {
		t.Error("it trusts a look of the future")
	}
}
