package fsboard

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestInterleaveClaim stops a claimer, or whoever is its rival, before each of
// its steps, while the other one runs.
func TestInterleaveClaim(t *testing.T) {
	ctx := context.Background()
	type rival func(b *Board, r *teller, roster *fakeRoster) func()
	rivals := map[string]rival{
		"claim": func(b *Board, r *teller, _ *fakeRoster) func() { return func() { r.claim(b, "t_1", "bob") } },
		"claim next": func(b *Board, r *teller, _ *fakeRoster) func() {
			return func() { r.claim(b, "", "bob") }
		},
		"fold": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Fold(ctx, true); return err })
		},
		"cancel": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Cancel(ctx, "t_1", "", false); return err })
		},
		"edit": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Edit(ctx, "t_1", Edit{Subject: ptr("x")}); return err })
		},
		"assign": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Edit(ctx, "t_1", Edit{Assignee: ptr("zoe")}); return err })
		},
		"block": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Edit(ctx, "t_1", Edit{DependsOn: &[]string{"t_2"}}); return err })
		},
		"reopen dependency": func(b *Board, _ *teller, _ *fakeRoster) func() {
			return anyError(func() error { _, err := b.Reopen(ctx, "t_3"); return err })
		},
		"import": func(b *Board, _ *teller, _ *fakeRoster) func() {
			var text bytes.Buffer
			if err := b.Export(&text); err != nil {
				panic(err)
			}
			changed := strings.ReplaceAll(text.String(), `"updatedAt":`, `"updatedAt":9`)
			return anyError(func() error { _, err := b.Import(ctx, strings.NewReader(changed), true); return err })
		},
		"claim, release, reclaim": func(b *Board, r *teller, _ *fakeRoster) func() {
			return func() {
				r.claim(b, "t_1", "bob")
				_, _ = b.Release(ctx, ReleaseRequest{ID: "t_1", Worker: "bob", SpawnID: "bob-1"})
				r.claim(b, "t_1", "cid")
			}
		},
		"takeover": func(b *Board, r *teller, roster *fakeRoster) func() {
			return func() {
				r.ends("ann")
				roster.set("ann/ann-1", Worker{Life: LifeReplaced})
				_, _ = b.Fold(ctx, true)
				r.claim(b, "t_1", "bob")
			}
		},
		"left marker": func(b *Board, r *teller, _ *fakeRoster) func() {
			m := (&tx{}).leaderMarker("t_1")
			return func() {
				_ = publishMarker(b.claimPath("t_1"), m)
				r.claim(b, "t_1", "bob")
			}
		},
	}
	boards := newCopies(t, Options{}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", Assignee: "nobody"}, NewTask{Subject: "3"})
		mustClaim(t, b, "t_3", "w")
		mustSubmit(t, b, "t_3", "w")
		if _, err := b.Edit(ctx, "t_1", Edit{DependsOn: &[]string{"t_3"}}); err != nil {
			t.Fatal(err)
		}
	})
	steps := 0
	for name, rival := range rivals {
		for _, harness := range []bool{false, true} {
			for _, named := range []string{"t_1", ""} {
				for _, order := range []string{"claimer stops", "rival stops"} {
					t.Run(fmt.Sprint(name, " harness=", harness, " named=", named != "", " ", order), func(t *testing.T) {
						everyStep(t, &steps, func(t testing.TB, n int) string {
							roster := &fakeRoster{}
							b, other := boards.next(t, Options{Roster: roster, HarnessLive: func() bool { return harness }})
							r := &teller{t: t}
							claim, rival := func() { r.claim(b, named, "ann") }, rival(other, r, roster)
							var step string
							if order == "rival stops" {
								step = interleave(n, 0, other, rival, b, claim)
							} else {
								step = interleave(n, 0, b, claim, other, rival)
							}
							r.check(b, fmt.Sprintf("step %d, %s", n, step))
							return step
						})
					})
				}
			}
		}
	}
	if steps < 100 {
		t.Errorf("only %d steps", steps)
	}
	t.Logf("%d steps", steps)
}

