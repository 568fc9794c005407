package fsboard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestInterleaveReaders stops readers at each step while markers are folded and
// decided: they miss nothing in between.
func TestInterleaveReaders(t *testing.T) {
	ctx := context.Background()
	boards := newCopies(t, Options{HarnessLive: live}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"})
		mustClaim(t, b, "t_1", "ann")
	})
	submitted := newCopies(t, Options{HarnessLive: live}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"})
		mustClaim(t, b, "t_1", "ann")
		s := submission("t_1", "ann")
		s.NoWait = true
		if _, err := b.Submit(ctx, s); err != nil {
			t.Fatal(err)
		}
	})
	states := func(b *Board) map[string]func() (State, error) {
		return map[string]func() (State, error){
			"Show": func() (State, error) {
				v, err := b.Show("t_1")
				if err != nil {
					return "", err
				}
				return v.State, nil
			},
			"Tasks": func() (State, error) {
				list, err := b.Tasks()
				if err != nil || len(list) != 1 {
					return "", err
				}
				return list[0].State, nil
			},
			"Held": func() (State, error) {
				list, err := b.Held("ann", "ann-1")
				if err != nil || len(list) != 1 {
					return "nothing", err
				}
				return list[0].State, nil
			},
		}
	}
	steps := 0
	for _, name := range []string{"Show", "Tasks", "Held"} {
		everyStep(t, &steps, func(t testing.TB, n int) string {
			b, other := boards.next(t, Options{HarnessLive: live})
			step := interleave(n, 0, b, func() {
				if st, err := states(b)[name](); err != nil || st != StateClaimed {
					t.Errorf("step %d: %s sees a claimed task as %s, %v", n, name, st, err)
				}
			}, other, func() { mustFold(t, other) })
			return step
		})
		everyStep(t, &steps, func(t testing.TB, n int) string {
			b, other := submitted.next(t, Options{HarnessLive: live})
			step := interleave(n, 0, b, func() {
				st, err := states(b)[name]()
				if name == "Held" && st == "nothing" {
					st = StateCompleted
				}
				if err != nil || st != StateSubmitted && st != StateCompleted {
					t.Errorf("step %d: %s sees a submitted task as %s, %v", n, name, st, err)
				}
			}, other, func() {
				if _, err := other.Decide(ctx, "t_1"); err != nil {
					t.Error(err)
				}
			})
			return step
		})
	}
	if steps < 20 {
		t.Errorf("only %d steps", steps)
	}
}

// TestInterleaveDeathOfSubmitter: a submitter whose claim is only a marker is
// stopped, its life ends, whoever folds is stopped in turn, and then both go on.
// What the submitter is told is true.
func TestInterleaveDeathOfSubmitter(t *testing.T) {
	ctx := context.Background()
	boards := newCopies(t, Options{HarnessLive: live}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"})
		mustClaim(t, b, "t_1", "ann")
	})
	accepted := 0
	for n := 1; ; n += stride {
		last := ""
		for m := 1; m <= 40; m += stride {
			roster := &fakeRoster{}
			b, other := boards.next(t, Options{HarnessLive: live, Roster: roster})
			r := &teller{t: t}
			s := submission("t_1", "ann")
			s.NoWait = true
			last = interleave(n, m, b, func() { r.submit(b, s) }, other, func() {
				r.ends("ann")
				roster.set("ann", Worker{Life: LifeDead})
				_, _ = other.Fold(ctx, true)
			})
			accepted += len(r.submissions)
			if r.check(b, fmt.Sprintf("steps %d (%s) and %d", n, last, m)); t.Failed() {
				return
			}
		}
		if last == "" {
			break
		}
	}
	if accepted < 10 {
		t.Errorf("only %d submissions were accepted", accepted)
	}
}

// TestInterleaveTwice stops both actors, at steps that are drawn.
func TestInterleaveTwice(t *testing.T) {
	ctx := context.Background()
	rounds := 60
	if *long {
		rounds = 5000
	}
	fresh := newCopies(t, Options{}, func(b *Board) { mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2"}) })
	held := newCopies(t, Options{}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2"})
		mustClaim(t, b, "t_1", "ann")
	})
	claim := func(worker string) func(*Board, *teller) {
		return func(b *Board, r *teller) { r.claim(b, "t_1", worker) }
	}
	submit := func(b *Board, r *teller) {
		s := submission("t_1", "ann")
		s.NoWait = true
		r.submit(b, s)
	}
	release := func(b *Board, r *teller) {
		_, _ = b.Release(ctx, ReleaseRequest{ID: "t_1"})
		r.claim(b, "t_1", "cid")
	}
	cancel := func(b *Board, _ *teller) {
		_, _ = b.Cancel(ctx, "t_1", "", false)
		_, _ = b.Reopen(ctx, "t_1")
	}
	edit := func(b *Board, _ *teller) { _, _ = b.Edit(ctx, "t_1", Edit{Assignee: ptr("zoe")}) }
	fold := func(b *Board, _ *teller) { _, _ = b.Fold(ctx, true) }
	decide := func(b *Board, _ *teller) { _, _ = b.Decide(ctx, "t_1") }
	type pair struct {
		boards        *copies
		first, second func(*Board, *teller)
	}
	for name, p := range map[string]pair{
		"claim claim": {fresh, claim("ann"), claim("bob")}, "claim cancel": {fresh, claim("ann"), cancel}, "cancel claim": {fresh, cancel, claim("ann")},
		"claim edit": {fresh, claim("ann"), edit}, "edit claim": {fresh, edit, claim("ann")}, "claim fold": {fresh, claim("ann"), fold},
		"submit release": {held, submit, release}, "release submit": {held, release, submit}, "submit cancel": {held, submit, cancel},
		"submit decide": {held, submit, decide}, "decide submit": {held, decide, submit}, "submit edit": {held, submit, edit},
	} {
		t.Run(name, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(1, uint64(len(name))))
			for range rounds {
				n, m := 1+draw.IntN(50), 1+draw.IntN(50)
				isLive := draw.IntN(2) == 0
				b, other := p.boards.next(t, Options{HarnessLive: func() bool { return isLive }})
				r := &teller{t: t}
				step := interleave(n, m, b, func() { p.first(b, r) }, other, func() { p.second(other, r) })
				if r.check(b, fmt.Sprintf("steps %d (%s) and %d", n, step, m)); t.Failed() {
					return
				}
			}
		})
	}
}
