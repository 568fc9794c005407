package inbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/fsx"
)

// places tells where a message lies.
func places(t testing.TB, b *Box, id string) (unread, read bool) {
	t.Helper()
	for i, there := range []*bool{&unread, &read} {
		if _, err := os.Lstat(b.file(id, i == 1)); err == nil {
			*there = true
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return unread, read
}

// harmless are the calls whose failure changes nothing for the caller: what is
// left over is skipped by every reader.
func harmless(what, call string) bool {
	return strings.HasPrefix(call, "unlink .")
}

// TestFaults lets every system call of every operation fail in turn: the error
// has the path, the message is whole and in one place, nothing half-visible is
// left, and the operation works once the fault is gone.
func TestFaults(t *testing.T) {
	impatient(t)
	for _, what := range []string{"publish", "once", "mark", "unread", "trymark", "withdraw", "receive", "receiveall"} {
		faults := []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES}
		for i := range faults {
			if i > 0 && !*long {
				break
			}
			for n := 1; ; n++ {
				fault := faults[(i+n)%len(faults)]
				b := newBox(t)
				fresh := what == "publish" || what == "once"
				if !fresh {
					put(t, b, what == "unread", "m")
				}
				var err error
				call := failing(n, fault, func() { err = operation(b, what, "m") })
				if call == "" {
					if err != nil {
						t.Errorf("%s without a fault: %v", what, err)
					}
					if n < 3 {
						t.Errorf("%s has %d calls only", what, n-1)
					}
					break
				}
				if err == nil && !harmless(what, call) {
					t.Errorf("%s, %v at %s: no error", what, fault, call)
				}
				if err != nil && (!errors.Is(err, fault) || !strings.Contains(err.Error(), b.root)) {
					t.Errorf("%s, %v at %s: %v", what, fault, call, err)
				}
				for _, name := range names(t, b) {
					if name != "new/m.md" && name != "cur/m.md" && !fsx.IsTemp(name[4:]) {
						t.Errorf("%s, %v at %s: left %s", what, fault, call, name)
					}
				}
				unread, read := places(t, b, "m")
				switch {
				case unread && read:
					t.Errorf("%s, %v at %s: two of them", what, fault, call)
				case !unread && !read && !fresh && what != "withdraw":
					t.Errorf("%s, %v at %s: lost", what, fault, call)
				case unread && what == "publish" && err != nil && !errors.Is(err, fsx.ErrUncertain):
					t.Errorf("%s, %v at %s: it is there, but: %v", what, fault, call, err)
				}
				if unread || read {
					if m, err := b.Get("m"); err != nil || len(m.Body) == 0 || m.Size != int64(len(m.Body)) {
						t.Errorf("%s, %v at %s: %v %v", what, fault, call, m, err)
					}
				}
				if what == "publish" && unread || what == "withdraw" && !unread {
					continue
				}
				if err := operation(b, what, "m"); err != nil {
					t.Errorf("%s, after %v at %s: %v", what, fault, call, err)
				}
				unread, read = places(t, b, "m")
				if unread != (fresh || what == "unread") || read != !(fresh || what == "unread" || what == "withdraw") {
					t.Errorf("%s, after %v at %s: unread %v, read %v", what, fault, call, unread, read)
				}
			}
		}
	}
}

// TestKilled kills every operation before each of its system calls: nothing
// half-visible is left, no message is lost, and the operation works afterwards.
func TestKilled(t *testing.T) {
	for _, what := range []string{"publish", "mark", "unread", "trymark", "withdraw"} {
		for n := 1; ; n++ {
			b := newBox(t)
			if what != "publish" {
				put(t, b, what == "unread", "m")
			}
			_, ok := killed(t, b, n, what, "m")
			unread, read := places(t, b, "m")
			if unread && read || !unread && !read && what != "publish" && what != "withdraw" {
				t.Errorf("%s, step %d: unread %v, read %v", what, n, unread, read)
			}
			if unread || read {
				if m, err := b.Get("m"); err != nil || len(m.Body) == 0 {
					t.Errorf("%s, step %d: %v %v", what, n, m, err)
				}
			}
			list, problems, err := b.List(true)
			if len(list) > 1 || err != nil {
				t.Errorf("%s, step %d: %v %v", what, n, list, err)
			}
			wantNone(t, problems)
			if !ok {
				break
			}
			if what == "publish" && !unread || what != "publish" && (unread || read) {
				if err := operation(b, what, "m"); err != nil {
					t.Errorf("%s, after step %d: %v", what, n, err)
				}
			}
		}
	}
}

// TestOnceFsyncsWhatItFinds: a message whose sender died between its link and
// the fsync of the directory is made durable before its key says done.
func TestOnceFsyncsWhatItFinds(t *testing.T) {
	b := newBox(t)
	for n := 1; ; n++ {
		os.RemoveAll(noticed(b))
		os.Remove(b.file("m", false))
		if _, ok := killed(t, b, n, "once", "m"); !ok {
			t.Fatal("no step was between link and done")
		}
		unread, _ := places(t, b, "m")
		if k, err := readKey(noticed(b) + "/key"); err != nil || k.Done || !unread {
			continue
		}
		break
	}
	var order []string
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpFsyncDir || o == fsx.OpRename {
			order = append(order, string(o)+" "+strings.TrimPrefix(path, b.root+"/"))
		}
		return nil
	})
	defer restore()
	if err := operation(b, "once", "m"); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, order, "fsyncdir noticed", "fsyncdir teammate/s/ann/inbox/new", "rename noticed/key", "fsyncdir noticed")
}

// TestOrderOfFsyncs: after a move the side where the message is now is made
// durable first.
func TestOrderOfFsyncs(t *testing.T) {
	b := newBox(t)
	publish(t, b, "m", "n")
	if err := b.Mark("n"); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{"mark": "cur new", "unread": "new cur", "trymark": "cur new", "receive": "cur new", "receiveall": "cur new"} {
		id := "m"
		if what == "unread" {
			id = "n"
		} else if err := b.Unread("m"); err != nil {
			t.Fatal(err)
		}
		var order []string
		restore := fsx.SetFault(func(o fsx.Op, path string) error {
			if o == fsx.OpFsyncDir {
				order = append(order, path[len(path)-3:])
			}
			return nil
		})
		err := operation(b, what, id)
		restore()
		if got := strings.Join(order, " "); got != want || err != nil {
			t.Errorf("%s: %s, want %s (%v)", what, got, want, err)
		}
	}
	// One that somebody else has just moved is made durable too.
	fsyncs := 0
	defer fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpFsyncDir {
			fsyncs++
		}
		return nil
	})()
	if err := b.Mark("m"); err != nil || fsyncs != 2 {
		t.Errorf("%d fsyncs, %v", fsyncs, err)
	}
}
