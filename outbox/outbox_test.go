package outbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestDrain(t *testing.T) {
	o, leader := newPair(t)
	d := drain(t, o, leader)
	if d.Delivered != nil || d.Rejected != nil || d.Dropped != nil {
		t.Errorf("nothing: %+v", d)
	}
	send(t, o, report("1", "ann", "life"), report("2", "ann", "past"), report("3", "bob", "life"), report("4", "ann", "life"))
	before, err := os.ReadFile(o.waiting("4"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, o, leader, "1 2 3 4", "", "", "")
	d = drain(t, o, leader)
	wantIDs(t, "delivered", idsOf(d.Delivered), "1", "4")
	wantIDs(t, "rejected", idsOf(d.Rejected), "2", "3")
	want(t, o, leader, "", "2 3", "1 4", "")
	if d.Rejected[1].Outcome != "it is from bob" || d.Delivered[0].Title != "report" || d.Delivered[0].Size != 8 || d.Delivered[0].Body != nil {
		t.Errorf("%+v", d)
	}
	if after, err := os.ReadFile(filepath.Join(leader.Dir(), "new", "4.md")); err != nil || string(after) != string(before) {
		t.Errorf("the report was changed: %q %v", after, err)
	}
	m, err := o.PeekRejected("2")
	if err != nil || m.Outcome != "it is of a life that is over" || m.From != "ann" || m.Spawn != "past" || m.Size != 8 {
		t.Errorf("%+v %v", m, err)
	}
	full, err := inbox.ReadFile(o.rejected("2"))
	if err != nil || string(full.Body) != "report 2" {
		t.Errorf("%+v %v", full, err)
	}
	d = drain(t, o, leader)
	if d.Delivered != nil || d.Rejected != nil || d.Dropped != nil {
		t.Errorf("again: %+v", d)
	}
}

// TestDropped: what the leader has already, read or not, is not delivered
// again; but another message under the same id is not lost.
func TestDropped(t *testing.T) {
	o, leader := newPair(t)
	send(t, o, report("1", "ann", "life"), report("2", "ann", "life"), report("3", "ann", "life"))
	drain(t, o, leader)
	if err := leader.Mark("2"); err != nil {
		t.Fatal(err)
	}
	other := report("3", "ann", "life")
	other.Body = []byte("something else")
	send(t, o, report("1", "ann", "life"), report("2", "ann", "life"), other)
	d := drain(t, o, leader)
	wantIDs(t, "delivered", idsOf(d.Delivered))
	wantIDs(t, "dropped", d.Dropped, "1", "2")
	wantIDs(t, "rejected", idsOf(d.Rejected), "3")
	want(t, o, leader, "", "3", "1 3", "2")
	if m, err := o.PeekRejected("3"); err != nil || m.Size != 14 || !strings.Contains(m.Outcome, "another message") {
		t.Errorf("%+v %v", m, err)
	}
	// A copy of a life that is over is dropped, not rejected: it was delivered.
	send(t, o, report("1", "ann", "life"))
	dd, err := o.Drain(leader, func(*inbox.Message) string { return "it is of a life that is over" })
	if err != nil || len(dd.Dropped) != 1 || len(dd.Rejected) > 0 {
		t.Errorf("%+v %v", dd, err)
	}
}

// TestRejectedTwice: two different reports of one name are both kept.
func TestRejectedTwice(t *testing.T) {
	o, leader := newPair(t)
	for _, body := range []string{"one", "two", "two"} {
		m := report("1", "bob", "life")
		m.Body = []byte(body)
		send(t, o, m)
		if d := drain(t, o, leader); len(d.Rejected) != 1 {
			t.Errorf("%+v", d)
		}
	}
	ids, err := o.Rejected()
	if len(ids) < 2 || ids[0] != "1" || !strings.HasPrefix(ids[1], "1-") || err != nil {
		t.Errorf("%q %v", ids, err)
	}
	var bodies []string
	for _, id := range ids {
		m, err := inbox.ReadFile(o.rejected(id))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(m.Body))
	}
	if bodies[0] != "one" || bodies[1] != "two" {
		t.Errorf("%q", bodies)
	}
}

