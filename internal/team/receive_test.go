package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// breakDir puts a file in the place of a directory, and returns how to put it
// back: unlike a mode it stops root too.
func breakDir(t *testing.T, dir string) (mend func()) {
	t.Helper()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "in the way")
	return func() {
		if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// A receiver whose life is over gets nothing of its successor's mail, and
// returns nothing of it.
func TestReceiveAfterTheEnd(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, old := team.bare(t, "ann"), team.bare(t, "bob")
	bob := team.takeOver(t, "bob")
	m := team.send(t, ann, "bob", "for the second")
	team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("for anybody"), Hold: true})
	show := func(m *inbox.Message) error { return fmt.Errorf("%s was shown", m.Title) }
	_, _, _, err := team.Receive(ctx, ReceiveRequest{Who: old, Show: show})
	wantCode(t, err, errs.StaleIdentity)
	_, err = team.Mail(ctx, old, m.ID, show, false)
	wantCode(t, err, errs.StaleIdentity)
	// One that was waiting when it happened.
	third := bob
	n := 0
	_, _, _, err = team.Receive(ctx, ReceiveRequest{Who: bob, Max: 5, Show: func(*inbox.Message) error {
		if n++; n == 1 {
			third = team.takeOver(t, "bob")
			team.send(t, ann, "bob", "for the third")
		}
		return nil
	}})
	wantCode(t, err, errs.StaleIdentity)
	if n != 1 {
		t.Errorf("%d shown", n)
	}
	same(t, "the third", team.recv(t, third), []string{"ann for anybody", "ann for the third"})
	same(t, "ann", team.recv(t, ann), nil)
}

// One message of the mailbox: marked after it was shown, not marked when that
// failed or with a peek, and never shown by two.
func TestReadOne(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	m := team.send(t, ann, "bob", "hello")
	shown := 0
	show := func(*inbox.Message) error { shown++; return nil }
	unread := func() int { return len(must(team.Box("bob").IDs(false))(t)) }
	read := func(who Identity, f func(*inbox.Message) error, peek bool) error {
		_, err := team.Mail(ctx, who, m.ID, f, peek)
		return err
	}
	if err := read(Identity{Name: "bob"}, show, true); err != nil || unread() != 1 {
		t.Errorf("peek: %v, %d unread", err, unread())
	}
	failed := errors.New("no paper")
	if err := read(bob, func(*inbox.Message) error { return failed }, false); !errors.Is(err, failed) || unread() != 1 {
		t.Errorf("failed: %v, %d unread", err, unread())
	}
	err := read(bob, func(*inbox.Message) error {
		wantCode(t, read(bob, show, false), errs.Busy)
		same(t, "beside it", team.recv(t, bob), nil)
		return read(bob, show, true) // looking hurts nobody
	}, false)
	if err != nil || unread() != 0 || shown != 2 {
		t.Errorf("read: %v, %d unread, shown %d", err, unread(), shown)
	}
	if err := read(bob, show, false); err != nil || shown != 3 {
		t.Errorf("read again: %v, shown %d", err, shown)
	}
	if m, err := team.Unread(ctx, bob, m.ID); err != nil || m.Read || unread() != 1 {
		t.Errorf("unread: %+v, %v, %d unread", m, err, unread())
	}
	same(t, "again", team.recv(t, bob), []string{"ann hello"})
	for _, f := range []func(id string) error{
		func(id string) error { _, err := team.Mail(ctx, bob, id, show, false); return err },
		func(id string) error { _, err := team.Mail(ctx, theLeader, id, show, true); return err },
		func(id string) error { _, err := team.Unread(ctx, bob, id); return err },
	} {
		wantCode(t, f("20261130T130501.123456Z-ann-000000"), errs.NotFound)
		wantCode(t, f("../../x"), errs.Usage)
	}
	// What was for the life before goes back instead.
	m = team.send(t, ann, "bob", "too late")
	writeFile(t, filepath.Join(team.InboxDir("bob"), "keep"), "")
	next := team.takeOver(t, "bob")
	must(team.Unread(ctx, next, m.ID))(t) // it had been put away
	wantCode(t, func() error { _, err := team.Mail(ctx, next, m.ID, show, false); return err }(), errs.NotFound)
	if unread() != 0 {
		t.Error("it is still there")
	}
	if notices := team.recv(t, ann); len(notices) != 1 || matching(notices, "undelivered") != 1 {
		t.Errorf("%q", notices)
	}
	if err := read(next, show, false); err != nil {
		t.Errorf("what lies with the read ones can be looked at: %v", err)
	}
}

