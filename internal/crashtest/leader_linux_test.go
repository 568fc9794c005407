package crashtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/team"
)

// scenarios returns all of them.
func scenarios() []scenario {
	return slices.Concat(addScenarios(), workerScenarios(), tickScenarios(), changeScenarios(), teamScenarios(), doctorScenarios())
}

func addScenarios() []scenario {
	return []scenario{
		{
			name: "task add", quick: true, args: []string{"task", "add", "one more", "--key", "k1"}, touched: []string{"t_7"},
			stage: keyed("k1"),
			next: func(w *world, sc *scenario, _ string, _ bool) {
				w.again(sc)
				w.works("bob", "t_7")
			},
		},
		{ // in a root where nothing is
			name: "first task add", quick: true, empty: true, args: []string{"task", "add", "first", "--key", "k1"}, touched: []string{"t_1"},
			stage: keyed("k1"),
			next: func(w *world, sc *scenario, _ string, _ bool) {
				w.again(sc)
				w.works("bob", "t_1")
			},
		},
		{
			name: "task add, batch", args: []string{"task", "add", "--batch", "batch.jsonl"}, touched: []string{"t_7", "t_8", "t_9"},
			prepare: func(w *world) {
				w.file("batch.jsonl", `{"subject":"a","key":"a"}`+"\n"+`{"subject":"b","key":"b","dependsOn":["a"]}`+"\n"+`{"subject":"c","key":"c","dependsOn":["b"]}`+"\n")
			},
			stage: keyed("a", "b", "c"),
			next:  func(w *world, sc *scenario, _ string, _ bool) { w.again(sc) },
		},
		{ // brings t_1 back from the archive
			name: "task add, archived dependency", args: []string{"task", "add", "on it", "--depends-on", "t_1", "--key", "k1"}, touched: []string{"t_7"},
			prepare: archive,
			stage:   keyed("k1"),
			next: func(w *world, sc *scenario, _ string, _ bool) {
				w.again(sc)
				w.works("bob", "t_7")
			},
		},
	}
}

func archive(w *world) { w.ok("", "gc", "--tasks", "--older-than", "1ms") }

func tickScenarios() []scenario {
	return []scenario{
		{ // a claim that nobody folded yet; it was told, so it must stay
			name: "tick, claim", quick: true, args: []string{"tick"}, touched: []string{"t_7"},
			prepare: func(w *world) {
				w.ok("", "task", "add", "for a role", "--role", "dev")
				w.ok("", "join", "dev1", "--agent", "dev")
				w.locked(func() { w.ok("dev1", "claim", "t_7") })
			},
			stage: func(s *sight) string {
				if s.holder("t_7") == "dev1" {
					return happened
				}
				return "t_7 is " + stored(s.tasks["t_7"])
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				if odd {
					w.must("bob", []int{4, 5}, "claim", "t_7")
				}
				w.again(sc)
				if r := w.must("dev1", []int{0, 1}, "submit", "t_7"); r.code == 1 {
					// The definitions of agents could not be read, so the claim was
					// given a gate that cannot pass. The next one has the right one.
					w.must("dev1", nil, "release", "t_7")
					w.works("dev1", "t_7")
				}
			},
		},
		{
			name: "tick, dead holder", quick: true, args: []string{"tick"}, touched: []string{"t_3"},
			prepare: func(w *world) {
				pid, end := deadProcess(w.t)
				defer end()
				w.join("dora", "--pid", pid)
				w.ok("dora", "claim", "t_3")
			},
			stage: given("t_3", "dora"),
			next: func(w *world, sc *scenario, _ string, odd bool) {
				if !odd { // a claim by name finds the dead holder, too
					w.again(sc)
				}
				w.works("bob", "t_3")
			},
		},
		{
			name: "tick, submissions", quick: true, threads: true, args: []string{"tick"}, touched: []string{"t_2", "t_4"},
			prepare: func(w *world) {
				w.ok("cy", "claim", "t_4")
				w.ok("cy", "submit", "t_4", "--result", "r-four", "--no-wait")
				w.ok("ann", "submit", "t_2", "--result", "r-two", "--no-wait")
			},
			stage: func(s *sight) string {
				a, b := completed("t_2", "r-two")(s), completed("t_4", "r-four")(s)
				switch {
				case a == b && a == happened:
					return happened
				case a == untouched || b == untouched:
					return "a submission is gone"
				case a != halfway && a != happened:
					return a
				case b != halfway && b != happened:
					return b
				}
				return halfway
			},
			next: func(w *world, sc *scenario, _ string, _ bool) { w.again(sc) },
		},
	}
}

