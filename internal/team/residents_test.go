package team

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// residentOf is a team with the record of an exec resident, as its host left it
// when it died; change may be nil.
func residentOf(t *testing.T, name string, change func(*Teammate)) (*Team, *fsboard.Board, Teammate) {
	t.Helper()
	team := newTeam(t)
	b, err := team.Board(BoardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tm, err := team.take(context.Background(), taking{name: name, build: func() Teammate {
		tm := team.newResident(&SpawnRequest{Name: name, Agent: "worker", Kind: KindExec, Command: []string{"true"}}, &prepared{spawnID: fsx.UUID()})
		tm.Status = StatusIdle
		if change != nil {
			change(&tm)
		}
		return tm
	}})
	if err != nil {
		t.Fatal(err)
	}
	return team, b, tm
}

// noticesOf are the leader's notices of an event.
func noticesOf(t *testing.T, team *Team, event string) []*inbox.Message {
	t.Helper()
	list, _, err := team.Box(LeaderName).Find(inbox.Query{All: true, Match: func(m *inbox.Message) bool { return m.Event == event }})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}

// diskFails lets the nth system call fail, and every one after it. reached says
// whether there were so many.
func diskFails(n int, run func()) (reached bool) {
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if n--; n > 0 {
			return nil
		}
		return &os.PathError{Op: string(op), Path: path, Err: syscall.EIO}
	})
	defer restore()
	run()
	return n <= 0
}

// faultStep is how far apart the calls are that are made to fail, each run
// others.
const faultStep = 6

// TestEndDeadFails lets the disk fail at system calls of the end of a dead
// resident: the next attempt finishes it, and the leader is told exactly once.
func TestEndDeadFails(t *testing.T) {
	ctx := context.Background()
	faults := 0
	for n := 1 + rand.IntN(faultStep); ; n += faultStep {
		team, b, tm := residentOf(t, "bot", nil)
		if _, err := b.Add(ctx, fsboard.NewTask{Subject: "task"}); err != nil {
			t.Fatal(err)
		}
		lock := must(team.HoldAlive(tm))(t)
		if _, err := b.Claim(ctx, fsboard.ClaimRequest{Worker: "bot", SpawnID: tm.SpawnID, ID: "t_1"}); err != nil {
			t.Fatal(err)
		}
		lock.Unlock()
		reached := diskFails(n, func() { _, _ = team.endDead(ctx, b, tm) })
		for range 2 {
			r := TickReport{}
			all, _, err := team.List()
			if err != nil {
				t.Fatal(err)
			}
			team.tickResidents(ctx, b, all, &r)
			if len(r.Problems) > 0 {
				t.Fatalf("fault %d: %q", n, r.Problems)
			}
		}
		r := TickReport{}
		if look, err := b.Look(); err == nil && look.Fold {
			r.fold(ctx, b, stepFold)
		}
		now, err := team.Read("bot")
		if err != nil || now.Status != StatusStopped || now.Error == "" {
			t.Fatalf("fault %d: %+v %v", n, now, err)
		}
		if list := noticesOf(t, team, eventStopped); len(list) != 1 {
			t.Fatalf("fault %d: %d notices", n, len(list))
		}
		if v, err := b.Show("t_1"); err != nil || v.State != fsboard.StateReady {
			t.Fatalf("fault %d: %+v %v", n, v, err)
		}
		if !reached {
			break
		}
		faults++
	}
	t.Logf("%d faults", faults)
	if faults < 10 {
		t.Errorf("only %d faults", faults)
	}
}

// TestUndoSpawnFails lets the disk fail at system calls of the undoing of a spawn
// that died when its host had just written its row: the next attempt finishes it.
func TestUndoSpawnFails(t *testing.T) {
	ctx := context.Background()
	faults := 0
	for n := 1 + rand.IntN(faultStep); ; n += faultStep {
		team, _, tm := residentOf(t, "bot", func(tm *Teammate) { tm.Status = StatusStarting })
		writeFile(t, team.promptFile("bot"), "prompt")
		if err := team.writeLedger(team.ledgerRow(tm, LedgerRunning, "spawn")); err != nil {
			t.Fatal(err)
		}
		reached := diskFails(n, func() { _, _ = team.UndoHalfSpawns(ctx) })
		for range 2 {
			if _, err := team.UndoHalfSpawns(ctx); err != nil {
				t.Fatalf("fault %d: %v", n, err)
			}
		}
		if now, err := team.Read("bot"); !errors.Is(err, os.ErrNotExist) && now.Status != StatusStopped {
			t.Fatalf("fault %d: %+v %v", n, now, err)
		}
		rows, _, err := team.Ledger()
		if err != nil || len(rows) != 1 || rows[0].Status != LedgerClosed {
			t.Fatalf("fault %d: %+v %v", n, rows, err)
		}
		next, err := team.take(ctx, taking{name: "bot", build: func() Teammate { return team.newShell("bot", "", nil) }})
		if err != nil || next.SpawnID == tm.SpawnID {
			t.Fatalf("fault %d: %+v %v", n, next, err)
		}
		if !reached {
			break
		}
		faults++
	}
	t.Logf("%d faults", faults)
	if faults < 5 {
		t.Errorf("only %d faults", faults)
	}
}