// Max, what is left, a batch.
func TestReceiveSome(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	for i := range 5 {
		team.send(t, ann, "bob", fmt.Sprint(i))
	}
	var got []string
	n, left, _, err := team.Receive(ctx, ReceiveRequest{Who: bob, Max: 2, Show: func(m *inbox.Message) error { got = append(got, m.Title); return nil }})
	if n != 2 || left != 3 || err != nil {
		t.Errorf("%d shown, %d left, %v", n, left, err)
	}
	same(t, "first", got, []string{"0", "1"})
	told := -1
	n, left, _, err = team.Receive(ctx, ReceiveRequest{Who: bob, Max: 2, Batch: func(list []*inbox.Message, left int) error {
		got, told = titles(list), left
		return nil
	}})
	if n != 2 || left != 1 || told != 1 || err != nil {
		t.Errorf("%d shown, %d left, %d told, %v", n, left, told, err)
	}
	same(t, "batch", got, []string{"ann 2", "ann 3"})
	failed := errors.New("no paper")
	n, _, _, err = team.Receive(ctx, ReceiveRequest{Who: bob, Batch: func([]*inbox.Message, int) error { return failed }})
	if n != 0 || !errors.Is(err, failed) {
		t.Errorf("%d, %v", n, err)
	}
	same(t, "still there", team.recv(t, bob), []string{"ann 4"})
}

// A mailbox that cannot be read is never an empty one; a message that cannot be
// read spoils only itself.
func TestReceiveUnreadable(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	team.send(t, ann, "bob", "whole")
	// A directory in the place of a message.
	mkdirs(t, team.InboxDir("bob"), "new", "20261130T130501.123456Z-ann-000000.md")
	list, problems, err := team.Inbox(ctx, bob, false)
	if err != nil || len(problems) != 1 {
		t.Errorf("%v, %v", problems, err)
	}
	same(t, "inbox", titles(list), []string{"ann whole"})
	n, _, problems, err := team.Receive(ctx, ReceiveRequest{Who: bob, Show: func(*inbox.Message) error { return nil }})
	if n != 1 || len(problems) != 1 || err != nil {
		t.Errorf("%d, %v, %v", n, problems, err)
	}
	n, _, problems, err = team.Receive(ctx, ReceiveRequest{Who: bob, Show: func(*inbox.Message) error { return nil }})
	if n != 0 || len(problems) != 1 || err != nil {
		t.Errorf("%d, %v, %v", n, problems, err)
	}
	for _, dir := range []string{filepath.Join(team.InboxDir("bob"), "new"), filepath.Join(team.InboxDir("bob"), "cur"), team.InboxDir("bob"), team.TeammateDir("bob")} {
		mend := breakDir(t, dir)
		for what, f := range map[string]func() error{
			"receive": func() error {
				_, _, _, err := team.Receive(ctx, ReceiveRequest{Who: bob, Show: func(*inbox.Message) error { return nil }})
				return err
			},
			"inbox":  func() error { _, _, err := team.Inbox(ctx, bob, false); return err },
			"look":   func() error { _, err := team.Look(ctx, bob, map[string]bool{}, nil); return err },
			"unread": func() error { _, err := team.Unread(ctx, bob, "20261130T130501.123456Z-ann-000001"); return err },
			"owed":   func() error { _, _, err := team.Owed(ctx, bob); return err },
			"sent": func() error {
				_, problems, err := team.Sent(ctx, ann, false)
				return errors.Join(append(problems, err)...)
			},
		} {
			if what == "owed" && dir != team.TeammateDir("bob") {
				continue // it reads no more than there are requests
			}
			if err := f(); err == nil || errs.Exit(errs.CodeOf(err)) != 1 || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s, %s broken: %v", what, dir, err)
			}
		}
		mend()
	}
	if err := os.RemoveAll(team.InboxDir("bob")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := team.Inbox(ctx, bob, false); err == nil {
		t.Error("a mailbox that is missing beside its teammate is empty")
	}
}

// A session without state has no mail, and looking makes none.
func TestLookWithoutState(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	for _, who := range []Identity{theLeader, {Name: "ann"}} {
		list, problems, err := team.Inbox(ctx, who, true)
		if len(list)+len(problems) > 0 || err != nil {
			t.Errorf("%v: %v, %v, %v", who, list, problems, err)
		}
		list, problems, err = team.Sent(ctx, who, true)
		if len(list)+len(problems) > 0 || err != nil {
			t.Errorf("%v: %v, %v, %v", who, list, problems, err)
		}
		if problems, err := team.Look(ctx, who, map[string]bool{}, nil); len(problems) > 0 || err != nil {
			t.Errorf("%v: %v, %v", who, problems, err)
		}
		if list, _, err := team.Owed(ctx, who); len(list) > 0 || err != nil {
			t.Errorf("%v: %v, %v", who, list, err)
		}
	}
	if n, left, _, err := team.Receive(ctx, ReceiveRequest{Who: theLeader}); n+left > 0 || err != nil {
		t.Error(n, left, err)
	}
	wantNothing(t, team.Root)
	must(team.EnsureSession())(t)
	_, _, err := team.Inbox(ctx, Identity{Name: "nobody"}, true)
	wantCode(t, err, errs.NotFound)
}

