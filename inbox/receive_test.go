package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestReceive(t *testing.T) {
	b := newBox(t)
	ids, problems := receive(t, b, Receiving{})
	wantIDs(t, ids)
	wantNone(t, problems)
	publish(t, b, "1", "2", "3", "4", "5")
	ids, _ = receive(t, b, Receiving{Max: 2})
	wantIDs(t, ids, "1", "2")
	want(t, b, "3 4 5", "1 2")
	ids, _ = receive(t, b, Receiving{Keep: true, Max: 2})
	wantIDs(t, ids, "3", "4")
	ids, _ = receive(t, b, Receiving{Accept: func(m *Message) (bool, error) {
		if string(m.Body) != m.ID {
			t.Errorf("Accept got the body %q of %s", m.Body, m.ID)
		}
		if m.ID == "3" {
			return false, b.Mark(m.ID) // as one that is for another life
		}
		return m.ID != "4", nil
	}})
	wantIDs(t, ids, "5")
	want(t, b, "4", "1 2 3 5")
	bad := errors.New("bad")
	ids, problems = receive(t, b, Receiving{Accept: func(*Message) (bool, error) { return true, bad }})
	wantIDs(t, ids)
	if len(problems) != 1 || !errors.Is(problems[0], bad) {
		t.Errorf("problems: %v", problems)
	}
	want(t, b, "4", "1 2 3 5")
}

// TestShowFails: what could not be shown stays unread, and nothing after it is
// touched.
func TestShowFails(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2", "3")
	pipe := errors.New("broken pipe")
	n, problems, err := b.Receive(Receiving{Show: func(m *Message) error {
		if m.ID == "2" {
			return pipe
		}
		return nil
	}})
	if n != 1 || len(problems) > 0 || !errors.Is(err, pipe) {
		t.Errorf("%d %v %v", n, problems, err)
	}
	want(t, b, "2 3", "1")
	n, _, err = b.ReceiveAll(Receiving{}, func([]*Message) error { return pipe })
	if n != 0 || !errors.Is(err, pipe) {
		t.Errorf("all: %d %v", n, err)
	}
	if ok, err := b.ReceiveID("3", Receiving{Show: func(*Message) error { return pipe }}); ok || !errors.Is(err, pipe) {
		t.Errorf("one: %v %v", ok, err)
	}
	want(t, b, "2 3", "1")
	ids, _ := receive(t, b, Receiving{})
	wantIDs(t, ids, "2", "3")
}

func TestReceiveAll(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2", "3", "4")
	drop(t, b, "5.md", "no header")
	if err := os.Mkdir(b.file("0", false), 0o700); err != nil {
		t.Fatal(err)
	}
	all := func(r Receiving, wanted ...string) {
		t.Helper()
		var ids []string
		n, problems, err := b.ReceiveAll(r, func(list []*Message) error {
			for _, m := range list {
				ids = append(ids, m.ID)
				// Nobody else gets one of them meanwhile.
				if lock, ok, err := fsx.LockFile(b.file(m.ID, false)); ok && !r.Keep || err != nil {
					t.Errorf("%s is not locked: %v", m.ID, err)
				} else if ok {
					lock.Unlock()
				}
			}
			return nil
		})
		if n != len(wanted) || err != nil || len(problems) != 1 || !errors.Is(problems[0], fsx.ErrIrregular) {
			t.Errorf("%d %v %v", n, problems, err)
		}
		wantIDs(t, ids, wanted...)
	}
	all(Receiving{Keep: true}, "1", "2", "3", "4", "5")
	all(Receiving{Max: 1, Accept: func(m *Message) (bool, error) { return m.ID != "1", nil }}, "2")
	all(Receiving{}, "1", "3", "4", "5")
	n, _, err := b.ReceiveAll(Receiving{}, func([]*Message) error { t.Error("shown"); return nil })
	if n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	want(t, b, "0", "1 2 3 4 5")
}

