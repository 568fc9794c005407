package inbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestMoves(t *testing.T) {
	b := newBox(t)
	publish(t, b, "a", "b", "c")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	do(b.Mark("b"))
	do(b.Mark("b"))
	want(t, b, "a c", "b")
	if there, read, err := b.Has("b"); !there || !read || err != nil {
		t.Errorf("Has: %v %v %v", there, read, err)
	}
	if m, err := b.Get("b"); err != nil || !m.Read || string(m.Body) != "b" {
		t.Errorf("Get: %v %v", m, err)
	}
	do(b.Unread("b"))
	do(b.Unread("b"))
	want(t, b, "a b c", "")
	for id, want := range map[string]bool{"b": true, "nobody": false} {
		if ok, err := b.Withdraw(id); ok != want || err != nil {
			t.Errorf("Withdraw %s: %v %v", id, ok, err)
		}
	}
	for id, want := range map[string]bool{"a": true, "nobody": false} {
		if ok, err := b.TryMark(id); ok != want || err != nil {
			t.Errorf("TryMark %s: %v %v", id, ok, err)
		}
	}
	if ok, err := b.TryMark("a"); ok || err != nil {
		t.Errorf("TryMark again: %v %v", ok, err)
	}
	if ok, err := b.Withdraw("a"); ok || err != nil {
		t.Errorf("Withdraw of a read one: %v %v", ok, err)
	}
	want(t, b, "c", "a")
	for _, err := range []error{b.Mark("x"), b.Unread("x"), func() error { _, err := b.Get("x"); return err }(),
		func() error {
			_, err := b.ReceiveID("x", Receiving{Show: func(*Message) error { return nil }})
			return err
		}()} {
		if errs.CodeOf(err) != errs.NotFound {
			t.Errorf("unknown id: %v", err)
		}
	}
	if there, _, err := b.Has("x"); there || err != nil {
		t.Errorf("Has: %v %v", there, err)
	}
}

// TestTwoNames: a file system without RENAME_NOREPLACE, or a person, may leave
// a message in both directories. It is shown once more, and nothing is lost.
func TestTwoNames(t *testing.T) {
	b := newBox(t)
	publish(t, b, "a", "b", "c")
	if err := os.Link(b.file("a", false), b.file("a", true)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.file("b", true), []byte("another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, problems, err := b.List(true)
	if len(list) != 3 || err != nil {
		t.Errorf("list: %v %v", list, err)
	}
	wantNone(t, problems)
	if err := b.Unread("b"); err != nil {
		t.Error(err)
	}
	want(t, b, "a b c", "a b")
	ids, problems := receive(t, b, Receiving{})
	wantIDs(t, ids, "a", "b", "c")
	wantNone(t, problems)
	ids, err = b.IDs(true)
	if err != nil || len(ids) != 4 || ids[0] != "a" || ids[1] != "b" || !strings.HasPrefix(ids[2], "b-") || ids[3] != "c" {
		t.Errorf("read: %q %v", ids, err)
	}
	want(t, b, "", strings.Join(ids, " "))
	ids, _ = receive(t, b, Receiving{})
	wantIDs(t, ids)
}

// TestWithoutNoReplace runs everything that moves as on a file system that
// cannot rename without replacing.
func TestWithoutNoReplace(t *testing.T) {
	b := newBox(t)
	fallbacks := 0
	defer fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpRename && strings.HasPrefix(path, b.dir) {
			if _, err := os.Lstat(path); err == nil { // the source
				fallbacks++
				return syscall.EINVAL
			}
		}
		return nil
	})()
	publish(t, b, "a", "b", "c", "d")
	if err := errors.Join(b.Mark("a"), b.Mark("b"), b.Unread("b"), b.Unread("b"), b.Mark("a")); err != nil {
		t.Error(err)
	}
	if ok, err := b.TryMark("d"); !ok || err != nil {
		t.Errorf("TryMark: %v %v", ok, err)
	}
	want(t, b, "b c", "a d")
	if err := os.WriteFile(b.file("c", true), []byte("another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	ids, problems := receive(t, b, Receiving{})
	wantIDs(t, ids, "b", "c")
	wantNone(t, problems)
	if ids, err := b.IDs(true); len(ids) != 5 || err != nil {
		t.Errorf("read: %q %v", ids, err)
	}
	if fallbacks == 0 {
		t.Error("the fallback was not used")
	}
}

// TestListWhileMoved: a message that changes sides at any step of a listing of
// both is in it, once.
func TestListWhileMoved(t *testing.T) {
	for _, read := range []bool{false, true} {
		for n := 1; ; n++ {
			b := newBox(t)
			put(t, b, read, "m")
			move := b.Mark
			if read {
				move = b.Unread
			}
			var list []*Message
			more := step(n, func() {
				var problems []error
				var err error
				if list, problems, err = b.List(true); err != nil {
					t.Error(err)
				}
				wantNone(t, problems)
			}, func() {
				if err := move("m"); err != nil {
					t.Error(err)
				}
			})
			if len(list) != 1 || list[0].ID != "m" {
				t.Errorf("read %v, step %d: %v", read, n, list)
			}
			if !more {
				break
			}
		}
	}
}

// TestCoalesce: a newer message takes the place of the older ones of its kind,
// unless somebody is showing them.
func TestCoalesce(t *testing.T) {
	b := newBox(t)
	about := func(task string) func(*Message) bool {
		return func(m *Message) bool { return m.Task == task }
	}
	for _, id := range []string{"1-a", "2-b", "3-a", "4-a", "5-a"} {
		m := message(id, "harness", id)
		m.Task = id[2:]
		if err := b.Publish(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(b.file("0", false), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, ok, err := fsx.LockFile(b.file("3-a", false))
	if !ok || err != nil {
		t.Fatal(err)
	}
	if err := b.Coalesce("4-a", about("a")); err != nil {
		t.Error(err)
	}
	want(t, b, "0 2-b 3-a 4-a 5-a", "1-a")
	lock.Unlock()
	if err := b.Coalesce("4-a", about("a")); err != nil {
		t.Error(err)
	}
	want(t, b, "0 2-b 4-a 5-a", "1-a 3-a")
	// Another one that is published and coalesced at any step.
	for n := 1; ; n++ {
		b := newBox(t)
		put(t, b, false, "1", "2")
		coalesce := func(id string) {
			if err := b.Coalesce(id, about("")); err != nil {
				t.Error(err)
			}
		}
		more := step(n, func() { coalesce("2") }, func() { put(t, b, false, "3"); coalesce("3") })
		if more {
			want(t, b, "3", "1 2")
		} else {
			want(t, b, "2", "1")
			break
		}
		os.RemoveAll(b.root)
	}
	// The older of two comes last.
	b = newBox(t)
	put(t, b, false, "1", "2")
	if err := errors.Join(b.Coalesce("2", about("")), b.Coalesce("1", about(""))); err != nil {
		t.Error(err)
	}
	want(t, b, "2", "1")
}