// changeScenarios are those in which the leader changes tasks that somebody
// may be about to claim.
func changeScenarios() []scenario {
	// raced lets bob claim the task first, or last.
	raced := func(id string, codes ...int) func(w *world, sc *scenario, stage string, odd bool) {
		return func(w *world, sc *scenario, stage string, odd bool) {
			if odd { // what the killed leader left is in nobody's way
				w.must("bob", nil, "claim", id)
				w.must("", append(codes, 0), sc.args...)
				return
			}
			w.again(sc, codes...)
			w.works("bob", id)
		}
	}
	subject := func(id, was, is string) func(*sight) string {
		return func(s *sight) string {
			switch t := s.tasks[id]; {
			case t.Subject == was && t.Priority == 2 && t.State == fsboard.StateReady:
				return untouched
			case t.Subject == is && t.Priority == 0 && t.State == fsboard.StateReady:
				return happened
			}
			return stored(s.tasks[id])
		}
	}
	return []scenario{
		{
			name: "task edit", args: []string{"task", "edit", "t_3", "--subject", "renamed", "--priority", "0"}, touched: []string{"t_3"},
			stage: subject("t_3", "free", "renamed"),
			next:  raced("t_3"),
		},
		{
			name: "task cancel", args: []string{"task", "cancel", "t_3"}, touched: []string{"t_3"},
			stage: func(s *sight) string {
				switch s.state("t_3") {
				case fsboard.StateReady:
					return untouched
				case fsboard.StateCancelled:
					return happened
				}
				return stored(s.tasks["t_3"])
			},
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if odd && stage == untouched {
					w.works("bob", "t_3")
					return
				}
				w.again(sc, 4)
				w.must("bob", []int{4}, "claim", "t_3")
			},
		},
		{
			name: "task cancel, held", args: []string{"task", "cancel", "t_2", "--cascade"}, touched: []string{"t_2", "t_5"},
			stage: func(s *sight) string {
				switch {
				case s.state("t_2") == fsboard.StateClaimed && s.state("t_5") == fsboard.StateBlocked:
					return untouched
				case s.state("t_2") == fsboard.StateCancelled && s.state("t_5") == fsboard.StateCancelled:
					return happened
				}
				return stored(s.tasks["t_2"]) + stored(s.tasks["t_5"])
			},
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if odd && stage == untouched {
					w.must("ann", nil, "submit", "t_2")
					return
				}
				w.again(sc, 4)
				w.must("ann", []int{4}, "submit", "t_2")
			},
		},
		{
			name: "task reopen", args: []string{"task", "reopen", "t_6"}, touched: []string{"t_6"},
			stage: func(s *sight) string {
				switch s.state("t_6") {
				case fsboard.StateCancelled:
					return untouched
				case fsboard.StateReady:
					return happened
				}
				return stored(s.tasks["t_6"])
			},
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if !odd || stage == untouched {
					w.again(sc, 4)
				}
				w.works("bob", "t_6")
			},
		},
		{
			name: "gc", args: []string{"gc", "--tasks", "--older-than", "1ms"}, touched: []string{"t_1", "t_4", "t_6"},
			prepare: func(w *world) { w.works("cy", "t_4") },
			stage: func(s *sight) string {
				n := 0
				for _, id := range []string{"t_1", "t_4", "t_6"} {
					if s.tasks[id].Archived {
						n++
					}
				}
				switch {
				case s.tasks["t_1"].Result != "r-one":
					return "the result of t_1 is " + s.tasks["t_1"].Result
				case n == 0:
					return untouched
				case n == 3:
					return happened
				}
				return fmt.Sprintf("%d tasks are archived", n)
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				if !odd {
					w.again(sc)
				}
				w.must("", nil, "task", "show", "t_1")
				w.must("", nil, "task", "reopen", "t_6")
				w.works("bob", "t_6")
			},
		},
		{ // it changes t_3 and adds t_20
			name: "import", args: []string{"import", "in.jsonl", "--apply"}, touched: []string{"t_3", "t_20"},
			prepare: func(w *world) { w.file("in.jsonl", importable(w)) },
			stage: func(s *sight) string {
				a := subject("t_3", "free", "imported")(s)
				if (s.tasks["t_20"] != nil) != (a == happened) {
					return "half of it was imported"
				}
				return a
			},
			next: raced("t_3"),
		},
	}
}