// TestReceiveAllIsBounded: the bodies that are held at once have a limit.
func TestReceiveAllIsBounded(t *testing.T) {
	old := batchBytes
	defer func() { batchBytes = old }()
	batchBytes = 1 << 20
	b := newBox(t)
	for i, size := range []int{300 << 10, 300 << 10, 600 << 10, 1, 2 << 20, 1} {
		if err := b.Publish(message(fmt.Sprint(i), "bob", pattern(size))); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 2, 1, 0} {
		n, problems, err := b.ReceiveAll(Receiving{}, func(list []*Message) error { return nil })
		if n != want || err != nil {
			t.Errorf("%d, want %d: %v", n, want, err)
		}
		wantNone(t, problems)
	}
}

// TestReceiveAllMaxBytes: no more than the caller wants, but for one message.
func TestReceiveAllMaxBytes(t *testing.T) {
	b := newBox(t)
	for i, size := range []int{300, 300, 400, 1, 2000, 1, 2000} {
		if err := b.Publish(message(fmt.Sprint(i), "bob", pattern(size))); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range [][]string{{"0", "1", "2"}, {"3"}, {"4"}, {"5"}, {"6"}, nil} {
		var ids []string
		n, problems, err := b.ReceiveAll(Receiving{MaxBytes: 1000}, func(list []*Message) error {
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			return nil
		})
		if n != len(want) || err != nil {
			t.Errorf("%d, want %d: %v", n, len(want), err)
		}
		wantNone(t, problems)
		wantIDs(t, ids, want...)
	}
}

// TestReceiveAllFewFiles: no more is taken at once than may be open.
func TestReceiveAllFewFiles(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2", "3", "4", "5")
	taken := 0
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpFlock {
			if taken++; taken > 2 {
				return syscall.EMFILE
			}
		}
		return nil
	})
	defer restore()
	for _, want := range []int{2, 2, 1} {
		taken = 0
		n, problems, err := b.ReceiveAll(Receiving{}, func(list []*Message) error { return nil })
		if n != want || err != nil {
			t.Errorf("%d, want %d: %v", n, want, err)
		}
		wantNone(t, problems)
	}
	publish(t, b, "6")
	taken = 2
	n, problems, err := b.ReceiveAll(Receiving{}, func(list []*Message) error { return nil })
	if n != 0 || err != nil || len(problems) != 1 || !errors.Is(problems[0], syscall.EMFILE) {
		t.Errorf("none to be had: %d %v %v", n, problems, err)
	}
}

func TestReceiveID(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2", "3")
	one := func(id string, r Receiving) (bool, error) {
		r.Show = func(m *Message) error {
			if m.ID != id || string(m.Body) != id {
				t.Errorf("shown: %v", m)
			}
			return nil
		}
		return b.ReceiveID(id, r)
	}
	for _, c := range []struct {
		id   string
		r    Receiving
		want bool
	}{
		{"2", Receiving{Keep: true}, true},
		{"2", Receiving{Accept: func(*Message) (bool, error) { return false, nil }}, false},
		{"2", Receiving{}, true},
		{"2", Receiving{}, true}, // it is read
		{"2", Receiving{Accept: func(*Message) (bool, error) { return false, nil }}, false},
		{"3", Receiving{Accept: func(m *Message) (bool, error) { return false, b.Mark(m.ID) }}, false},
	} {
		if ok, err := one(c.id, c.r); ok != c.want || err != nil {
			t.Errorf("%+v: %v %v", c, ok, err)
		}
	}
	want(t, b, "1", "2 3")
	lock, ok, err := fsx.LockFile(b.file("1", false))
	if !ok || err != nil {
		t.Fatal(err)
	}
	if ok, err := one("1", Receiving{}); ok || errs.CodeOf(err) != errs.Busy {
		t.Errorf("locked: %v %v", ok, err)
	}
	if ok, err := one("1", Receiving{Keep: true}); !ok || err != nil {
		t.Errorf("locked, looking: %v %v", ok, err)
	}
	lock.Unlock()
	if ok, err := one("1", Receiving{}); !ok || err != nil {
		t.Errorf("free again: %v %v", ok, err)
	}
}

