package crashtest

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/fsboard"
)

// doctorScenarios are the repairs: what mends must not break when it is killed.
func doctorScenarios() []scenario {
	return []scenario{
		{ // a claim that nobody folded, no ready list, a file that a crash left, an open mode
			name: "doctor --fix", args: []string{"doctor", "--fix"}, touched: []string{"t_3"},
			prepare: func(w *world) {
				w.locked(func() { w.ok("cy", "claim", "t_3") })
				temp := filepath.Join(w.boardDir(), "claims", ".t_4.json.0123456789abcdef")
				old := time.Now().Add(-time.Hour)
				for _, err := range []error{
					os.Remove(filepath.Join(w.boardDir(), "ready")),
					os.WriteFile(temp, nil, 0o600),
					os.Chtimes(temp, old, old),
					os.Chmod(filepath.Join(w.boardDir(), "board.json"), 0o644),
				} {
					if err != nil {
						w.t.Fatal(err)
					}
				}
			},
			stage: func(s *sight) string {
				if s.holder("t_3") != "cy" {
					return "t_3 is " + stored(s.tasks["t_3"])
				}
				return happened
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				if !odd {
					w.again(sc)
				}
				w.must("cy", nil, "submit", "t_3")
			},
		},
		{ // the end of the snapshot is gone, and the history of its revision never was
			name: "doctor --repair", args: []string{"doctor", "--repair"}, touched: []string{"t_1", "t_2", "t_3", "t_4", "t_5", "t_6"},
			damage: func(w *world) {
				cut := func(name string, f func([]byte) int) {
					path := filepath.Join(w.boardDir(), name)
					data, err := os.ReadFile(path)
					if err == nil {
						err = os.WriteFile(path, data[:f(data)], 0o600)
					}
					if err != nil {
						w.t.Fatal(err)
					}
				}
				cut("board.json", func(b []byte) int { return len(b) - 10 })
				cut("history.jsonl", func(b []byte) int { return bytes.LastIndexByte(b[:len(b)-1], '\n') + 1 })
			},
			stage: func(s *sight) string {
				want := map[string]fsboard.State{"t_1": "completed", "t_2": "claimed", "t_3": "ready", "t_4": "ready", "t_5": "blocked", "t_6": "cancelled"}
				for id, state := range want {
					if s.state(id) != state {
						return id + " is " + string(s.state(id))
					}
				}
				if s.holder("t_2") != "ann" || s.tasks["t_1"].Result != "r-one" {
					return "t_2 is held by " + s.holder("t_2") + ", the result of t_1 is " + s.tasks["t_1"].Result
				}
				return happened
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				w.again(sc)
				w.must("ann", nil, "submit", "t_2", "--result", "r-two")
				w.works("bob", "t_3")
			},
		},
	}
}
