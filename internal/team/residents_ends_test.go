package team

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// TestJoinDeadResident gives the name of a resident that has died to a shell: its
// end is finished first, and nothing of it is forgotten.
func TestJoinDeadResident(t *testing.T) {
	ctx := context.Background()
	for _, how := range []string{"join", "work"} {
		team, b, tm := residentOf(t, "bot", nil)
		if err := team.writeLedger(team.ledgerRow(tm, LedgerRunning, "spawn")); err != nil {
			t.Fatal(err)
		}
		must(b.Add(ctx, fsboard.NewTask{Subject: "one"}))(t)
		lock := must(team.HoldAlive(tm))(t)
		must(b.Claim(ctx, fsboard.ClaimRequest{Worker: "bot", SpawnID: tm.SpawnID}))(t)
		_, err := team.Join(ctx, JoinRequest{Name: "bot"})
		wantCode(t, err, errs.NameTaken)
		lock.Unlock()
		var next Teammate
		if how == "join" {
			next, err = team.Join(ctx, JoinRequest{Name: "bot"})
		} else {
			next, lock, err = team.JoinHeld(ctx, JoinRequest{Name: "bot"})
			defer lock.Unlock()
		}
		if err != nil || next.PreviousSpawnID != tm.SpawnID {
			t.Fatalf("%s: %+v %v", how, next, err)
		}
		if list := noticesOf(t, team, eventStopped); len(list) != 1 {
			t.Errorf("%s: the leader was told %d times", how, len(list))
		}
		if rows, _, err := team.Ledger(); err != nil || len(rows) != 1 || rows[0].Status != LedgerClosed {
			t.Errorf("%s: %+v %v", how, rows, err)
		}
		if v := must(b.Show("t_1"))(t); v.State != fsboard.StateReady {
			t.Errorf("%s: the task is %s", how, v.State)
		}
	}
}

// TestShutdownHalfSpawned ends a session in which a spawn died and left its
// record: whoever holds roster.lock undoes it, and does not wait for itself.
func TestShutdownHalfSpawned(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	team, b, _ := residentOf(t, "bot", func(tm *Teammate) { tm.Status = StatusStarting })
	roster := must(fsx.Acquire(ctx, team.RosterLock(), 0))(t)
	defer roster.Unlock()
	if _, err := team.shutdownAll(ctx, b, true, true); err != nil {
		t.Fatal(err)
	}
	if now, err := team.Read("bot"); err == nil && now.Status != StatusStopped {
		t.Errorf("%+v", now)
	}
}

