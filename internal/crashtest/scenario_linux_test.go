package crashtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed6990a682/teams/fsboard"
)

// The stages of what a command does, as a look at the session shows them.
const (
	untouched = "untouched" // nothing happened
	halfway   = "halfway"   // begun, and the next command completes it
	happened  = "happened"  // all of it happened
)

// scenario is one command in one situation, and what may come of it.
type scenario struct {
	name    string
	quick   bool // part of a run without -long
	threads bool // part of it does not run in the main goroutine
	empty   bool // without the tasks of base
	prepare func(w *world)
	damage  func(w *world) // makes the board unreadable until the command has happened
	as      string
	args    []string
	code    int      // how it ends when nobody disturbs it
	errCode string   // the code of its error then
	promise string   // the stage that its success tells of, "" for happened
	touched []string // tasks and teammates that it may change
	// stage tells what of it happened; anything but the constants is a violation.
	stage func(s *sight) string
	// next runs the commands that come after one that was killed or failed at a
	// stage. odd alternates, for two orders of them.
	next func(w *world, sc *scenario, stage string, odd bool)
}

// base makes the session that most scenarios begin with:
//
//	t_1 completed by ann    t_2 held by ann      t_3 free
//	t_4 free, with a gate   t_5 waits for t_2    t_6 cancelled
//
// and the teammates ann, bob and cy, of whom no process is known.
func base(w *world) {
	w.ok("", "task", "add", "done")
	w.ok("", "task", "add", "held")
	w.ok("", "task", "add", "free", "--tag", "x")
	w.ok("", "task", "add", "gated", "--verify", "true")
	w.ok("", "task", "add", "after", "--depends-on", "t_2")
	w.ok("", "task", "add", "dropped")
	w.ok("", "task", "cancel", "t_6")
	for _, name := range []string{"ann", "bob", "cy"} {
		w.ok("", "join", name)
	}
	w.ok("ann", "claim", "t_1")
	w.ok("ann", "submit", "t_1", "--result", "r-one")
	w.ok("ann", "claim", "t_2")
}

// template makes the session in which a scenario runs.
func (sc *scenario) template(t *testing.T) *world {
	w := newWorld(t)
	if !sc.empty {
		base(w)
	}
	if sc.prepare != nil {
		sc.prepare(w)
	}
	return w
}

// deadProcess starts a process and returns its id and what ends it.
func deadProcess(t *testing.T) (pid string, end func()) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(cmd.Process.Pid), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func self() string { return strconv.Itoa(os.Getpid()) }

// claimed is the stage of a claim of id by name.
func claimed(id, name string) func(*sight) string {
	return func(s *sight) string {
		switch {
		case s.holder(id) == name:
			return happened
		case s.state(id) == fsboard.StateReady:
			return untouched
		}
		return id + " is " + string(s.state(id)) + ", held by " + s.holder(id)
	}
}

// completed is the stage of a submission that completes id.
func completed(id, result string) func(*sight) string {
	return func(s *sight) string {
		switch t := s.tasks[id]; {
		case t.State == fsboard.StateClaimed:
			return untouched
		case t.State == fsboard.StateSubmitted:
			return halfway
		case t.State == fsboard.StateCompleted && t.Result == result && s.count(fsboard.EventCompleted, id) == 1:
			return happened
		}
		return id + " is " + stored(s.tasks[id])
	}
}

// given is the stage of what makes id claimable again.
func given(id, holder string) func(*sight) string {
	return func(s *sight) string {
		switch {
		case s.holder(id) == holder && holder != "":
			return untouched
		case s.state(id) == fsboard.StateReady:
			return happened
		}
		return id + " is " + string(s.state(id)) + ", held by " + s.holder(id)
	}
}

// keyed is the stage of an addition of n tasks under keys.
func keyed(keys ...string) func(*sight) string {
	return func(s *sight) string {
		n := 0
		for _, key := range keys {
			for _, t := range s.tasks {
				if t.Key == key {
					n++
				}
			}
		}
		switch n {
		case 0:
			return untouched
		case len(keys):
			return happened
		}
		return strconv.Itoa(n) + " tasks were added"
	}
}

// file writes a file into the project and returns its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.project, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// now is the stage that a scenario is in.
func (w *world) now(sc *scenario) string {
	w.t.Helper()
	s, err := look(w.place())
	if err != nil {
		return err.Error()
	}
	return sc.stage(s)
}

// again runs the command of the scenario once more; it may end with any of
// codes, and has happened then.
func (w *world) again(sc *scenario, codes ...int) {
	w.t.Helper()
	w.must(sc.as, append(codes, sc.code), sc.args...)
	w.reached(sc)
}

// reached checks that all of it has happened.
func (w *world) reached(sc *scenario) {
	w.t.Helper()
	if stage := w.now(sc); stage != happened {
		w.t.Errorf("the next command leaves the stage %q", stage)
	}
}

// works lets a teammate take a task and complete it.
func (w *world) works(name, id string) {
	w.t.Helper()
	w.must(name, nil, "claim", id, "--max", "9")
	w.must(name, nil, "submit", id)
}

// told reports whether a result is the one of an undisturbed run.
func (sc *scenario) told(r *result) bool {
	return r.reply.whole && (r.reply.OK && sc.code == 0 || r.reply.Error.Code == sc.errCode && sc.code != 0)
}