// TestSilentFor measures silence by the boot's clock within one boot, whatever
// the wall clock does, and by the wall clock across boots.
func TestSilentFor(t *testing.T) {
	boot, wall := 100*time.Hour, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	defer fsx.SetBootClock(func() (time.Duration, error) { return boot, nil })()
	defer fsx.SetNow(func() time.Time { return wall })()
	here := Teammate{BootID: fsx.BootID(), Host: fsx.Host(), ActiveAt: wall.UnixMilli(), ActiveBootMs: boot.Milliseconds()}
	boot += 3 * time.Second
	for _, step := range []time.Duration{0, 24 * time.Hour, -48 * time.Hour} {
		wall = wall.Add(step)
		if d := silentFor(here); d != 3*time.Second {
			t.Errorf("after a step of %v: %v", step, d)
		}
	}
	elsewhere := here
	elsewhere.BootID, elsewhere.ActiveAt = "another boot", wall.Add(-time.Minute).UnixMilli()
	if d := silentFor(elsewhere); d != time.Minute {
		t.Errorf("in another boot: %v", d)
	}
	elsewhere.ActiveAt = wall.Add(time.Hour).UnixMilli()
	if d := silentFor(elsewhere); d != 0 {
		t.Errorf("active in the future: %v", d)
	}
}

