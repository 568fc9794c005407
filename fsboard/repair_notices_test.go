package fsboard

import (
	"strings"
	"testing"
	"time"
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
