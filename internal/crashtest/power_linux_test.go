package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/team"
)

// answer is the index of the call that tells the outcome of a command.
func answer(calls []Call) int {
	for i := range calls {
		if c := &calls[i]; c.Kind() == "write" && strings.HasPrefix(filepath.Base(c.Path()), stdoutName) {
			return i
		}
	}
	return len(calls)
}

// TestOrder records what a command does and checks the order of it; see
// [Disorder].
func TestOrder(t *testing.T) {
	need(t)
	for _, sc := range scenarios() {
		if !*long && !slices.Contains([]string{"task add", "first task add", "claim", "submit", "submit, gate", "release"}, sc.name) {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			w := sc.template(t)
			_, err := os.Lstat(filepath.Join(w.boardDir(), "history.jsonl"))
			r, calls := w.trace(&sc, tracing{})
			if r.code != sc.code || !sc.told(&r) {
				t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
			at := answer(calls)
			if at == len(calls) {
				t.Error("there is no answer in the trace")
			}
			w.report(Disorder(calls, w.root, w.boardDir(), at, err == nil))
			if t.Failed() {
				for i := range calls {
					if c := &calls[i]; w.ours(c) && c.Kind() != "open" {
						t.Logf("%d %s %s", c.TID, c.Name, w.short(c.Path()))
					}
				}
			}
		})
	}
}

// step is one command of a chain, and what it told of when it had ended.
type step struct {
	as   string
	args []string
	told func(s *sight) string // the stage; happened is due once it was told
}

// chains are commands after each other, with nothing durable between them but
// what they made durable.
func chains() map[string]struct {
	empty bool
	steps []step
} {
	type chain = struct {
		empty bool
		steps []step
	}
	return map[string]chain{
		"from nothing": {empty: true, steps: []step{
			{"", []string{"task", "add", "first", "--key", "k1"}, keyed("k1")},
			{"", []string{"task", "add", "second", "--key", "k2"}, keyed("k2")},
			{"eve", []string{"claim", "t_1"}, claimedOrAfter("t_1", "eve")},
			{"eve", []string{"submit", "t_1", "--result", "r-one"}, completed("t_1", "r-one")},
			{"", []string{"task", "add", "third", "--key", "k3", "--depends-on", "t_2"}, keyed("k3")},
		}},
		"a day": {steps: []step{
			{"", []string{"task", "add", "one more", "--key", "k1"}, keyed("k1")},
			{"cy", []string{"claim", "t_4"}, claimedOrAfter("t_4", "cy")},
			{"ann", []string{"release", "t_2"}, func(s *sight) string {
				if s.holder("t_2") == "ann" {
					return untouched
				}
				return happened
			}},
			{"cy", []string{"submit", "t_4", "--result", "r-four"}, completed("t_4", "r-four")},
			{"bob", []string{"claim", "t_2"}, claimedOrAfter("t_2", "bob")},
			{"bob", []string{"submit", "t_2", "--result", "r-two", "--no-wait"}, func(s *sight) string {
				if s.holder("t_2") == "bob" && s.state("t_2") != "submitted" {
					return untouched
				}
				return happened
			}},
			{"", []string{"tick"}, completed("t_2", "r-two")},
			{"", []string{"task", "edit", "t_3", "--subject", "renamed"}, func(s *sight) string {
				if s.tasks["t_3"].Subject == "renamed" {
					return happened
				}
				return untouched
			}},
			{"", []string{"gc", "--tasks", "--older-than", "1ms"}, func(s *sight) string {
				if s.tasks["t_1"].Archived {
					return happened
				}
				return untouched
			}},
		}},
	}
}

// claimedOrAfter is claimed for a task that goes on afterwards.
func claimedOrAfter(id, name string) func(*sight) string {
	return func(s *sight) string {
		if t := s.tasks[id]; t != nil && t.ClaimedBy == name {
			return happened
		}
		return untouched
	}
}

// TestPowerCut cuts the power at every point of a chain of commands. The states
// that [Disk] says may be left are read with the libraries: they parse, doctor
// finds no error, what was told before the cut is there, and so it is after
// doctor --fix, which leaves nothing to mend.
func TestPowerCut(t *testing.T) {
	need(t)
	for name, c := range chains() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &powerCut{w: (&scenario{empty: c.empty}).template(t), steps: c.steps, seen: map[string]bool{}, start: time.Now()}
			p.record(t)
			p.cut(t)
			counts.add("power %-28s %d commands, %d calls, %d cuts, %d different states, %v", name, len(p.steps), p.disk.Played(), p.cuts, len(p.seen),
				time.Since(p.start).Round(time.Second/10))
		})
	}
}

type powerCut struct {
	w     *world
	steps []step
	start time.Time

	disk   *Disk
	told   []int    // the first call after the answer of each step
	sights []*sight // what was to be seen after each step, with the one before all first
	cuts   int
	seen   map[string]bool
}

