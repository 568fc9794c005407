package team

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestJoinLives(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p, end := sleeper(t)
	first := must(team.Join(ctx, JoinRequest{Name: "ann", Agent: "worker", PID: p.PID}))(t)
	if first.Process() != p || first.Agent != "worker" || first.Status != StatusIdle || first.PreviousSpawnID != "" {
		t.Errorf("%+v", first)
	}
	_, err := team.Join(ctx, JoinRequest{Name: "ann"})
	wantCode(t, err, errs.NameTaken)
	if errs.Exit(errs.NameTaken) != 4 {
		t.Error("exit code")
	}
	// A takeover ends the living.
	second := must(team.Join(ctx, JoinRequest{Name: "ann", Takeover: true}))(t)
	if second.PreviousSpawnID != first.SpawnID || second.SpawnID == first.SpawnID || second.PID != 0 || second.Agent != "" {
		t.Errorf("%+v", second)
	}
	// A shell without a process is not proven dead.
	_, err = team.Join(ctx, JoinRequest{Name: "ann", PID: p.PID})
	wantCode(t, err, errs.NameTaken)
	must(team.Leave(ctx, "ann", second.SpawnID, nil))(t)
	third := must(team.Join(ctx, JoinRequest{Name: "ann", PID: p.PID}))(t)
	if third.PreviousSpawnID != second.SpawnID || third.StoppedAt != 0 || !third.Drained {
		t.Errorf("%+v", third)
	}
	end()
	fourth := must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
	if fourth.PreviousSpawnID != third.SpawnID {
		t.Errorf("%+v", fourth)
	}
	if got := must(team.Read("ann"))(t); got.SpawnID != fourth.SpawnID {
		t.Errorf("%+v", got)
	}
}

func TestJoinBadProcess(t *testing.T) {
	team := newTeam(t)
	p, end := sleeper(t)
	end()
	for _, pid := range []int{p.PID, -1, 1 << 30} {
		_, err := team.Join(t.Context(), JoinRequest{Name: "ann", PID: pid})
		wantCode(t, err, errs.Usage)
	}
	wantNothing(t, team.Root)
}

// A shell that runs its join again, as by reading its start files anew, stays
// who it is.
func TestJoinAgainAsOneself(t *testing.T) {
	team := newTeam(t)
	p, _ := sleeper(t)
	first := must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	again := must(team.as("ann", first.SpawnID).Join(t.Context(), JoinRequest{Name: "ann", Agent: "reviewer", PID: p.PID}))(t)
	if again.SpawnID != first.SpawnID || again.Agent != "reviewer" || again.Process() != p {
		t.Errorf("%+v", again)
	}
	over := must(team.as("ann", first.SpawnID).Join(t.Context(), JoinRequest{Name: "ann", Takeover: true}))(t)
	if over.SpawnID == first.SpawnID {
		t.Errorf("%+v", over)
	}
	_, err := team.as("ann", first.SpawnID).Join(t.Context(), JoinRequest{Name: "ann"})
	wantCode(t, err, errs.NameTaken)
}

func TestLeave(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	_, err := team.Leave(ctx, "ann", "", nil)
	wantCode(t, err, errs.NotFound)
	a := must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
	boom, calls := errors.New("boom"), 0
	release := func(_ context.Context, tm Teammate) error {
		calls++
		if tm.SpawnID != a.SpawnID || tm.Status != StatusStopped {
			t.Errorf("%+v", tm)
		}
		if on := must(team.Read("ann"))(t); on.Status != StatusStopped {
			t.Error("released before the record says stopped")
		}
		if calls == 1 {
			return boom
		}
		return nil
	}
	if _, err := team.Leave(ctx, "ann", a.SpawnID, release); err != boom {
		t.Error(err)
	}
	left := must(team.Leave(ctx, "ann", a.SpawnID, release))(t)
	if calls != 2 || left.Status != StatusStopped || left.StoppedAt == 0 {
		t.Errorf("%d %+v", calls, left)
	}
}

func TestDrain(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	var ended []string
	fail := false
	team.Drain = func(_ context.Context, tm Teammate) error {
		if on := must(team.Read(tm.Name))(t); on.Drained || on.SpawnID != tm.SpawnID {
			t.Errorf("drained before the record says so: %+v", on)
		}
		if fail {
			return errors.New("the outbox cannot be read")
		}
		ended = append(ended, tm.Ended())
		return nil
	}
	a := must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
	if len(ended) != 0 || !a.Drained {
		t.Errorf("%v %+v", ended, a)
	}
	// A takeover drains the life before.
	b := must(team.Join(ctx, JoinRequest{Name: "ann", Takeover: true}))(t)
	if strings.Join(ended, " ") != a.SpawnID {
		t.Errorf("%v", ended)
	}
	if !must(team.Read("ann"))(t).Drained {
		t.Error("not marked drained")
	}
	// A stop whose drain fails is a stop, and no further life comes before it
	// is finished.
	fail = true
	if _, err := team.Leave(ctx, "ann", b.SpawnID, nil); err == nil {
		t.Error("no error")
	}
	if tm := must(team.Read("ann"))(t); tm.Status != StatusStopped || tm.Drained {
		t.Errorf("%+v", tm)
	}
	for _, err := range []error{
		second(team.Join(ctx, JoinRequest{Name: "ann"})),
		second(team.Join(ctx, JoinRequest{Name: "ann", Takeover: true})),
		second(team.as("ann", "").Worker(ctx)),
	} {
		if err == nil || must(team.Read("ann"))(t).SpawnID != b.SpawnID {
			t.Error("a new life before the drain")
		}
	}
	fail, ended = false, nil
	c := must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
	if len(ended) == 0 || ended[0] != b.SpawnID || c.PreviousSpawnID != b.SpawnID {
		t.Errorf("%v %+v", ended, c)
	}
	if tm := must(team.Read("ann"))(t); !tm.Drained || tm.SpawnID != c.SpawnID {
		t.Errorf("%+v", tm)
	}
}