// TestShownByOne: while one process shows a message no other does; when it is
// killed before the mark, the next one shows the same message.
func TestShownByOne(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2")
	p := start(t, "hang", b.root)
	if id := p.line(t); id != "1" {
		t.Fatalf("it shows %s", id)
	}
	var busy []string
	ids, problems := receive(t, b, Receiving{Max: 5, Busy: func(id string) { busy = append(busy, id) }})
	wantIDs(t, ids, "2")
	wantNone(t, problems)
	wantIDs(t, busy, "1")
	ids, problems = receive(t, b, Receiving{})
	wantIDs(t, ids)
	wantNone(t, problems)
	if ok, err := b.Withdraw("1"); ok || err != nil {
		t.Errorf("withdrawn while it is shown: %v", err)
	}
	if ok, err := b.TryMark("1"); ok || err != nil {
		t.Errorf("marked while it is shown: %v", err)
	}
	ids, _ = receive(t, b, Receiving{Keep: true}) // a look is nobody's business
	wantIDs(t, ids, "1")
	want(t, b, "1", "2")

	p.Process.Kill()
	p.Wait()
	ids, problems = receive(t, b, Receiving{})
	wantIDs(t, ids, "1")
	wantNone(t, problems)
	want(t, b, "", "1 2")
}

// TestMarkedWhileShown: Mark by somebody else is no error to the receiver, and
// Unread after it gives nobody the message twice at a time.
func TestMarkedWhileShown(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1")
	n, problems, err := b.Receive(Receiving{Show: func(m *Message) error {
		if err := errors.Join(b.Mark(m.ID), b.Unread(m.ID)); err != nil {
			t.Error(err)
		}
		ids, _ := receive(t, b, Receiving{})
		wantIDs(t, ids)
		return b.Mark(m.ID)
	}})
	if n != 1 || len(problems) > 0 || err != nil {
		t.Errorf("%d %v %v", n, problems, err)
	}
	want(t, b, "", "1")
}

// TestReceiveKilled kills a receiver at every step: the message is shown at
// least once, and in the end read, in one place.
func TestReceiveKilled(t *testing.T) {
	for _, what := range []string{"receive", "receiveall"} {
		for n := 1; ; n++ {
			b := newBox(t)
			put(t, b, false, "m")
			shown, ok := killed(t, b, n, what, "")
			again, problems := receive(t, b, Receiving{})
			wantNone(t, problems)
			if len(shown)+len(again) == 0 || ok && len(shown) > 1 {
				t.Errorf("step %d: shown %q, then %q", n, shown, again)
			}
			want(t, b, "", "m")
			if !ok {
				wantIDs(t, again)
				break
			}
		}
	}
}

// TestWithdrawAgainstReceive runs each at every step of the other: a message is
// withdrawn or shown, never both, and never neither.
func TestWithdrawAgainstReceive(t *testing.T) {
	b := newBox(t)
	for _, rounds := range []struct {
		name string
		run  func(n int) (shown []string, withdrawn bool, more bool)
	}{
		{"withdraw while receiving", func(n int) (shown []string, withdrawn bool, more bool) {
			more = step(n, func() { shown, _ = receive(t, b, Receiving{}) }, func() {
				var err error
				if withdrawn, err = b.Withdraw("m"); err != nil {
					t.Error(err)
				}
			})
			return
		}},
		{"receive while withdrawing", func(n int) (shown []string, withdrawn bool, more bool) {
			more = step(n, func() {
				var err error
				if withdrawn, err = b.Withdraw("m"); err != nil {
					t.Error(err)
				}
			}, func() { shown, _ = receive(t, b, Receiving{}) })
			return
		}},
		{"mark while withdrawing", func(n int) (shown []string, withdrawn bool, more bool) {
			more = step(n, func() {
				var err error
				if withdrawn, err = b.Withdraw("m"); err != nil {
					t.Error(err)
				}
			}, func() {
				if err := b.Mark("m"); err == nil {
					shown = []string{"m"}
				} else if errs.CodeOf(err) != errs.NotFound {
					t.Error(err)
				}
			})
			return
		}},
	} {
		for n := 1; ; n++ {
			put(t, b, false, "m")
			shown, withdrawn, more := rounds.run(n)
			if withdrawn == (len(shown) == 1) || len(shown) > 1 {
				t.Errorf("%s, step %d: withdrawn %v, shown %q", rounds.name, n, withdrawn, shown)
			}
			if withdrawn {
				want(t, b, "", "")
			} else {
				want(t, b, "", "m")
			}
			os.Remove(b.file("m", true))
			if !more {
				break
			}
		}
	}
}