// Look shows each message once, again when it became unread again, and changes
// nothing.
func TestLook(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	first := team.send(t, ann, "bob", "one")
	seen := map[string]bool{}
	look := func() []string {
		t.Helper()
		var got []string
		problems, err := team.Look(ctx, Identity{Name: "bob"}, seen, func(m *inbox.Message) error { got = append(got, m.Title); return nil })
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		return got
	}
	same(t, "first look", look(), []string{"one"})
	team.send(t, ann, "bob", "two")
	same(t, "second look", look(), []string{"two"})
	same(t, "third look", look(), nil)
	same(t, "recv", team.recv(t, bob), []string{"ann one", "ann two"})
	same(t, "nothing there", look(), nil)
	if len(seen) > 0 {
		t.Errorf("it remembers %v", seen)
	}
	must(team.Unread(ctx, bob, first.ID))(t)
	same(t, "unread again", look(), []string{"one"})
	// The leader's reports come on their own.
	team.send(t, ann, LeaderName, "report")
	var got []string
	if _, err := team.Look(ctx, theLeader, map[string]bool{}, func(m *inbox.Message) error { got = append(got, line(m)); return nil }); err != nil {
		t.Fatal(err)
	}
	same(t, "leader", got, []string{"ann report"})
}

// A waiter is woken by what comes, long before it would look by itself; where
// there are no notifications it looks every poll. Both within the second after
// which it looks in any case.
func TestMailWaiter(t *testing.T) {
	for _, polling := range []bool{false, true} {
		for _, who := range []string{"bob", LeaderName} {
			t.Run(fmt.Sprintf("%s polling %v", who, polling), func(t *testing.T) {
				fsx.SetSharedMode(polling) // no notification on shared file systems
				defer fsx.SetSharedMode(false)
				team := newTeam(t)
				ann := team.bare(t, "ann")
				team.bare(t, "bob")
				poll := time.Hour
				if polling {
					poll = 20 * time.Millisecond
				}
				w := team.NewMailWaiter(Identity{Name: who, Leader: who == LeaderName}, poll)
				defer w.Close()
				if w.Polling() != polling {
					t.Fatalf("polling: %v", w.Polling())
				}
				quickest := time.Hour
				for range 5 {
					woken := make(chan time.Duration, 1)
					start := time.Now()
					go func() {
						if err := w.Wait(background()); err != nil {
							t.Error(err)
						}
						woken <- time.Since(start)
					}()
					team.send(t, ann, who, "wake up")
					quickest = min(quickest, <-woken)
				}
				if quickest > 900*time.Millisecond {
					t.Errorf("never woken before the second was over, at best after %v", quickest)
				}
			})
		}
	}
}

func TestMailWaiterEnds(t *testing.T) {
	team := newTeam(t)
	team.bare(t, "bob")
	w := team.NewMailWaiter(Identity{Name: "bob"}, time.Hour)
	defer w.Close()
	ctx, cancel := context.WithTimeout(background(), 10*time.Millisecond)
	defer cancel()
	var err error
	for range 3 { // something may have come at the start
		if err = w.Wait(ctx); err != nil {
			break
		}
	}
	wantCode(t, err, errs.TimedOut)
}

// Listing unread mail does nothing that grows with what was read.
func TestInboxWithManyRead(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	calls := func() (n int) {
		restore := fsx.SetFault(func(fsx.Op, string) error { n++; return nil })
		defer restore()
		list, problems, err := team.Inbox(t.Context(), bob, false)
		if len(list) != 3 || len(problems) > 0 || err != nil {
			t.Fatal(len(list), problems, err)
		}
		return n
	}
	for i := range 3 {
		team.send(t, ann, "bob", fmt.Sprint(i))
	}
	few := calls()
	one := filepath.Join(t.TempDir(), "read")
	writeFile(t, one, "read")
	for i := range 10_000 {
		name := fmt.Sprintf("20251130T130501.%06dZ-ann-000000.md", i)
		if err := os.Link(one, filepath.Join(team.InboxDir("bob"), "cur", name)); err != nil {
			t.Fatal(err)
		}
	}
	if many := calls(); many != few {
		t.Errorf("%d calls with few read ones, %d with many", few, many)
	}
}

// One leader's session at a time.
func TestHoldLead(t *testing.T) {
	team := newTeam(t)
	lock, err := team.HoldLead()
	if err != nil {
		t.Fatal(err)
	}
	_, err = team.HoldLead()
	wantCode(t, err, errs.Conflict)
	lock.Unlock()
	if lock, err = team.HoldLead(); err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
}