// TestInterleaveSubmit does the same to a submitter.
func TestInterleaveSubmit(t *testing.T) {
	ctx := context.Background()
	type rival func(b *Board, r *teller, roster *fakeRoster, clk *clock) func()
	sub := submission("t_1", "ann")
	sub.NoWait = true
	quick := sub
	rivals := map[string]rival{
		"lease end": func(b *Board, r *teller, _ *fakeRoster, clk *clock) func() {
			return func() {
				clk.pass(time.Hour)
				_, _ = b.Fold(ctx, true)
				r.claim(b, "t_1", "bob")
			}
		},
		"holder's death": func(b *Board, r *teller, roster *fakeRoster, _ *clock) func() {
			return func() {
				r.ends("ann")
				roster.set("ann", Worker{Life: LifeDead})
				_, _ = b.Fold(ctx, true)
				r.claim(b, "t_1", "bob")
			}
		},
		"release": func(b *Board, r *teller, _ *fakeRoster, _ *clock) func() {
			return func() {
				_, _ = b.Release(ctx, ReleaseRequest{ID: "t_1"})
				r.claim(b, "t_1", "bob")
			}
		},
		"leave": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return anyError(func() error { _, _, err := b.ReleaseAll(ctx, "ann", "ann-1", "left"); return err })
		},
		"cancel": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return anyError(func() error { _, err := b.Cancel(ctx, "t_1", "", false); return err })
		},
		"reassign": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return anyError(func() error { _, err := b.Edit(ctx, "t_1", Edit{Assignee: ptr("zoe")}); return err })
		},
		"decide": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return anyError(func() error { _, err := b.Decide(ctx, "t_1"); return err })
		},
		"decide and archive": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return func() {
				_, _ = b.Decide(ctx, "t_1")
				_, _ = b.Collect(ctx, -time.Hour, false)
			}
		},
		"submit": func(b *Board, r *teller, _ *fakeRoster, _ *clock) func() {
			return func() { r.submit(b, quick) }
		},
		"fold": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			return anyError(func() error { _, err := b.Fold(ctx, true); return err })
		},
		"left marker": func(b *Board, _ *teller, _ *fakeRoster, _ *clock) func() {
			m := (&tx{}).leaderMarker("t_1")
			return func() {
				_ = publishMarker(b.submissionPath("t_1"), m)
				_, _ = b.Fold(ctx, true)
			}
		},
	}
	clk, steps := fakeClock(t), 0
	for _, harness := range []bool{false, true} {
		isLive := func() bool { return harness }
		boards := newCopies(t, Options{HarnessLive: isLive}, func(b *Board) {
			mustAdd(t, b, NewTask{Subject: "1", Verify: "true"})
			q := request("t_1", "ann")
			q.Lease = time.Minute
			if _, err := b.Claim(ctx, q); err != nil { // with a harness it is only a marker
				t.Fatal(err)
			}
		})
		wall, boot := clk.wall, clk.boot
		for name, rival := range rivals {
			for _, order := range []string{"submitter stops", "rival stops"} {
				t.Run(fmt.Sprint(name, " harness=", harness, " ", order), func(t *testing.T) {
					everyStep(t, &steps, func(t testing.TB, n int) string {
						clk.wall, clk.boot = wall, boot
						roster := &fakeRoster{}
						b, other := boards.next(t, Options{Roster: roster, Gates: passing(), HarnessLive: isLive})
						r := &teller{t: t}
						s := sub
						s.NoWait = harness
						submit, rival := func() { r.submit(b, s) }, rival(other, r, roster, clk)
						var step string
						if order == "rival stops" {
							step = interleave(n, 0, other, rival, b, submit)
						} else {
							step = interleave(n, 0, b, submit, other, rival)
						}
						r.check(b, fmt.Sprintf("step %d, %s", n, step))
						return step
					})
				})
			}
		}
	}
	if steps < 100 {
		t.Errorf("only %d steps", steps)
	}
	t.Logf("%d steps", steps)
}

// TestInterleaveDecide stops a decider before each of its steps, while another
// one decides the same submission, with the holder's next one behind it: a
// verdict counts for the submission that it was made for, and each is decided
// once.
func TestInterleaveDecide(t *testing.T) {
	ctx := context.Background()
	boards := newCopies(t, Options{HarnessLive: live}, func(b *Board) {
		mustAdd(t, b, NewTask{Subject: "1", Verify: "true"})
		mustClaim(t, b, "t_1", "ann")
	})
	steps := 0
	for _, scene := range []string{"same", "resubmission", "verify", "cancel", "release", "archive"} {
		t.Run(scene, func(t *testing.T) {
			everyStep(t, &steps, func(t testing.TB, n int) string {
				var mu sync.Mutex
				good, running := scene != "resubmission", 0
				g := &fakeGates{run: func(ctx context.Context, r GateRun) (Receipt, error) {
					mu.Lock()
					defer mu.Unlock()
					if running++; running > 1 {
						t.Error("two gates run at once")
					}
					defer func() { running-- }()
					if good {
						return Receipt{Verdict: VerdictPassed}, nil
					}
					return Receipt{Verdict: VerdictFailed, ExitCode: 1}, nil
				}}
				b, other := boards.next(t, Options{Gates: g, HarnessLive: live})
				r := &teller{t: t}
				sub := submission("t_1", "ann")
				sub.NoWait = true
				one := r.submit(b, sub)
				two := &SubmitResult{}
				decide := func(b *Board) func() {
					return func() {
						if _, err := b.Decide(ctx, "t_1"); err != nil {
							t.Error(err)
						}
					}
				}
				rival := map[string]func(){
					"same":    decide(other),
					"verify":  anyError(func() error { _, err := other.RunGate(ctx, "t_1"); return err }),
					"cancel":  anyError(func() error { _, err := other.Cancel(ctx, "t_1", "", false); return err }),
					"release": anyError(func() error { _, err := other.Release(ctx, ReleaseRequest{ID: "t_1"}); return err }),
					"archive": func() {
						decide(other)()
						_, _ = other.Collect(ctx, -time.Hour, false)
					},
					"resubmission": func() {
						decide(other)()
						mu.Lock()
						good = true
						mu.Unlock()
						if res := r.submit(other, sub); res != nil {
							two = res
						}
					},
				}[scene]
				step := interleave(n, 0, b, decide(b), other, rival)
				decide(b)()
				r.check(b, fmt.Sprintf("step %d, %s", n, step))
				decided := map[string]string{}
				for _, e := range history(t, b) {
					if e.Submission == "" || e.Event == EventEscalation || e.Event == EventDropped {
						continue
					}
					if was := decided[e.Submission]; was != "" {
						t.Errorf("step %d, %s: submission %s is decided twice: %s and %s", n, step, e.Submission, was, e.Event)
					}
					decided[e.Submission] = e.Event
				}
				if scene == "resubmission" && two.Submission != "" && two.Submission != one.Submission &&
					(decided[one.Submission] != EventGateFailed || decided[two.Submission] != EventCompleted) {
					t.Errorf("step %d, %s: the verdicts are %v for %s and %s", n, step, decided, one.Submission, two.Submission)
				}
				return step
			})
		})
	}
	if steps < 100 {
		t.Errorf("only %d steps", steps)
	}
	t.Logf("%d steps", steps)
}