// TestKeepEarlierConversations keeps those of all lives of a name when its
// session ends.
func TestKeepEarlierConversations(t *testing.T) {
	team, _, tm := residentOf(t, "bot", nil)
	for _, id := range []string{"life-one", "life-two"} {
		tm.TaskID, tm.SpawnID = id, id
		tm.SessionFile = filepath.Join(team.TeammateDir("bot"), "session-"+id+".jsonl")
		writeFile(t, tm.SessionFile, id+"\n")
		if err := team.writeLedger(team.ledgerRow(tm, LedgerClosed, "session-report")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // as when the first attempt was killed behind it
		if err := team.keepConversations(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(team.TeamDir()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"life-one", "life-two"} {
		row := must(team.LedgerFind(id))(t)
		if data, err := os.ReadFile(team.keptConversation(&row)); err != nil || string(data) != id+"\n" {
			t.Errorf("%s: %q %v", id, data, err)
		}
	}
}

// TestFollowActivity shows each line of a log once, whatever is written between
// two system calls of whoever follows it.
func TestFollowActivity(t *testing.T) {
	team, _, tm := residentOf(t, "bot", nil)
	log := openActivityLog(team.ActivityLog("bot"))
	defer log.Close()
	const lines = 20000
	done, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		for i := range lines {
			fmt.Fprintf(log, "line %d\n", i)
		}
	}()
	var seen strings.Builder
	go func() {
		<-written
		time.Sleep(50 * time.Millisecond)
		close(done)
	}()
	if err := team.FollowActivity(tm, 0, time.Millisecond, func(s string) error { seen.WriteString(s); return nil }, done); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(seen.String()), "\n")
	for i, line := range got {
		if line != fmt.Sprintf("line %d", i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if len(got) != lines {
		t.Errorf("%d lines", len(got))
	}
}

// TestWaitReportAwaitsHuman does not wait for a teammate that waits for a person.
func TestWaitReportAwaitsHuman(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	team, _, tm := residentOf(t, "bot", nil)
	who := Identity{Name: "bot", SpawnID: tm.SpawnID}
	asked := make(chan struct{})
	waits, withdraw := context.WithCancel(ctx)
	defer withdraw()
	go func() {
		_, _ = team.Ask(waits, who, Ask{Question: "which one?"}, time.Second, func(Question) { close(asked) })
	}()
	<-asked
	_, err := team.WaitReport(ctx, tm, time.Second, nil)
	wantCode(t, err, errs.AwaitingHuman)
	for _, q := range []Question{{Ask: Ask{ID: "q_1"}}, {Ask: Ask{ID: "q_1", Options: []string{"yes", "no"}}}} {
		if hint := answerHint(q); !strings.HasPrefix(hint, "teams answer q_1 ") || strings.ContainsAny(hint, "|<>$&") {
			t.Errorf("no hint for a shell: %q", hint)
		}
	}
}

// TestStopHarnessThatBegins stops a harness that holds its lock and has not
// written its status yet.
func TestStopHarnessThatBegins(t *testing.T) {
	ctx := context.Background()
	team := newTeam(t)
	must(team.EnsureSession())(t)
	lock := must(fsx.Acquire(ctx, team.HarnessLock(), 0))(t)
	defer lock.Unlock()
	write := func(p fsx.Process) {
		h := &harness{t: team, dirty: true, status: HarnessStatus{PID: p.PID, Process: p}}
		h.save()
	}
	dead := exec.Command("sleep", "600")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	before := must(fsx.ProcessOf(dead.Process.Pid))(t)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	write(before) // of the harness that ran before
	now := exec.Command("sleep", "600")
	if err := now.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(100 * time.Millisecond)
		if p, err := fsx.ProcessOf(now.Process.Pid); err == nil {
			write(p)
		}
		_ = now.Wait()
		lock.Unlock()
	}()
	if err := team.StopHarness(ctx); err != nil {
		_ = now.Process.Kill()
		t.Fatal(err)
	}
}

// TestHostedInNoPane keeps what a host runs out of the pane that the spawn was
// called from.
func TestHostedInNoPane(t *testing.T) {
	t.Setenv(herdr.EnvPane, "w1:p1")
	t.Setenv(herdr.EnvMarker, "1")
	t.Setenv(herdr.EnvSocket, "/run/herdr.sock")
	team, _, tm := residentOf(t, "bot", nil)
	env := strings.Join((&host{t: team, tm: tm}).environ(), "\n") + "\n"
	if strings.Contains(env, herdr.EnvPane) || strings.Contains(env, herdr.EnvMarker) || !strings.Contains(env, herdr.EnvSocket+"=/run/herdr.sock\n") {
		t.Error(env)
	}
}

// TestReviveElsewhere revives nobody who lives in another session.
func TestReviveElsewhere(t *testing.T) {
	team, _, tm := residentOf(t, "bot", nil)
	row := team.ledgerRow(tm, LedgerRunning, "spawn")
	other := Open(Place{Root: team.Root, Session: "other", Project: team.Project, Cwd: team.Cwd})
	lock := must(team.HoldAlive(tm))(t)
	wantCode(t, other.checkRevive(&row), errs.NameTaken)
	lock.Unlock()
	if err := other.checkRevive(&row); err != nil {
		t.Errorf("it is dead: %v", err)
	}
}

// TestEndFailsAgainAndAgain adds one row to the ledger, however often the end of
// a life fails behind it.
func TestEndFailsAgainAndAgain(t *testing.T) {
	team, b, tm := residentOf(t, "bot", nil)
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpRename && path == team.TeammateFile("bot") {
			return &os.PathError{Op: "rename", Path: path, Err: os.ErrPermission}
		}
		return nil
	})
	for range 5 {
		if _, err := team.endDead(context.Background(), b, tm); err == nil {
			t.Error("the end was finished")
		}
	}
	restore()
	if n := strings.Count(string(must(os.ReadFile(team.LedgerPath()))(t)), "\n"); n != 1 {
		t.Errorf("%d rows", n)
	}
}