// importable is t_3 as somebody else changed it an hour from now, and a task
// of a number that is not used yet.
func importable(w *world) string {
	w.t.Helper()
	r := w.exec("", w.bin, "export")
	for row := range strings.Lines(r.stdout) {
		if !strings.Contains(row, `"id":"t_3"`) {
			continue
		}
		s, err := look(w.place())
		if err != nil {
			w.t.Fatal(err)
		}
		was := s.tasks["t_3"]
		row = replaceOnce(w.t, row, `"subject":"free"`, `"subject":"imported"`)
		row = replaceOnce(w.t, row, `"priority":2`, `"priority":0`)
		row = replaceOnce(w.t, row, fmt.Sprintf(`"updatedAt":%d`, was.UpdatedAt), fmt.Sprintf(`"updatedAt":%d`, was.UpdatedAt+3_600_000))
		return row + replaceOnce(w.t, row, `"id":"t_3"`, `"id":"t_20"`)
	}
	w.t.Fatalf("t_3 is not in the export: %s%s", r.stdout, r.stderr)
	return ""
}

func replaceOnce(t *testing.T, s, from, to string) string {
	t.Helper()
	if strings.Count(s, from) != 1 {
		t.Fatalf("%q is not once in %s", from, s)
	}
	return strings.Replace(s, from, to, 1)
}

func teamScenarios() []scenario {
	return []scenario{
		{
			name: "join", args: []string{"join", "zoe", "--pid", self()}, touched: []string{"zoe"},
			stage: func(s *sight) string {
				if _, there := s.mates["zoe"]; there {
					return happened
				}
				return untouched
			},
			next: func(w *world, sc *scenario, _ string, odd bool) {
				w.again(sc, 4)
				w.must("", nil, "join", "zoe", "--pid", self(), "--takeover")
			},
		},
		{
			name: "join, takeover", args: []string{"join", "ann", "--pid", self(), "--takeover"}, touched: []string{"t_2", "ann"},
			promise: halfway, // a claim that cannot be released stays, with a warning
			stage: func(s *sight) string {
				replaced, free := s.mates["ann"].PreviousSpawnID != "", s.state("t_2") == fsboard.StateReady
				switch {
				case free && !replaced:
					return "t_2 was taken from a teammate that lives"
				case free:
					return happened
				case replaced:
					return halfway
				}
				return untouched
			},
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if !odd || stage != halfway {
					w.must("", nil, sc.args...)
				}
				// What an older life held, the one before a takeover that was killed,
				// is for the next sweep.
				w.must("", nil, "tick")
				w.reached(sc)
				w.works("bob", "t_2")
			},
		},
		{
			name: "leave", as: "ann", args: []string{"leave"}, touched: []string{"t_2", "ann"},
			promise: halfway, // a claim that cannot be released stays, with a warning
			stage: func(s *sight) string {
				stopped, free := s.mates["ann"].Status == team.StatusStopped, s.state("t_2") == fsboard.StateReady
				switch {
				case free && !stopped:
					return "t_2 was taken from a teammate that lives"
				case free:
					return happened
				case stopped:
					return halfway
				}
				return untouched
			},
			next: func(w *world, sc *scenario, stage string, odd bool) {
				if odd && stage == halfway {
					w.must("", nil, "tick")
				} else {
					w.again(sc)
				}
				w.works("bob", "t_2")
			},
		},
	}
}