// TestStallEpisodes tells once of each time that a working resident falls
// silent, of none that is idle, and of none while the limit is 0.
func TestStallEpisodes(t *testing.T) {
	ctx := context.Background()
	boot, wall := 100*time.Hour, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	defer fsx.SetBootClock(func() (time.Duration, error) { return boot, nil })()
	defer fsx.SetNow(func() time.Time { return wall })()
	team, _, tm := residentOf(t, "bot", func(tm *Teammate) { tm.Status = StatusWorking })
	lock, err := team.HoldAlive(tm)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	look := func(stall time.Duration, want int, what string) {
		t.Helper()
		for range 2 {
			all, _, err := team.List()
			if err != nil {
				t.Fatal(err)
			}
			r := TickReport{}
			team.tickStall(ctx, all, stall, &r)
			if len(r.Problems) > 0 {
				t.Error(r.Problems)
			}
		}
		// Unread ones of one teammate become one, so the keys are counted.
		keys, err := filepath.Glob(filepath.Join(team.NoticedDir(LeaderName), "stalled-bot-*"))
		if err != nil || len(keys) != want {
			t.Errorf("%s: told %d times, want %d", what, len(keys), want)
		}
	}
	later := func(d time.Duration) { boot += d; wall = wall.Add(d) }
	active := func(status string) {
		t.Helper()
		if _, err := team.Update(ctx, "bot", tm.SpawnID, func(tm *Teammate) error {
			tm.Status, tm.ActiveAt, tm.ActiveBootMs = status, nowMillis(), bootMillis()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	active(StatusWorking)
	look(time.Minute, 0, "at once")
	later(59 * time.Second)
	look(time.Minute, 0, "before the limit")
	later(2 * time.Second)
	look(0, 0, "switched off")
	look(time.Minute, 1, "after the limit")
	later(time.Hour)
	look(time.Minute, 1, "still silent")
	active(StatusWorking)
	later(30 * time.Second)
	look(time.Minute, 1, "active again")
	wall = wall.Add(-48 * time.Hour)
	later(time.Minute)
	look(time.Minute, 2, "silent again, the clock set back")
	active(StatusIdle)
	later(time.Hour)
	look(time.Minute, 2, "idle")
	active(StatusWorking)
	lock.Unlock()
	later(time.Hour)
	look(time.Minute, 2, "dead")
}

// TestHookRetries calls a failing hook again after pauses that double, gives up
// after some, tells of the failure for as long as the message is unread, and
// leaves the message where it is.
func TestHookRetries(t *testing.T) {
	ctx := context.Background()
	wall := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	defer fsx.SetNow(func() time.Time { return wall })()
	team, _, _ := residentOf(t, "bot", nil)
	team.Project = t.TempDir()
	if _, err := team.notify(ctx, notice{to: LeaderName, key: "k", event: eventStalled, body: "look at this\n"}); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	hooks := Hooks{OnNotice: "grep -q 'look at this' && echo >> " + calls + "; echo broken pager >&2; exit 3"}
	count := func() int {
		data, _ := os.ReadFile(calls)
		return strings.Count(string(data), "\n")
	}
	look := func(want int, what string) {
		t.Helper()
		for range 2 {
			r := TickReport{}
			team.runHooks(ctx, hooks, &r)
			if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "broken pager") {
				t.Errorf("%s: problems %q", what, r.Problems)
			}
		}
		if n := count(); n != want {
			t.Errorf("%s: called %d times, want %d", what, n, want)
		}
	}
	look(1, "at first")
	for i, pause := range []time.Duration{10, 20, 40, 80} {
		wall = wall.Add(pause*time.Second - time.Second)
		look(i+1, "too early")
		wall = wall.Add(2 * time.Second)
		look(i+2, "in time")
	}
	wall = wall.Add(24 * time.Hour)
	look(hookAttempts, "given up")
	if ids, err := team.Box(LeaderName).IDs(false); err != nil || len(ids) != 1 {
		t.Errorf("unread: %q %v", ids, err)
	}
	if _, _, _, err := team.Receive(ctx, ReceiveRequest{Who: Identity{Name: LeaderName, Leader: true}, Show: func(*inbox.Message) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	r := TickReport{}
	if team.runHooks(ctx, hooks, &r); len(r.Problems) > 0 {
		t.Errorf("the message was read: %q", r.Problems)
	}
}

// TestNotesOnFullDisk keeps what a host notes while nothing can be written, and
// writes it down when there is room.
func TestNotesOnFullDisk(t *testing.T) {
	ctx := context.Background()
	team, b, tm := residentOf(t, "bot", func(tm *Teammate) { tm.Status = StatusWorking })
	h := &host{t: team, b: b, tm: tm, log: openActivityLog(team.ActivityLog("bot"))}
	defer h.log.Close()
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpWrite {
			return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return nil
	})
	h.log.Write([]byte("some output\n"))
	h.noteOutput(ctx, func(tm *Teammate) { tm.Status, tm.Turns = StatusIdle, tm.Turns+1 })
	h.noteOutput(ctx, nil)
	restore()
	if now, _ := team.Read("bot"); now.Status != StatusWorking {
		t.Fatalf("%+v", now)
	}
	h.noteOutput(ctx, nil)
	h.noteOutput(ctx, nil)
	if now, err := team.Read("bot"); err != nil || now.Status != StatusIdle || now.Turns != 1 || now.Activity != "some output" || now.LastOutputAt == 0 {
		t.Errorf("%+v %v", now, err)
	}
}

// TestActivityLogBounded writes much into a log, in lines of all lengths, from
// two writers: it stays small, and its end is the latest.
func TestActivityLogBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "activity.log")
	l := openActivityLog(path)
	defer l.Close()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 3000 {
				if i%100 == 0 {
					l.Event("event %d of writer %d", i, w)
				}
				fmt.Fprintf(l, "%d %d %s\n", w, i, strings.Repeat("x", i%2000))
			}
		})
	}
	wg.Wait()
	l.Write([]byte(strings.Repeat("y", 10<<20)))
	l.Event("the \x1b[31mend\u202e")
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxActivityLog+2*maxActivityLine {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "end") || strings.ContainsAny(last, "\x1b\u202e") {
		t.Errorf("the last line is %q", last)
	}
	if long := lines[len(lines)-2]; !strings.HasSuffix(long, fmt.Sprintf("…[truncated %d bytes]", 10<<20-maxActivityLine)) {
		t.Errorf("the long line ends in %q", long[max(0, len(long)-60):])
	}
	if !strings.HasPrefix(lines[0], "0 ") && !strings.HasPrefix(lines[0], "1 ") && !strings.HasPrefix(lines[0], "[") {
		t.Errorf("it begins in the middle of a line: %q", lines[0][:min(len(lines[0]), 60)])
	}
}

// TestEndProcessWrongStart signals nobody whose start time is not the recorded
// one, by none of the ways that end a process.
func TestEndProcessWrongStart(t *testing.T) {
	p, end := sleeper(t)
	defer end()
	forged := p
	forged.StartTime++
	team, _, _ := residentOf(t, "bot", nil)
	begin := time.Now()
	for what, err := range map[string]error{
		"endProcess": endProcess(forged, 0),
		"endOrphan":  team.endOrphan(Teammate{Name: "bot", SpawnID: fsx.UUID(), Child: &forged}, false),
		"silentHost": team.silentHost(Teammate{Name: "bot", PID: forged.PID, StartTime: forged.StartTime, BootID: forged.BootID, PIDNamespace: forged.PIDNamespace, Host: forged.Host}, true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	signalGroup(forged, syscall.SIGKILL)
	time.Sleep(20 * time.Millisecond)
	if p.Liveness() != fsx.Alive {
		t.Fatal("another process was ended")
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
	away := p
	away.Host = "elsewhere"
	wantCode(t, endProcess(away, 0), errs.Conflict)
	if p.Liveness() != fsx.Alive {
		t.Fatal("a process of another machine was signalled here")
	}
}
