package crashtest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// TestKill kills the command at each system call in turn: the call is not
// carried out, and nothing after it. What comes after a call is what comes
// before the next one. After each kill:
//
//   - everything that was told before is there, and what the killed command
//     told, if it came that far;
//   - doctor finds no error, and after doctor --fix nothing at all;
//   - the same command works, and the commands of others do.
//
// strace counts the occurrences of a call by thread. The main goroutine is
// pinned to one; for what other goroutines do (a gate, the decisions of a
// tick) an occurrence that another thread had before is reached by the path of
// the call. How many of the states between two changes were reached is counted
// and, where the main goroutine does it all, demanded.
func TestKill(t *testing.T) {
	need(t)
	for _, sc := range scenarios() {
		if !sc.quick && !*long {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			k := &killer{sc: &sc, w: sc.template(t), reached: map[int]bool{}, full: map[int]int{}, start: time.Now()}
			k.run(t)
			for round := 0; *long && !t.Failed() && (round == 0 || k.missed() > 0 && round < 6); round++ {
				k.w.bin = k.w.b.plain
				if round%2 == 1 {
					k.w.bin = k.w.b.teams
				}
				k.run(t)
			}
			k.report(t)
		})
	}
}

// killer kills one command over and over.
type killer struct {
	sc      *scenario
	w       *world // the template
	before  *sight
	start   time.Time
	calls   int              // kinds of calls
	kills   int              // runs that were killed
	told    int              // runs that told of their success before
	changes int              // changes that an undisturbed run makes
	at      map[target][]int // their numbers, by what to kill at
	lead    map[string]int   // calls before the first one about the session
	full    map[int]int      // kills that were followed by all checks
	reached map[int]bool     // numbers of changes after which a kill came
}

func (k *killer) run(t *testing.T) {
	var err error
	if k.before == nil {
		if k.before, err = look(k.w.place()); err != nil {
			t.Fatal(err)
		}
		if k.sc.damage != nil {
			k.sc.damage(k.w)
		}
	}
	names, targets := k.undisturbed(t)
	k.calls = max(k.calls, len(names))
	for _, name := range append(names, "exit_group") { // that is after the answer
		// A gate opens a file for each process of the machine, and ends itself.
		if !k.sc.threads || name != "openat" && name != "exit_group" {
			k.each(t, target{call: name})
		}
	}
	if k.sc.threads && *long {
		for _, p := range targets {
			k.each(t, p)
		}
	}
}

// target is what to kill at: each occurrence of a call, or of those on a path.
type target struct{ call, path string }

// undisturbed runs the command under strace without killing it. It returns the
// calls that it made, and those that change a path.
func (k *killer) undisturbed(t *testing.T) (names []string, targets []target) {
	w := k.w.clone(k.w.b.scratch())
	r, calls := w.trace(k.sc, tracing{})
	if r.code != k.sc.code || !k.sc.told(&r) {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	k.check(t, w, r, "undisturbed", -1)
	w.remove()
	k.changes, k.at, k.lead = 0, map[target][]int{}, map[string]int{}
	begun := false
	for i := range calls {
		c := &calls[i]
		if begun = begun || w.ours(c); !begun && c.TID == calls[0].TID {
			k.lead[c.Name]++
		}
		if !w.ours(c) || !c.changes() && (c.Kind() != "open" || !*long) || !c.OK() {
			continue
		}
		if p := (target{c.Name, w.short(c.Path())}); !fsx.IsTemp(filepath.Base(p.path)) {
			if k.at[p] == nil {
				targets = append(targets, p)
			}
			k.at[p] = append(k.at[p], k.changes)
		}
		if c.changes() {
			k.changes++
		}
	}
	if k.w.bin == k.w.b.plain {
		clear(k.lead) // which thread it is differs from run to run
	}
	return w.names(calls), targets
}

// each kills the command at each occurrence of a call, until it comes through.
func (k *killer) each(t *testing.T, p target) {
	tail := 1 // how many undisturbed runs show that there is no further one
	if p.path == "" && *long && (k.sc.threads || k.w.bin == k.w.b.plain) {
		tail = 3
	}
	first := 1
	if p.path == "" {
		first += k.lead[p.call] // what the Go runtime does before main
	}
	for n, through := first, 0; through < tail && !t.Failed(); n++ {
		if n > 400 {
			t.Fatalf("%s: no end", p.call)
		}
		if through++; k.once(t, p, n) {
			through = 0
		}
	}
}

// once kills the command at the nth occurrence and checks what is left. It says
// whether there was one.
func (k *killer) once(t *testing.T, p target, n int) bool {
	w := k.w.clone(k.w.b.scratch())
	w.t = t
	defer w.remove()
	o := tracing{inject: fmt.Sprintf("%s:signal=KILL:when=%d", p.call, n)}
	if p.path != "" {
		o.path = filepath.Join(w.root, p.path)
	}
	r, calls := w.trace(k.sc, o)
	if !r.killed() {
		if r.code != k.sc.code {
			t.Errorf("%s: not killed, exit %d: %s%s", o.inject, r.code, r.stdout, r.stderr)
		}
		return false
	}
	k.kills++
	if k.sc.told(&r) {
		k.told++
	}
	after := -1
	switch at := k.at[p]; {
	case p.path == "":
		after = w.changed(calls)
	case n <= len(at):
		after = at[n-1]
	}
	k.reached[after] = true
	k.check(t, w, r, fmt.Sprintf("%s %s, after change %d", o.inject, p.path, after), after)
	return true
}

// check checks what a command left that was killed, or came through, after a
// number of changes (-1: not known). Without -long what comes after a kill is
// tried twice for each number, once in each order.
func (k *killer) check(t *testing.T, w *world, r result, what string, after int) {
	w.t = t
	defer func() {
		if t.Failed() {
			t.Logf("%s: the state is kept in %s", what, w.keep())
		}
	}()
	stage := w.survived(k.sc, k.before, k.sc.told(&r))
	n := k.full[after]
	if k.full[after]++; t.Failed() || n >= 2 && !*long {
		return
	}
	if k.sc.damage == nil || stage == happened {
		w.must("", nil, "doctor")
	}
	k.sc.next(w, k.sc, stage, n%2 == 1)
	w.settled()
}

// missed is the number of states between two changes that no kill left.
func (k *killer) missed() int {
	missed := 0
	for n := range k.changes {
		if !k.reached[n] {
			missed++
		}
	}
	return missed
}

// report tells what was tried, and demands that every state was reached.
func (k *killer) report(t *testing.T) {
	missed := k.missed()
	counts.add("kill %-28s %2d calls, %4d kills (%d after the answer), %2d of %2d states, %v", k.sc.name,
		k.calls, k.kills, k.told, k.changes-missed, k.changes, time.Since(k.start).Round(time.Second/10))
	if missed > 0 && !k.sc.threads {
		t.Errorf("%d of %d states between two changes were never seen", missed, k.changes)
	}
}
