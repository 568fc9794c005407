package inbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestPublishNeverReplaces(t *testing.T) {
	b := newBox(t)
	publish(t, b, "m")
	before, err := os.ReadFile(b.file("m", false))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(message("m", "eve", "other")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
	after, err := os.ReadFile(b.file("m", false))
	if err != nil || string(after) != string(before) {
		t.Errorf("it was changed: %q %v", after, err)
	}
	if all := names(t, b); len(all) != 1 {
		t.Errorf("left: %q", all)
	}
}

func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for _, mask := range []int{0, 0o777} {
		dir := t.TempDir()
		syscall.Umask(mask)
		b := at(dir)
		if err := b.Create(); err != nil {
			t.Fatal(err)
		}
		publish(t, b, "m")
		for path, want := range map[string]fs.FileMode{b.file("m", false): 0o600, b.sub(false): 0o700, b.sub(true): 0o700, filepath.Join(b.dir, "tmp"): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s is %v, %v", mask, path, info.Mode(), err)
			}
		}
	}
}

// TestHostileIDs: an id is used as a file's name by everything.
func TestHostileIDs(t *testing.T) {
	b := newBox(t)
	outside := filepath.Join(b.dir, "x.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b", ".x", "/etc/passwd", "a\x00b", "a b", "ü", "a\n", strings.Repeat("x", 201), "a*", "a;b"} {
		for name, f := range map[string]func() error{
			"Publish":   func() error { return b.Publish(message(id, "bob", "x")) },
			"Mark":      func() error { return b.Mark(id) },
			"Unread":    func() error { return b.Unread(id) },
			"TryMark":   func() error { _, err := b.TryMark(id); return err },
			"Withdraw":  func() error { _, err := b.Withdraw(id); return err },
			"Has":       func() error { _, _, err := b.Has(id); return err },
			"Get":       func() error { _, err := b.Get(id); return err },
			"Peek":      func() error { _, err := b.Peek(id, false); return err },
			"ReceiveID": func() error { _, err := b.ReceiveID(id, Receiving{}); return err },
			"PublishOnce": func() error {
				_, _, err := b.PublishOnce(filepath.Join(b.root, "noticed"), "k", message(id, "bob", "x"))
				return err
			},
		} {
			if err := f(); errs.CodeOf(err) != errs.Usage {
				t.Errorf("%s(%q): %v", name, id, err)
			}
		}
	}
	for _, key := range []string{"", ".", "..", ".k", "a/b", "../k", "a b", "a\x00", strings.Repeat("k", 201)} {
		if _, _, err := b.PublishOnce(filepath.Join(b.root, "noticed"), key, message("m", "bob", "x")); errs.CodeOf(err) != errs.Usage {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Errorf("%q %v", data, err)
	}
	if all := names(t, b); len(all) > 0 {
		t.Errorf("something was written: %q", all)
	}
}

// TestHostileEntries: what is no message is told of, or left alone, and never
// followed; the messages beside it are not affected.
func TestHostileEntries(t *testing.T) {
	for _, read := range []bool{false, true} {
		b := newBox(t)
		secret := filepath.Join(b.root, "secret")
		if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := b.sub(read)
		put := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		in := func(name string) string { return filepath.Join(dir, name) }
		put(os.WriteFile(in(".m.md.0123456789abcdef"), []byte("half"), 0o600))
		put(os.WriteFile(in(".hidden.md"), []byte("hidden"), 0o600))
		put(os.WriteFile(in("notes.txt"), []byte("no message"), 0o600))
		put(os.WriteFile(in("two words.md"), []byte("no message"), 0o600))
		put(os.WriteFile(in("empty.md"), nil, 0o600))
		put(os.Mkdir(in("dir.md"), 0o700))
		put(os.WriteFile(filepath.Join(in("dir.md"), "in.md"), []byte("in"), 0o600))
		put(os.Symlink(secret, in("link.md")))
		put(os.Symlink("nowhere", in("dangling.md")))
		put(syscall.Mkfifo(in("pipe.md"), 0o600))
		put(os.WriteFile(in("ok.md"), []byte("ok"), 0o600))
		irregular := []string{"dangling", "dir", "link", "pipe"}

		check := func(what string, ids []string, problems []error) {
			t.Helper()
			wantIDs(t, ids, "empty", "ok")
			if len(problems) != len(irregular) {
				t.Errorf("%s: problems %q", what, problems)
			}
			for i, err := range problems {
				if !errors.Is(err, fsx.ErrIrregular) || errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), irregular[i]+".md") {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		list, problems, err := b.List(true)
		put(err)
		ids := []string{}
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		check("List", ids, problems)
		if !read {
			ids, problems := receive(t, b, Receiving{Keep: true})
			check("Receive, Keep", ids, problems)
			n, problems, err := b.ReceiveAll(Receiving{}, func(list []*Message) error { return errors.New("no") })
			if n != 0 || err == nil || len(problems) != len(irregular) {
				t.Errorf("ReceiveAll: %d %v %v", n, problems, err)
			}
			ids, problems = receive(t, b, Receiving{})
			check("Receive", ids, problems)
		}
		for _, id := range irregular {
			if m, err := b.Get(id); !errors.Is(err, fsx.ErrIrregular) {
				t.Errorf("Get %s: %v %v", id, m, err)
			}
			if m, err := b.Peek(id, read); !errors.Is(err, fsx.ErrIrregular) {
				t.Errorf("Peek %s: %v %v", id, m, err)
			}
			if ok, err := b.Withdraw(id); ok || err == nil && !read {
				t.Errorf("Withdraw %s: %v %v", id, ok, err)
			}
			if ok, err := b.TryMark(id); ok || err == nil && !read {
				t.Errorf("TryMark %s: %v %v", id, ok, err)
			}
			if _, err := os.Lstat(in(id + ".md")); err != nil {
				t.Errorf("%s is gone: %v", id, err)
			}
			if err := b.Publish(message(id, "bob", "x")); !read && !errors.Is(err, fs.ErrExist) {
				t.Errorf("Publish %s: %v", id, err)
			}
		}
		strays, err := b.Strays()
		put(err)
		wantIDs(t, strays, in("notes.txt"), in("two words.md"))
		if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
			t.Errorf("%q %v", data, err)
		}
	}
}

// TestUnreadableMessage: one that cannot be opened is told of, the others are
// not affected.
func TestUnreadableMessage(t *testing.T) {
	b := newBox(t)
	publish(t, b, "a", "b", "c")
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if filepath.Base(path) == "b.md" && o != fsx.OpRename {
			return syscall.EACCES
		}
		return nil
	})
	list, problems, err := b.List(false)
	if len(list) != 2 || len(problems) != 1 || !errors.Is(problems[0], fs.ErrPermission) || err != nil {
		t.Errorf("List: %v %v %v", list, problems, err)
	}
	ids, problems := receive(t, b, Receiving{})
	wantIDs(t, ids, "a", "c")
	if len(problems) != 1 || !errors.Is(problems[0], fs.ErrPermission) || !strings.Contains(problems[0].Error(), "b.md") {
		t.Errorf("Receive: %v", problems)
	}
	restore()
	want(t, b, "b", "a c")
}

