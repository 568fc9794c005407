package fsboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// crashCase is a verb on a board, and what must be true of the board after the
// verb was told done, or died somewhere on its way.
type crashCase struct {
	name  string
	build func(t testing.TB, b *Board)
	act   func(b *Board) error
	check func(t testing.TB, b *Board, done bool)
}

// oneOf checks that a task is in one of two states; in the second if done.
func oneOf(id string, before, after State) func(testing.TB, *Board, bool) {
	return func(t testing.TB, b *Board, done bool) {
		t.Helper()
		v, err := b.Show(id)
		if err != nil {
			t.Fatal(err)
		}
		if v.State != after && (done || v.State != before) {
			t.Errorf("%s is %s, not %s or %s; done: %v", id, v.State, before, after, done)
		}
	}
}

// claimableAgain claims a task that is ready, as anybody must be able to.
func claimableAgain(t testing.TB, b *Board, id string) {
	t.Helper()
	if v, err := b.Show(id); err == nil && v.State == StateReady {
		mustClaim(t, b, id, "next")
		mustSubmit(t, b, id, "next")
	}
}

func crashCases() []crashCase {
	ctx := context.Background()
	tasks := func(t testing.TB, b *Board) {
		mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", DependsOn: []string{"t_1"}}, NewTask{Subject: "3"})
	}
	claimed := func(t testing.TB, b *Board) {
		tasks(t, b)
		mustClaim(t, b, "t_1", "ann")
	}
	completed := func(t testing.TB, b *Board) {
		claimed(t, b)
		mustSubmit(t, b, "t_1", "ann")
	}
	submitted := func(t testing.TB, b *Board) {
		if _, err := b.Add(ctx, NewTask{Subject: "1", Verify: "true"}); err != nil {
			t.Fatal(err)
		}
		b.o.HarnessLive = live
		mustClaim(t, b, "t_1", "ann")
		s := submission("t_1", "ann")
		s.NoWait = true
		if _, err := b.Submit(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	var exported strings.Builder
	claimCheck := func(t testing.TB, b *Board, done bool) {
		t.Helper()
		v, err := b.Show("t_1")
		if err != nil {
			t.Fatal(err)
		}
		held, err := b.Held("ann", "ann-1")
		if err != nil || (len(held) == 1) != (v.State == StateClaimed) || done && v.State != StateClaimed {
			t.Errorf("t_1 is %s, ann holds %d; done: %v, %v", v.State, len(held), done, err)
		}
		if v.State == StateReady {
			mustClaim(t, b, "t_1", "ann") // who was killed tries again
		}
		mustSubmit(t, b, "t_1", "ann")
	}
	return []crashCase{
		{"first add", func(testing.TB, *Board) {}, func(b *Board) error { _, err := b.Add(ctx, NewTask{Subject: "1"}, NewTask{Subject: "2"}); return err },
			func(t testing.TB, b *Board, done bool) {
				list, err := b.Tasks()
				if err != nil || len(list) != 2 && (done || len(list) != 0) {
					t.Errorf("%d tasks, %v; done: %v", len(list), err, done)
				}
				if v := mustAdd(t, b, NewTask{Subject: "next"})[0]; v.ID != taskID(int64(len(list)+1)) {
					t.Errorf("after %d tasks comes %s", len(list), v.ID)
				}
			}},
		{"add", tasks, func(b *Board) error {
			_, err := b.Add(ctx, NewTask{Subject: "4", Key: "k4"}, NewTask{Subject: "5", DependsOn: []string{"k4"}})
			return err
		},
			func(t testing.TB, b *Board, done bool) {
				list, err := b.Tasks()
				if err != nil || len(list) != 5 && (done || len(list) != 3) {
					t.Errorf("%d tasks, %v; done: %v", len(list), err, done)
				}
				if v := mustAdd(t, b, NewTask{Subject: "4", Key: "k4"})[0]; v.ID != "t_4" { // once, whatever happened
					t.Errorf("the key is that of %s", v.ID)
				}
			}},
		{"claim", tasks, func(b *Board) error { _, err := b.Claim(ctx, request("t_1", "ann")); return err }, claimCheck},
		{"claim next", tasks, func(b *Board) error { _, err := b.Claim(ctx, request("", "ann")); return err }, claimCheck},
		{"submit", claimed, func(b *Board) error { _, err := b.Submit(ctx, submission("t_1", "ann")); return err },
			func(t testing.TB, b *Board, done bool) {
				oneOf("t_1", StateClaimed, StateCompleted)(t, b, done)
				if r := mustSubmit(t, b, "t_1", "ann"); r.Outcome != OutcomeCompleted { // tried again
					t.Errorf("%+v", r)
				}
				wantState(t, b, "t_2", StateReady)
			}},
		{"submit as failed", claimed, func(b *Board) error {
			_, err := b.Submit(ctx, SubmitRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1", Status: "failed"})
			return err
		},
			oneOf("t_1", StateClaimed, StateWaiting)},
		{"decide with a gate", submitted, func(b *Board) error { _, err := b.Decide(ctx, "t_1"); return err },
			func(t testing.TB, b *Board, done bool) {
				if v, err := b.Show("t_1"); err != nil || v.State != StateCompleted { // the checks before have decided it
					t.Errorf("%+v, %v", v, err)
				}
				if err := b.Fix(ctx); err != nil || exists(b.gateRunPath("t_1")) {
					t.Errorf("the run file is left, %v", err)
				}
			}},
		{"fold", func(t testing.TB, b *Board) {
			tasks(t, b)
			b.o.HarnessLive = live
			mustClaim(t, b, "t_1", "ann")
			putMarker(t, b.claimPath("t_3"), `{"taskId":"t_3","worker":"bob","spawnId":"b","token":"x","epoch":7}`)
			putMarker(t, b.claimPath("t_9"), `{"taskId":"t_8"}`)
		}, func(b *Board) error { _, err := b.Fold(ctx, true); return err },
			func(t testing.TB, b *Board, done bool) {
				wantState(t, b, "t_1", StateClaimed)
				claimableAgain(t, b, "t_3")
				if n := len(rejected(t, b)); n != 1 {
					t.Errorf("%d are rejected", n)
				}
			}},
		{"release", claimed, func(b *Board) error { _, err := b.Release(ctx, ReleaseRequest{ID: "t_1"}); return err },
			func(t testing.TB, b *Board, done bool) {
				oneOf("t_1", StateClaimed, StateReady)(t, b, done)
				claimableAgain(t, b, "t_1")
			}},
		{"release all", claimed, func(b *Board) error {
			_, kept, err := b.ReleaseAll(ctx, "ann", "", "left")
			if err == nil && len(kept) > 0 {
				return errors.Join(b.Problems()...)
			}
			return err
		}, oneOf("t_1", StateClaimed, StateReady)},
		{"renew", claimed, func(b *Board) error { _, err := b.Renew(ctx, "t_1", "ann", "ann-1", time.Minute); return err },
			func(t testing.TB, b *Board, done bool) {
				if v := wantState(t, b, "t_1", StateClaimed); done && v.Claim.LeaseMs != 60_000 {
					t.Errorf("%+v", v.Claim)
				}
			}},
		{"cancel", tasks, func(b *Board) error { _, err := b.Cancel(ctx, "t_1", "", true); return err },
			func(t testing.TB, b *Board, done bool) {
				oneOf("t_1", StateReady, StateCancelled)(t, b, done)
				oneOf("t_2", StateBlocked, StateCancelled)(t, b, done)
				claimableAgain(t, b, "t_1")
			}},
		{"cancel a claimed one", claimed, func(b *Board) error { _, err := b.Cancel(ctx, "t_1", "", false); return err }, oneOf("t_1", StateClaimed, StateCancelled)},
		{"cancel a submitted one", submitted, func(b *Board) error { _, err := b.Cancel(ctx, "t_1", "", false); return err },
			oneOf("t_1", StateCompleted, StateCancelled)}, // the checks before decide what is not cancelled
		{"edit", tasks, func(b *Board) error { _, err := b.Edit(ctx, "t_1", Edit{Subject: ptr("changed")}); return err },
			func(t testing.TB, b *Board, done bool) {
				if v := wantState(t, b, "t_1", StateReady); done && v.Subject != "changed" {
					t.Errorf("%+v", v)
				}
				claimableAgain(t, b, "t_1")
			}},
		{"reassign", claimed, func(b *Board) error { _, err := b.Edit(ctx, "t_1", Edit{Assignee: ptr("bob")}); return err }, oneOf("t_1", StateClaimed, StateReady)},
		{"reopen", completed, func(b *Board) error { _, err := b.Reopen(ctx, "t_1"); return err },
			func(t testing.TB, b *Board, done bool) {
				oneOf("t_1", StateCompleted, StateReady)(t, b, done)
				oneOf("t_2", StateReady, StateBlocked)(t, b, done)
				claimableAgain(t, b, "t_1")
				claimableAgain(t, b, "t_2")
			}},
		{"collect", func(t testing.TB, b *Board) {
			completed(t, b)
			if _, err := b.Cancel(ctx, "t_2", "", false); err != nil {
				t.Fatal(err)
			}
		}, func(b *Board) error { _, err := b.Collect(ctx, -time.Hour, false); return err },
			func(t testing.TB, b *Board, done bool) {
				v := wantState(t, b, "t_1", StateCompleted)
				w := wantState(t, b, "t_2", StateCancelled)
				if v.Archived != w.Archived || done && !v.Archived {
					t.Errorf("%v and %v; done: %v", v.Archived, w.Archived, done)
				}
				if v := mustAdd(t, b, NewTask{Subject: "next", DependsOn: []string{"t_1"}})[0]; v.ID != "t_4" || v.State != StateReady {
					t.Errorf("%+v", v)
				}
			}},
		{"bring back", func(t testing.TB, b *Board) {
			completed(t, b)
			if _, err := b.Cancel(ctx, "t_2", "", false); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Collect(ctx, -time.Hour, false); err != nil {
				t.Fatal(err)
			}
		}, func(b *Board) error { _, err := b.Reopen(ctx, "t_1"); return err },
			func(t testing.TB, b *Board, done bool) {
				oneOf("t_1", StateCompleted, StateReady)(t, b, done)
				claimableAgain(t, b, "t_1")
			}},
		{"import", func(t testing.TB, b *Board) {
			tasks(t, b)
			exported.Reset()
			if err := b.Export(&exported); err != nil {
				t.Fatal(err)
			}
		}, func(b *Board) error {
			text := strings.NewReplacer(`"subject":"3"`, `"subject":"three"`, `"updatedAt":`, `"updatedAt":9`).Replace(exported.String())
			_, err := b.Import(ctx, strings.NewReader(text), true)
			return err
		}, func(t testing.TB, b *Board, done bool) {
			v := wantState(t, b, "t_3", StateReady)
			if v.Subject != "three" && (done || v.Subject != "3") || (v.Epoch == 1) != (v.Subject == "three") {
				t.Errorf("%+v", v)
			}
			claimableAgain(t, b, "t_3")
		}},
		{"repair", func(t testing.TB, b *Board) {
			claimed(t, b)
			writeFile(t, b.Path(), []byte("broken"))
		}, func(b *Board) error { _, err := b.Repair(ctx); return err },
			func(t testing.TB, b *Board, done bool) {
				wantState(t, b, "t_1", StateClaimed)
				claimableAgain(t, b, "t_3")
			}},
		{"adopt", func(t testing.TB, b *Board) {
			writeFile(t, b.Path(), []byte(`{"tasks":{"t_1":{"id":"t_1","subject":"1","dependsOn":[],"status":"pending","createdAt":1,"updatedAt":1}}}`))
		}, func(b *Board) error { _, err := b.Fold(ctx, true); return err }, oneOf("t_1", StateReady, StateReady)},
	}
}

var errDead = errors.New("the process is dead")

// TestCrashes lets every verb die before each of its system calls: that call
// and all behind it are not made. Another process then finds a board that is
// whole, on which everything that was told is true and every verb works.
func TestCrashes(t *testing.T) {
	ctx := context.Background()
	for _, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			isLive := false
			boards := newCopies(t, Options{Gates: passing()}, func(b *Board) {
				if err := os.MkdirAll(b.o.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				c.build(t, b)
			})
			for n := int64(1); ; n += stride {
				b, _ := boards.next(t, Options{Gates: passing(), HarnessLive: func() bool { return isLive }})
				var calls atomic.Int64
				var last atomic.Value
				restore := fsx.SetFault(func(op fsx.Op, path string) error {
					switch i := calls.Add(1); {
					case i < n:
						return nil
					case i == n:
						last.Store(fmt.Sprint(op, " ", path[strings.LastIndexByte(path, '/')+1:]))
					}
					return errDead
				})
				err := c.act(b)
				restore()
				alive := calls.Load() < n
				if alive && err != nil {
					t.Fatalf("alive: %v", err)
				}
				if err != nil && !errors.Is(err, errDead) {
					t.Errorf("call %d, %v: the error is %v", n, last.Load(), err)
				}
				b = again(t, b)
				if broken, _ := b.load(); c.name == "repair" && broken == nil {
					if _, err := b.Repair(ctx); err != nil {
						t.Fatalf("call %d, %v: repair: %v", n, last.Load(), err)
					}
				}
				wantWhole(t, b)
				if there, err := b.Exists(); err != nil {
					t.Errorf("call %d, %v: %v", n, last.Load(), err)
				} else if there {
					mustFold(t, b)
					ids, err := b.Waiting()
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range ids {
						if _, err := b.Decide(ctx, id); err != nil {
							t.Error(err)
						}
					}
				}
				c.check(t, b, err == nil)
				wantSound(t, b)
				if t.Failed() {
					t.Fatalf("at call %d, %v; the verb said %v", n, last.Load(), err)
				}
				if alive {
					t.Logf("%d calls", n-1)
					break
				}
			}
		})
	}
}

// wantWhole checks that nothing is half-visible: no error is found, and the
// files of the board parse.
func wantWhole(t testing.TB, b *Board) {
	t.Helper()
	findings, err := b.Check()
	if err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		if f.Severity == SeverityError || f.Code == "torn_line" {
			t.Errorf("finding %s: %s: %s", f.Code, f.Path, f.Message)
		}
	}
}