// TestReceiveAgainstReceive runs a second receiver at every step of the first.
func TestReceiveAgainstReceive(t *testing.T) {
	for n := 1; ; n++ {
		b := newBox(t)
		put(t, b, false, "1", "2", "3")
		var first, second []string
		more := step(n, func() { first, _ = receive(t, b, Receiving{}) }, func() { second, _ = receive(t, b, Receiving{}) })
		if all := slices.Sorted(slices.Values(append(slices.Clone(first), second...))); !slices.Equal(all, []string{"1", "2", "3"}) {
			t.Errorf("step %d: %q and %q", n, first, second)
		}
		want(t, b, "", "1 2 3")
		if !more {
			break
		}
	}
}

// TestOrderOfSender: a look that finds a message and misses the one before it,
// which was published meanwhile, is followed by another look.
func TestOrderOfSender(t *testing.T) {
	b := newBox(t)
	one, two, other := "20261130T130501.000001Z-bob-000000", "20261130T130501.000002Z-bob-000000", "20261130T130501.000001Z-cy-000000"
	publish(t, b, two)
	// What the first look sees is two alone; one comes before the second look,
	// as one that the first look was past of.
	opens := 0
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpOpen && path == b.sub(false) {
			if opens++; opens == 2 {
				os.WriteFile(b.file(one, false), nil, 0o600)
				os.WriteFile(b.file(other, false), nil, 0o600)
			}
		}
		return nil
	})
	ids, _ := receive(t, b, Receiving{})
	restore()
	wantIDs(t, ids, one, two)
	// It is not shown: one of its own sender might have been missed.
	want(t, b, other, one+" "+two)
}

// TestNoneIsLookedForTwice: a first look that misses everything is not taken
// for an empty mailbox.
func TestNoneIsLookedForTwice(t *testing.T) {
	b := newBox(t)
	publish(t, b, "m")
	if err := os.Rename(b.file("m", false), b.root+"/m"); err != nil {
		t.Fatal(err)
	}
	looks := 0
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpOpen && path == b.sub(false) {
			if looks++; looks == 2 {
				os.Rename(b.root+"/m", b.file("m", false))
			}
		}
		return nil
	})
	defer restore()
	ids, _ := receive(t, b, Receiving{})
	wantIDs(t, ids, "m")
}

// TestMarkFails: a message that was shown and could not be marked counts as
// shown, and the error says so.
func TestMarkFails(t *testing.T) {
	b := newBox(t)
	publish(t, b, "1", "2")
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpRename {
			return fs.ErrPermission
		}
		return nil
	})
	n, problems, err := b.Receive(Receiving{Show: func(*Message) error { return nil }})
	if n != 1 || len(problems) > 0 || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "was shown") {
		t.Errorf("%d %v %v", n, problems, err)
	}
	n, _, err = b.ReceiveAll(Receiving{}, func([]*Message) error { return nil })
	if n != 2 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("all: %d %v", n, err)
	}
	restore()
	want(t, b, "1 2", "")
}
