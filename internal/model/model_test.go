package model

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

var long = flag.Bool("long", false, "run the state machine for long")

// TestTeam drives a team through random verbs, crashes, failing calls, overlaps
// and steps of the clock.
func TestTeam(t *testing.T) {
	checks := "60"
	if *long {
		checks = "3000"
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": "60"} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	base, err := os.MkdirTemp("/dev/shm", "model")
	if err != nil {
		base = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "run")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := newWorld(t, dir)
		defer w.seams()()
		defer w.end()
		m := &machine{world: w}
		if rapid.IntRange(0, 4).Draw(rt, "begun") > 0 {
			m.begun(rt)
		}
		rt.Repeat(rapid.StateMachineActions(m))
		m.settle(rt)
	})
}
