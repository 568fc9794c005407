package crashtest

import (
	"slices"
	"time"

	"github.com/seed6990a682/teams/fsboard"
)

// workerScenarios are the commands of those who take tasks.
func workerScenarios() []scenario {
	return slices.Concat(claimScenarios(), submitScenarios(), []scenario{
		{
			name: "release", as: "ann", args: []string{"release", "t_2"}, touched: []string{"t_2"},
			stage: given("t_2", "ann"),
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if odd && stage == happened {
					w.works("bob", "t_2")
					return
				}
				w.again(sc, 4)
				w.works("bob", "t_2")
			},
		},
		{
			name: "renew", as: "cy", args: []string{"renew", "t_3", "--lease", "3h"}, touched: []string{"t_3"},
			prepare: func(w *world) { w.ok("cy", "claim", "t_3", "--lease", "1h") },
			stage: func(s *sight) string {
				if s.holder("t_3") != "cy" {
					return "t_3 is held by " + s.holder("t_3")
				}
				switch s.tasks["t_3"].Claim.LeaseMs {
				case time.Hour.Milliseconds():
					return untouched
				case 3 * time.Hour.Milliseconds():
					return happened
				}
				return stored(s.tasks["t_3"])
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				if !odd {
					w.again(sc)
				}
				w.must("cy", nil, "submit", "t_3")
			},
		},
	})
}

func claimScenarios() []scenario {
	// rival lets bob try for the task. Either he gets it or the killed claimer
	// finds it among its own, never both and never neither.
	rival := func(w *world, sc *scenario, id string, odd bool) {
		w.t.Helper()
		mine := func() bool {
			r := w.must(sc.as, nil, "claim", "--mine")
			return slices.Contains(r.ids(), id)
		}
		if !odd {
			w.again(sc, 4) // it holds it already, or takes it now
			if !mine() {
				w.t.Errorf("%s does not find %s again", sc.as, id)
			}
			w.must("bob", []int{4}, "claim", id)
			w.must(sc.as, nil, "submit", id)
			return
		}
		had := mine()
		r := w.must("bob", []int{0, 4}, "claim", id)
		if got := r.code == 0; got == had || got == mine() {
			w.t.Errorf("bob's claim ended with %d; %s had %s: %v, then %v", r.code, sc.as, id, had, mine())
		}
		if had {
			w.must(sc.as, nil, "submit", id)
			return
		}
		w.must(sc.as, []int{0, 4}, sc.args...) // another one, or that one is taken
		w.must("bob", nil, "submit", id)
	}
	return []scenario{
		{
			name: "claim", quick: true, as: "cy", args: []string{"claim", "t_3"}, touched: []string{"t_3"},
			stage: claimed("t_3", "cy"),
			next: func(w *world, sc *scenario, _ string, odd bool) {
				rival(w, sc, "t_3", odd)
			},
		},
		{ // by somebody who is not a teammate yet
			name: "claim next", quick: true, as: "eve", args: []string{"claim"}, touched: []string{"t_3", "eve"},
			stage: claimed("t_3", "eve"),
			next: func(w *world, sc *scenario, _ string, odd bool) {
				rival(w, sc, "t_3", odd)
			},
		},
	}
}

func submitScenarios() []scenario {
	again := func(codes ...int) func(w *world, sc *scenario, stage string, odd bool) {
		return func(w *world, sc *scenario, stage string, odd bool) {
			if odd { // a tick decides what was handed in
				w.must("", nil, "tick")
				if stage == halfway {
					w.reached(sc)
				}
			}
			w.again(sc, codes...)
			w.again(sc, codes...) // the same answer once more
		}
	}
	return []scenario{
		{
			name: "submit", quick: true, as: "ann", args: []string{"submit", "t_2", "--result", "r-two"}, touched: []string{"t_2"},
			stage: completed("t_2", "r-two"),
			next: func(w *world, sc *scenario, stage string, odd bool) {
				again()(w, sc, stage, odd)
				w.works("bob", "t_5") // what waited for it
			},
		},
		{
			name: "submit, gate", quick: true, threads: true, as: "cy", args: []string{"submit", "t_4", "--result", "r-four"}, touched: []string{"t_4"},
			prepare: func(w *world) { w.ok("cy", "claim", "t_4") },
			stage:   completed("t_4", "r-four"),
			next:    again(),
		},
		{
			name: "submit failed", quick: true, as: "ann", args: []string{"submit", "t_2", "--failed", "--result", "broken"}, touched: []string{"t_2"},
			stage: func(s *sight) string {
				switch t := s.tasks["t_2"]; {
				case t.State == fsboard.StateClaimed && t.Attempt == 0:
					return untouched
				case t.State == fsboard.StateSubmitted && t.Attempt == 0:
					return halfway
				case t.State == fsboard.StateWaiting && t.Attempt == 1 && t.ErrorMessage == "broken":
					return happened
				}
				return stored(s.tasks["t_2"])
			},
			next: again(),
		},
		{
			name: "submit, no wait", as: "ann", args: []string{"submit", "t_2", "--result", "r-two", "--no-wait"}, touched: []string{"t_2"},
			stage: func(s *sight) string {
				switch t := s.tasks["t_2"]; t.State {
				case fsboard.StateClaimed:
					return untouched
				case fsboard.StateSubmitted, fsboard.StateCompleted:
					return happened
				}
				return stored(s.tasks["t_2"])
			},
			next: again(),
		},
		{
			name: "submit, gate fails", threads: true, as: "cy", args: []string{"submit", "t_7"}, code: 1, errCode: "gate_failed", touched: []string{"t_7"},
			prepare: func(w *world) {
				w.ok("", "task", "add", "bad", "--verify", "false")
				w.ok("cy", "claim", "t_7")
			},
			stage: func(s *sight) string {
				t := s.tasks["t_7"]
				switch {
				case t.State == fsboard.StateSubmitted:
					return halfway
				case t.State == fsboard.StateClaimed && t.LastSubmission == nil && t.GateFailures == 0:
					return untouched
				case t.State == fsboard.StateClaimed && t.LastSubmission != nil && t.LastGate.Verdict == fsboard.VerdictFailed && t.GateFailures <= 3:
					return happened
				}
				return stored(t)
			},
			next: func(w *world, sc *scenario, _ string, _ bool) { w.again(sc) },
		},
	}
}
