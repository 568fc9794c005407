package fsboard

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestStateMachine drives a board through random verbs, crashes and steps of
// the clock against a simple model.
func TestStateMachine(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		n := "300"
		if *long {
			n = "20000"
		}
		if err := flag.Set("rapid.checks", n); err != nil {
			t.Fatal(err)
		}
	}
	clk := fakeClock(t)
	base := fastDir(t)
	wall, boot := clk.wall, clk.boot
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "run")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		clk.wall, clk.boot = wall, boot
		ros := &fakeRoster{}
		m := &machine{clk: clk, model: model{}, dead: map[string]bool{}, ros: ros, b: openTest(t, Options{Dir: dir + "/s/b", Roster: ros})}
		rt.Repeat(rapid.StateMachineActions(m))
		m.settle(rt)
		wantSound(rt, m.b)
	})
}