// TestFaults makes one system call of every verb fail: the verb says so with
// the path and the reason or does without it, what was there is intact, and
// the next try works.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EXDEV, syscall.EINTR} {
		for _, c := range crashCases() {
			if !*long && errno == syscall.EXDEV && c.name != "claim" && c.name != "fold" && c.name != "add" && c.name != "submit" {
				continue
			}
			t.Run(fmt.Sprint(errno.Error(), " ", c.name), func(t *testing.T) {
				boards := newCopies(t, Options{Gates: passing()}, func(b *Board) {
					if err := os.MkdirAll(b.o.Dir, 0o700); err != nil {
						t.Fatal(err)
					}
					c.build(t, b)
				})
				for n := int64(1); ; n += stride {
					b, _ := boards.next(t, Options{Gates: passing()})
					var calls atomic.Int64
					var last string
					restore := fsx.SetFault(func(op fsx.Op, path string) error {
						if calls.Add(1) == n {
							last = fmt.Sprint(op, " ", path[strings.LastIndexByte(path, '/')+1:])
							return errno
						}
						return nil
					})
					err := c.act(b)
					restore()
					met := calls.Load() >= n
					switch {
					case err == nil:
					case errno == syscall.EINTR:
						t.Errorf("call %d, %s: an interrupted call failed: %v", n, last, err)
					case !errors.Is(err, errno):
						t.Errorf("call %d, %s: the error is %v", n, last, err)
					default:
						wantPath(t, b, err)
					}
					if c.name != "repair" || err == nil {
						wantWhole(t, b)
					}
					// The same process tries again: nothing that it keeps in memory
					// is ahead of the disk.
					second := c.act(b)
					switch errs.CodeOf(second) {
					case "", errs.AlreadyHolding, errs.NotHolder, errs.TaskEnded, errs.Conflict, errs.StaleClaim:
					default:
						t.Errorf("call %d, %s: then %v", n, last, second)
					}
					mustFold(t, b)
					ids, _ := b.Waiting()
					for _, id := range ids {
						if _, err := b.Decide(ctx, id); err != nil {
							t.Error(err)
						}
					}
					if second == nil && !strings.Contains(c.name, "add") {
						c.check(t, b, true)
					}
					wantSound(t, b)
					if t.Failed() {
						t.Fatalf("at call %d, %s; the verb said %v, then %v", n, last, err, second)
					}
					if !met {
						break
					}
				}
			})
		}
	}
}