// TestHostile: what is no report spoils only itself and is told of once.
func TestHostile(t *testing.T) {
	o, leader := newPair(t)
	secret := filepath.Join(o.root, "secret")
	in := func(name string) string { return filepath.Join(o.dir, "new", name) }
	big := filepath.Join(o.root, "big")
	if err := errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(big, []byte("---\nfrom: ann\nspawn: life\n---\nx"), 0o600),
		os.Truncate(big, 100<<20),
		os.Rename(big, in("big.md")),
		os.Mkdir(in("dir.md"), 0o700),
		os.WriteFile(filepath.Join(in("dir.md"), "in.md"), nil, 0o600),
		os.Symlink(secret, in("link.md")),
		syscall.Mkfifo(in("pipe.md"), 0o600),
		os.WriteFile(in("byhand.md"), []byte("no header"), 0o600),
		os.WriteFile(in("forged.md"), []byte("---\nfrom: ann\nspawn: life\n---\nby hand"), 0o600),
		os.WriteFile(in("full.md"), []byte("---\nfrom: bob\npad: "+strings.Repeat("p", 64<<10-24)+"\n---\n"), 0o600),
		os.WriteFile(in("notes.txt"), nil, 0o600),
		os.WriteFile(in("a b.md"), nil, 0o600),
		os.WriteFile(in(".hidden.md"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	send(t, o, report("1", "ann", "life"), report("z", "ann", "life"))
	d := drain(t, o, leader)
	wantIDs(t, "delivered", idsOf(d.Delivered), "1", "forged", "z")
	wantIDs(t, "rejected", idsOf(d.Rejected), "big", "byhand", "dir", "full", "link", "pipe")
	want(t, o, leader, "", "big byhand dir full link pipe", "1 forged z", "")
	for _, m := range d.Rejected {
		if m.Outcome == "" {
			t.Errorf("%s was rejected for no reason", m.ID)
		}
	}
	if m, err := o.PeekRejected("byhand"); err != nil || m.Outcome != "it is from unknown" {
		t.Errorf("%+v %v", m, err)
	}
	if target, err := os.Readlink(o.rejected("link")); err != nil || target != secret {
		t.Errorf("the link is now %q %v", target, err)
	}
	strays, err := o.Strays()
	wantIDs(t, "strays", strays, in("a b.md"), in("notes.txt"))
	if err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("%q %v", data, err)
	}
	d = drain(t, o, leader)
	if len(d.Delivered)+len(d.Rejected)+len(d.Dropped) > 0 {
		t.Errorf("told again: %+v", d)
	}
}

// TestUnreadable: a report that cannot be read now stays, and leaves the others.
func TestUnreadable(t *testing.T) {
	o, leader := newPair(t)
	send(t, o, report("1", "ann", "life"), report("2", "ann", "life"), report("3", "bob", "life"))
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if path == o.waiting("2") {
			return syscall.EACCES
		}
		return nil
	})
	d, err := o.Drain(leader, judge)
	restore()
	if err != nil || len(d.Problems) != 1 || !errors.Is(d.Problems[0], fs.ErrPermission) || !strings.Contains(d.Problems[0].Error(), o.waiting("2")) {
		t.Errorf("%v %v", d.Problems, err)
	}
	want(t, o, leader, "2", "3", "1", "")
	drain(t, o, leader)
	want(t, o, leader, "", "3", "1 2", "")
}