// TestBrokenMailbox: a mailbox that is not there, or cannot be read, is an
// error to everything, never an empty mailbox.
func TestBrokenMailbox(t *testing.T) {
	breaks := map[string]func(*Box) error{
		"missing":     func(b *Box) error { return os.RemoveAll(b.dir) },
		"new missing": func(b *Box) error { return os.RemoveAll(b.sub(false)) },
		"cur missing": func(b *Box) error { return os.RemoveAll(b.sub(true)) },
		"a file":      func(b *Box) error { os.RemoveAll(b.dir); return os.WriteFile(b.dir, nil, 0o600) },
		"new a file": func(b *Box) error {
			os.RemoveAll(b.sub(false))
			return os.WriteFile(b.sub(false), nil, 0o600)
		},
		"new a link": func(b *Box) error {
			os.Rename(b.sub(false), b.sub(false)+"2")
			return os.Symlink(b.sub(false)+"2", b.sub(false))
		},
		"cur a link": func(b *Box) error {
			os.Rename(b.sub(true), b.sub(true)+"2")
			return os.Symlink(b.sub(true)+"2", b.sub(true))
		},
		"a parent is a link": func(b *Box) error {
			parent := filepath.Dir(b.dir)
			os.Rename(parent, parent+"2")
			return os.Symlink(parent+"2", parent)
		},
		"EIO": func(b *Box) error {
			t.Cleanup(fsx.SetFault(func(o fsx.Op, path string) error {
				if strings.HasPrefix(path, b.dir) && o != fsx.OpFlock {
					return syscall.EIO
				}
				return nil
			}))
			return nil
		},
	}
	for name, damage := range breaks {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			publish(t, b, "m")
			before := names(t, b)
			restore := fsx.SetFault(nil)
			defer restore()
			if err := damage(b); err != nil {
				t.Fatal(err)
			}
			for what, f := range map[string]func() error{
				"IDs":     func() error { _, err := b.IDs(false); return err },
				"List":    func() error { _, _, err := b.List(false); return err },
				"ListAll": func() error { _, _, err := b.List(true); return err },
				"Receive": func() error {
					_, _, err := b.Receive(Receiving{Show: func(*Message) error { return nil }})
					return err
				},
				"ReceiveAll": func() error {
					_, _, err := b.ReceiveAll(Receiving{}, func([]*Message) error { return nil })
					return err
				},
				"Publish": func() error { return b.Publish(message("n", "bob", "x")) },
				"Mark":    func() error { return b.Mark("m") },
				"Unread":  func() error { return b.Unread("m") },
			} {
				err := f()
				if err == nil {
					t.Errorf("%s: no error", what)
				}
				if strings.Contains(name, "missing") && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", what, err)
				}
				if !strings.Contains(err.Error(), filepath.Dir(b.dir)) {
					t.Errorf("%s: %v names no path", what, err)
				}
			}
			restore()
			if name == "EIO" || strings.Contains(name, "link") {
				if after := names(t, b); !slices.Equal(after, before) {
					t.Errorf("there is %q, was %q", after, before)
				}
			}
		})
	}
}