// record runs the commands and lets the model follow them.
func (p *powerCut) record(t *testing.T) {
	w := p.w
	var err error
	if p.disk, err = NewDisk(w.root); err != nil {
		t.Fatal(err)
	}
	first, err := look(w.place())
	if err != nil {
		t.Fatal(err)
	}
	p.sights = append(p.sights, first)
	for _, s := range p.steps {
		base := p.disk.Played()
		r, calls := w.trace(&scenario{as: s.as, args: s.args}, tracing{data: true})
		if r.code != 0 || !r.reply.OK {
			t.Fatalf("%v: exit %d: %s%s", s.args, r.code, r.stdout, r.stderr)
		}
		if err := p.disk.Play(calls); err != nil {
			t.Fatalf("the model does not follow %v: %v", s.args, err)
		}
		p.told = append(p.told, base+answer(calls)+1)
		now, err := look(w.place())
		if err != nil {
			t.Fatal(err)
		}
		if stage := s.told(now); stage != happened {
			t.Fatalf("%v: the stage is %q", s.args, stage)
		}
		p.sights = append(p.sights, now)
	}
	// The model is worth something only if it knows what is really there.
	real, err := ReadTree(w.root)
	if err != nil {
		t.Fatal(err)
	}
	model := p.disk.Now()
	for path := range model {
		if _, there := real[path]; !there {
			t.Errorf("the model has %s", path)
		}
	}
	for path, data := range real {
		if string(model[path]) != string(data) {
			t.Errorf("the model does not have %s as it is", path)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// cut tries the states of every point.
func (p *powerCut) cut(t *testing.T) {
	points := append(p.disk.Points(), p.told...)
	slices.Sort(points)
	for _, at := range slices.Compact(points) {
		told := 0
		for told < len(p.told) && p.told[told] <= at {
			told++
		}
		limit := 0
		switch {
		case *long:
			limit = 60
		case slices.Contains(p.told, at): // the moment in which a command has told
			limit = 30
		}
		for c := range p.disk.Cuts(at, limit) {
			p.cuts++
			key := fmt.Sprint(told, " ", c.Tree.Sum())
			if p.seen[key] {
				continue
			}
			p.seen[key] = true
			p.check(t, c, told)
			if t.Failed() {
				return
			}
		}
	}
}

// check checks one state in which the first told steps had told their outcome.
func (p *powerCut) check(t *testing.T, c Cut, told int) {
	w := *p.w
	w.t, w.root = t, w.b.scratch()
	defer w.remove()
	if err := c.Tree.WriteTo(w.root); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("power cut before call %d, after %d answers; lost: %s\nthe state is kept in %s", c.After, told, c.Lost, w.keep())
		}
	}()
	verify := func(when string) *sight {
		s, err := look(w.place())
		if err != nil {
			t.Errorf("%s: %v", when, err)
			return nil
		}
		w.report(s.errors(), s.broken(), w.whole(), p.lost(s, told))
		for _, step := range p.steps[:told] {
			if stage := step.told(s); stage != happened {
				t.Errorf("%s: %v told of its success, and the stage is %q", when, step.args, stage)
			}
		}
		return s
	}
	if verify("after the cut"); t.Failed() {
		return
	}
	ctx, tm := context.Background(), team.Open(w.place())
	b, err := tm.Board(team.BoardOptions{LockTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	exists, err := b.Exists()
	if err != nil {
		t.Error(err)
	}
	if exists {
		_, err = b.Fold(ctx, true)
	}
	if err := errors.Join(err, w.age(), b.Fix(ctx), tm.Fix(ctx, b)); err != nil {
		t.Errorf("fold and fix: %v", err)
	}
	if s := verify("after a fix"); s != nil {
		for _, f := range s.findings {
			if f.Code != "torn_line" { // what a cut left of a line stays, and is skipped
				t.Errorf("a fix leaves %s %s %s: %s", f.Severity, f.Code, f.Path, f.Message)
			}
		}
	}
}

// lost lists the events that are not there although a command had told of
// their revision, and the tasks and teammates.
func (p *powerCut) lost(s *sight, told int) []string {
	var out []string
	was := p.sights[told]
	seen := map[string]bool{}
	for i := range s.events {
		seen[eventKey(&s.events[i])] = true
	}
	for i := range was.events {
		if key := eventKey(&was.events[i]); !seen[key] {
			out = append(out, "history lost "+key)
		}
	}
	for id := range was.tasks {
		if s.tasks[id] == nil {
			out = append(out, id+" is gone")
		}
	}
	for name := range was.mates {
		if _, there := s.mates[name]; !there {
			out = append(out, name+" is gone")
		}
	}
	return out
}
