package fsboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// A repair forgets no notice that the lost snapshot owed, and later ones have
// later ids, also with the clock set back.
func TestRepairKeepsNotices(t *testing.T) {
	clk := fakeClock(t)
	ros := &fakeRoster{}
	b := openTest(t, Options{Roster: ros})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2"})
	mustClaim(t, b, "t_1", "ann")
	mustClaim(t, b, "t_2", "bob")
	release := func(name string) Notice {
		t.Helper()
		ros.set(name, Worker{Life: LifeDead})
		for _, e := range mustFold(t, b) {
			if e.Event == EventReleased && len(e.Notices) == 1 {
				return e.Notices[0]
			}
		}
		t.Fatalf("nobody is told of the end of %s", name)
		return Notice{}
	}
	first := release("ann")
	owed, rev, err := b.NoticeRevision()
	if err != nil || owed != rev {
		t.Fatalf("%d of %d, %v", owed, rev, err)
	}
	writeFile(t, b.Path(), []byte("broken"))
	if r, err := b.Repair(t.Context()); err != nil || !r.Needed {
		t.Fatalf("%+v, %v", r, err)
	}
	if now, _, err := b.NoticeRevision(); err != nil || now != owed {
		t.Errorf("revision %d owed notices, after the repair it is %d: %v", owed, now, err)
	}
	clk.step(-24 * time.Hour)
	if second := release("bob"); strings.Compare(second.ID, first.ID) <= 0 {
		t.Errorf("%s comes after %s", second.ID, first.ID)
	}
	wantSound(t, b)
}

// A gc that died behind its archive lines has archived nothing. What was made to
// depend on such a task since is not blocked by a repair, and history says what
// became of the others.
func TestRepairAfterDeadCollect(t *testing.T) {
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2"}, NewTask{Subject: "3", DependsOn: []string{"t_1"}})
	for _, id := range []string{"t_1", "t_3", "t_2"} {
		mustClaim(t, b, id, "ann")
		mustSubmit(t, b, id, "ann")
	}
	dead := false
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		dead = dead || op == fsx.OpRename && path == b.Path()
		if dead {
			return errDead
		}
		return nil
	})
	_, err := b.Collect(t.Context(), -time.Hour, false)
	restore()
	if !errors.Is(err, errDead) || !exists(b.archivePath()) {
		t.Fatal(err)
	}
	b = again(t, b)
	wantSound(t, b)
	mustAdd(t, b, NewTask{Subject: "4", DependsOn: []string{"t_3"}})
	wantState(t, b, "t_4", StateReady)
	writeFile(t, b.Path(), nil)
	if r, err := b.Repair(t.Context()); err != nil || len(r.Problems) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantState(t, b, "t_4", StateReady)
	for _, id := range []string{"t_1", "t_2", "t_3"} {
		wantState(t, b, id, StateCompleted)
	}
	wantSound(t, b)
}

// A check beside writers finds nothing wrong with what is being written.
func TestCheckBesideWriters(t *testing.T) {
	t.Parallel()
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "1"})
	for i := range 400 { // what is read takes longer than a write
		mustAdd(t, b, NewTask{Subject: fmt.Sprint(i)}, NewTask{Subject: fmt.Sprint(i)})
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w := again(t, b)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.Edit(context.Background(), "t_1", Edit{Subject: ptr(fmt.Sprint("now ", i))}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 40 {
		findings, err := again(t, b).Check()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Severity == SeverityError {
				t.Errorf("%s: %s", f.Code, f.Message)
			}
		}
	}
	close(stop)
	<-done
}