// TestLinkedRoot: the root itself may be reached through links.
func TestLinkedRoot(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "root"))); err != nil {
		t.Fatal(err)
	}
	b := at(filepath.Join(dir, "root"))
	if err := b.Create(); err != nil {
		t.Fatal(err)
	}
	publish(t, b, "m")
	want(t, b, "m", "")
}

func TestFind(t *testing.T) {
	b := newBox(t)
	at := time.Date(2026, 11, 30, 13, 5, 1, 0, time.UTC)
	var ids []string
	for i, from := range []string{"ann", "bob", "ann", "bob", "cy-d"} {
		ids = append(ids, NewID(at.Add(time.Duration(i)*time.Second), from))
		m := message(ids[i], from, "hi")
		m.Thread = ids[i/2*2]
		if err := b.Publish(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{ids[1], ids[2]} {
		if err := b.Mark(id); err != nil {
			t.Fatal(err)
		}
	}
	find := func(q Query, want ...int) {
		t.Helper()
		found, problems, err := b.Find(q)
		if err != nil || len(found) != len(want) {
			t.Fatalf("found %v, %v", found, err)
		}
		wantNone(t, problems)
		for i, m := range found {
			if m.ID != ids[want[i]] || m.Read != (want[i] == 1 || want[i] == 2) {
				t.Errorf("found %s, read %v", m.ID, m.Read)
			}
		}
	}
	find(Query{}, 0, 3, 4)
	find(Query{All: true}, 0, 1, 2, 3, 4)
	find(Query{All: true, Match: func(m *Message) bool { return m.Thread == ids[0] }}, 0, 1)
	opened := 0
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if o == fsx.OpOpen && strings.HasSuffix(path, ext) {
			opened++
		}
		return nil
	})
	find(Query{All: true, ID: func(id string) bool { return IDSender(id) == "cy-d" }}, 4)
	restore()
	if opened != 1 {
		t.Errorf("%d files were opened", opened)
	}
}

func TestWatch(t *testing.T) {
	b := newBox(t)
	w := b.Watch(20 * time.Millisecond)
	defer w.Close()
	publish(t, b, "m")
	select {
	case <-w.C:
	case <-time.After(patience):
		t.Fatal("no event")
	}
}