func TestUnfinishedSpawnIsNotForgotten(t *testing.T) {
	team := newTeam(t)
	putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusStarting, Worktree: "/w", Host: fsx.Host(), Drained: true})
	_, err := team.Join(t.Context(), JoinRequest{Name: "ann"})
	wantCode(t, err, errs.Conflict)
}

func TestJoinHeld(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	tm, lock, err := team.JoinHeld(ctx, JoinRequest{Name: "w1", Agent: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	if tm.Kind != KindWork || tm.PID != os.Getpid() || team.Liveness(tm) != fsx.Alive {
		t.Errorf("%+v is %v", tm, team.Liveness(tm))
	}
	_, _, err = team.JoinHeld(ctx, JoinRequest{Name: "w1"})
	wantCode(t, err, errs.NameTaken)
	_, err = team.as("w1", "").Worker(ctx)
	wantCode(t, err, errs.NameTaken)
	_, err = team.HoldAlive(tm)
	wantCode(t, err, errs.NameTaken)
	lock.Unlock()
	if got := team.Liveness(tm); got != fsx.Dead {
		t.Error(got)
	}
	// With its child still at work the name is not free.
	child, end := sleeper(t)
	if err := team.SetChild(ctx, "w1", tm.SpawnID, &child); err != nil {
		t.Fatal(err)
	}
	_, _, err = team.JoinHeld(ctx, JoinRequest{Name: "w1"})
	wantCode(t, err, errs.NameTaken)
	if held := must(fsx.Held(team.AliveLock("w1")))(t); held {
		t.Error("a refused join holds the lock")
	}
	end()
	next, lock, err := team.JoinHeld(ctx, JoinRequest{Name: "w1"})
	if err != nil || next.PreviousSpawnID != tm.SpawnID || next.Child != nil {
		t.Fatal(next, err)
	}
	lock.Unlock()

	_, err = team.HoldAlive(tm)
	wantCode(t, err, errs.StaleIdentity)
	wantCode(t, team.SetChild(ctx, "w1", tm.SpawnID, &child), errs.StaleIdentity)
	lock, err = team.HoldAlive(next)
	if err != nil || team.Liveness(next) != fsx.Alive {
		t.Fatal(err)
	}
	lock.Unlock()
	// The moment's look of a bystander is no other host.
	stop := make(chan struct{})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for {
			select {
			case <-stop:
				return
			default:
				fsx.Held(team.AliveLock("w1"))
			}
		}
	}()
	for range 20 {
		lock, err := team.HoldAlive(next)
		if err != nil {
			t.Fatal(err)
		}
		lock.Unlock()
	}
	close(stop)
	<-looked

	_, err = team.Join(ctx, JoinRequest{Name: "x", Kind: KindWork})
	wantCode(t, err, errs.Internal)
}

func TestFirstFree(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	must(team.Join(ctx, JoinRequest{Name: "w1"}))(t)
	two, lock2, err := team.FirstFree(ctx, "w", JoinRequest{Name: "ignored"})
	if err != nil || two.Name != "w2" {
		t.Fatal(two, err)
	}
	three, lock3, err := team.FirstFree(ctx, "w", JoinRequest{})
	if err != nil || three.Name != "w3" {
		t.Fatal(three, err)
	}
	defer lock3.Unlock()
	lock2.Unlock() // w2 dies
	again, lock2, err := team.FirstFree(ctx, "w", JoinRequest{})
	if err != nil || again.Name != "w2" || again.PreviousSpawnID != two.SpawnID {
		t.Fatal(again, err)
	}
	defer lock2.Unlock()
	must(team.Leave(ctx, "w1", "", nil))(t)
	one, lock1, err := team.FirstFree(ctx, "w", JoinRequest{})
	if err != nil || one.Name != "w1" {
		t.Fatal(one, err)
	}
	lock1.Unlock()
}

func TestCancelledContext(t *testing.T) {
	team := newTeam(t)
	must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	lock := must(fsx.Acquire(t.Context(), team.teammateLock("ann"), 0))(t)
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := team.Leave(ctx, "ann", "", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestHarnessLive(t *testing.T) {
	team := newTeam(t)
	must(team.EnsureSession())(t)
	if team.HarnessLive() {
		t.Error("alive without a lock")
	}
	lock := must(fsx.Acquire(t.Context(), team.HarnessLock(), 0))(t)
	if !team.HarnessLive() {
		t.Error("not alive with the lock held")
	}
	lock.Unlock()
	if team.HarnessLive() {
		t.Error("alive with the lock free")
	}
}