// TestBroken: an outbox or a leader's mailbox that is not there or cannot be
// read is an error, never an empty one, and no report is lost.
func TestBroken(t *testing.T) {
	for name, damage := range map[string]func(o *Outbox, leader *inbox.Box) error{
		"no outbox":     func(o *Outbox, _ *inbox.Box) error { return os.RemoveAll(o.dir) },
		"no new":        func(o *Outbox, _ *inbox.Box) error { return os.RemoveAll(filepath.Join(o.dir, "new")) },
		"linked outbox": func(o *Outbox, _ *inbox.Box) error { os.Rename(o.dir, o.dir+"2"); return os.Symlink(o.dir+"2", o.dir) },
		"no leader":     func(_ *Outbox, l *inbox.Box) error { return os.RemoveAll(l.Dir()) },
		"no leader new": func(_ *Outbox, l *inbox.Box) error { return os.RemoveAll(filepath.Join(l.Dir(), "new")) },
		"linked leader": func(_ *Outbox, l *inbox.Box) error {
			os.Rename(l.Dir(), l.Dir()+"2")
			return os.Symlink(l.Dir()+"2", l.Dir())
		},
	} {
		o, leader := newPair(t)
		send(t, o, report("1", "ann", "life"))
		if err := damage(o, leader); err != nil {
			t.Fatal(err)
		}
		if d, err := o.Drain(leader, judge); err == nil || len(d.Delivered) > 0 {
			t.Errorf("%s: %+v %v", name, d, err)
		}
		if strings.Contains(name, "leader") {
			if ids, err := o.IDs(); len(ids) != 1 || err != nil {
				t.Errorf("%s: %q %v", name, ids, err)
			}
			continue
		}
		for what, f := range map[string]func() error{
			"IDs":  func() error { _, err := o.IDs(); return err },
			"Send": func() error { return o.Send(report("2", "ann", "life")) },
		} {
			if err := f(); err == nil || strings.HasPrefix(name, "no") && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
	// The leader's mailbox vanishes in the middle of a drain.
	o, leader := newPair(t)
	send(t, o, report("1", "ann", "life"))
	d, err := o.Drain(leader, func(*inbox.Message) string { os.RemoveAll(leader.Dir()); return "" })
	if err != nil || len(d.Problems) != 1 || !errors.Is(d.Problems[0], fs.ErrNotExist) {
		t.Errorf("%+v %v", d, err)
	}
	want2, err := o.IDs()
	wantIDs(t, "waiting", want2, "1")
	if err != nil {
		t.Error(err)
	}
}

func TestSendAndWithdraw(t *testing.T) {
	o, leader := newPair(t)
	send(t, o, report("1", "ann", "life"), report("2", "ann", "life"))
	if err := o.Send(report("1", "ann", "life")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
	if m, err := o.Peek("1"); err != nil || m.Spawn != "life" || m.Body != nil {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := o.Get("1"); err != nil || string(m.Body) != "report 1" {
		t.Errorf("%+v %v", m, err)
	}
	for id, want := range map[string]bool{"1": true, "x": false} {
		if ok, err := o.Withdraw(id); ok != want || err != nil {
			t.Errorf("%s: %v %v", id, ok, err)
		}
	}
	drain(t, o, leader)
	if ok, err := o.Withdraw("2"); ok || err != nil {
		t.Errorf("delivered: %v %v", ok, err)
	}
	want(t, o, leader, "", "", "2", "")
	for _, id := range []string{"", "../x", ".x", "a/b"} {
		for what, f := range map[string]func() error{
			"Send":         func() error { return o.Send(report(id, "ann", "life")) },
			"Withdraw":     func() error { _, err := o.Withdraw(id); return err },
			"Peek":         func() error { _, err := o.Peek(id); return err },
			"Get":          func() error { _, err := o.Get(id); return err },
			"PeekRejected": func() error { _, err := o.PeekRejected(id); return err },
		} {
			if err := f(); errs.CodeOf(err) != errs.Usage {
				t.Errorf("%s(%q): %v", what, id, err)
			}
		}
	}
	m := report("3", "ann", "life")
	m.Body = make([]byte, inbox.MaxBody+1)
	if err := o.Send(m); errs.CodeOf(err) != errs.Usage {
		t.Errorf("too large: %v", err)
	}
}

// TestSendOnce: a report with a key is sent once, although drains take it away.
func TestSendOnce(t *testing.T) {
	o, leader := newPair(t)
	keys := filepath.Join(o.root, "noticed")
	for i, id := range []string{"1", "2"} {
		got, first, err := o.SendOnce(keys, "k", report(id, "ann", "life"))
		if got != "1" || first != (i == 0) || err != nil {
			t.Errorf("%s %v %v", got, first, err)
		}
		drain(t, o, leader)
	}
	// A sender that died before its key was done sends it once more; the
	// leader gets it once.
	if err := os.WriteFile(filepath.Join(keys, "k"), []byte(`{"id":"1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := o.SendOnce(keys, "k", report("1", "ann", "life")); got != "1" || err != nil {
		t.Errorf("%s %v", got, err)
	}
	d := drain(t, o, leader)
	wantIDs(t, "dropped", d.Dropped, "1")
	want(t, o, leader, "", "", "1", "")
}

// TestRejectedIsMade: an outbox made by hand may lack rejected/.
func TestRejectedIsMade(t *testing.T) {
	o, leader := newPair(t)
	if err := os.RemoveAll(filepath.Join(o.dir, "rejected")); err != nil {
		t.Fatal(err)
	}
	if ids, err := o.Rejected(); len(ids) > 0 || err != nil {
		t.Errorf("%q %v", ids, err)
	}
	send(t, o, report("1", "bob", "life"))
	drain(t, o, leader)
	want(t, o, leader, "", "1", "", "")
}
