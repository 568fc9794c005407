package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRecipients misspells names, and sends to those who are no more: the exit
// codes, a hint that helps, and nothing is created, not even the sender.
func TestRecipients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob", "gone"} {
		s.ok("join", name, "-q")
	}
	s.ok("leave", "--as", "gone", "-q")
	before := tree(t, s.root)
	for _, c := range []struct {
		exit int
		code string
		hint string
		args []string
	}{
		{3, "not_found", "did you mean bob?", []string{"bbo", "x"}},
		{3, "not_found", "did you mean leader?", []string{"bob,leeder", "x"}},
		{3, "not_found", "those there are: leader, ann, bob, gone", []string{"zacharias", "x"}},
		{4, "stopped", "--hold", []string{"gone", "x"}},
		{4, "stopped", "--hold", []string{"bob,gone", "x"}},
		{64, "usage", "", []string{"BOB", "x"}},
		{64, "usage", "", []string{"../bob", "x"}},
		{64, "usage", "", []string{"harness", "x"}},
		{64, "usage", "", []string{",", "x"}},
		{64, "usage", "", []string{"newbie", "x"}},
		{64, "usage", "", []string{"bob", "x", "--status", "completed"}},
		{64, "usage", "", []string{"bob", "x", "--wait"}},
		{64, "usage", "", []string{"bob", "x", "--deadline", "1m"}},
		{64, "usage", "", []string{"bob,ann", "x", "--expects-reply", "--wait"}},
		{64, "usage", "", []string{"all", "x", "--expects-reply", "--wait"}},
		{3, "not_found", "", []string{"bob", "x", "--reply-to", "20261130T130501.123456Z-bob-7f3a9c"}},
	} {
		e := s.as("newbie").fails(c.exit, c.code, append([]string{"send"}, c.args...)...)
		if !strings.Contains(e.Error.Hint, c.hint) {
			t.Errorf("send %q: hint %q, want %q", c.args, e.Error.Hint, c.hint)
		}
	}
	s.fails(64, "usage", "send", "leader", "x")
	sameTree(t, "refused", before, tree(t, s.root))
	// What can be sent makes the sender.
	if id := s.as("newbie").send("bob", "hello"); !strings.Contains(id, "-newbie-") {
		t.Errorf("id %q", id)
	}
	s.healthy()
}

// TestStaleReport has a life that is over write a report all the same: by the
// command it is refused, past the command it never reaches the leader.
func TestStaleReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	old := s.life("ann", s.spawn("ann"))
	old.send("leader", "in time", "--status", "in_progress")
	s.ok("join", "ann", "--takeover", "-q")
	for _, args := range [][]string{{"send", "leader", "late", "--status", "completed"}, {"send", "leader", "late", "--key", "k"}, {"recv"}, {"recv", "--wait", "--timeout", "1s"}} {
		old.fails(5, "stale_identity", args...)
	}
	write(t, s.team("ann", "outbox", "new", "20261130T130501.123456Z-ann-7f3a9c.md"),
		fmt.Sprintf("---\nfrom: \"ann\"\nto: \"leader\"\nkind: \"report\"\nstatus: \"completed\"\nspawn: %q\n---\nall done\n", old.env[len(old.env)-1][len("TEAMS_SPAWN="):]))
	s.life("ann", s.spawn("ann")).send("leader", "from the second")
	wantLines(t, "leader", s.mail("inbox").Messages, "ann in time", "ann from the second")
	wantLines(t, "leader", s.recv(), "ann in time", "ann from the second")
	rejected := read(t, s.team("ann", "outbox", "rejected", "20261130T130501.123456Z-ann-7f3a9c.md"))
	if !strings.Contains(rejected, `outcome: "it is of a life that is over"`) || !strings.HasSuffix(rejected, "\nall done\n") {
		t.Errorf("rejected: %s", rejected)
	}
	if r := s.exits(0, "doctor"); !strings.Contains(r.out, "1 reports were rejected") || !strings.Contains(r.out, "it is of a life that is over") {
		t.Errorf("doctor: %s", r)
	}
	if r := s.exits(0, "tick"); strings.Contains(r.out, "rejected") {
		t.Errorf("a tick rejects it again: %s", r)
	}
	s.healthy()
}

// TestRespawn ends a life with mail and reports waiting: the reports reach the
// leader, the mail goes back to its senders, and the next life gets what was
// kept for it.
func TestRespawn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.life("bob", s.spawn("bob"))
	bob.send("leader", "last words", "--status", "failed")
	lost := ann.send("bob", "never read")
	ann.send("bob", "for whoever comes", "--hold")
	bob.ok("leave", "-q")
	s.fails(4, "stopped", "send", "bob", "x")
	held := s.ok("send", "bob", "also for the next", "--hold")
	if !strings.HasSuffix(held, "· held") {
		t.Errorf("%q", held)
	}
	wantLines(t, "leader", s.recv(), "bob last words")
	wantLines(t, "ann", ann.recv(), "harness undelivered bob stopped before it read your message "+lost+": never read")
	got := ann.mail("sent", "--unread")
	wantLines(t, "ann's unread", got.Messages, "ann never read", "ann for whoever comes")
	if r := ann.exits(0, "sent"); !strings.Contains(r.out, "undelivered") {
		t.Errorf("sent: %s", r)
	}
	s.ok("join", "bob", "-q")
	next := s.life("bob", s.spawn("bob"))
	wantLines(t, "the next bob", next.recv(), "ann for whoever comes", "leader also for the next")
	bob.fails(5, "stale_identity", "send", "leader", "I am back")
	s.healthy()
}

// TestWaitingReceiverIsReplaced has a recv --wait, and a follow, whose life ends
// meanwhile: they end, and get nothing of their successor's.
func TestWaitingReceiverIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	old := s.life("bob", s.spawn("bob"))
	var waiting []*proc
	for _, args := range [][]string{{"recv", "--wait"}, {"recv", "--wait", "--json"}, {"follow"}} {
		waiting = append(waiting, old.start(args...))
	}
	for _, p := range waiting {
		if p.ended(50 * time.Millisecond) {
			t.Fatalf("%s", p.wait())
		}
	}
	s.ok("join", "bob", "--takeover", "-q")
	s.send("bob", "for the second")
	for _, p := range waiting {
		if r := p.wait(); r.code != 5 || strings.Contains(r.out+r.err, "for the second") {
			t.Errorf("%v: %s", p.cmd.Args[1:], r)
		}
	}
	wantLines(t, "the second", s.as("bob").recv(), "leader for the second")
	wantLines(t, "leader", s.recv())
	s.healthy()
}

// TestOthersMailbox looks into somebody else's mailbox, which marks nothing, and
// may not mark there.
func TestOthersMailbox(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "--pid", fmt.Sprint(os.Getpid()), "-q")
	s.ok("join", "ann", "-q")
	id := s.send("bob", "for bob")
	ann := s.as("ann")
	for _, who := range []*site{ann, s} {
		wantLines(t, "inbox", who.mail("inbox", "--as", "bob").Messages, "leader for bob")
		if r := who.exits(0, "read", id, "--peek", "--as", "bob"); !strings.Contains(r.out, "for bob") {
			t.Errorf("%s", r)
		}
		who.fails(4, "name_taken", "recv", "--as", "bob")
		who.fails(4, "name_taken", "read", id, "--as", "bob")
		who.fails(4, "name_taken", "unread", id, "--as", "bob")
		who.fails(3, "not_found", "inbox", "--as", "nobody")
	}
	ann.fails(5, "leader_only", "recv", "--as", "leader")
	bob := s.life("bob", s.spawn("bob"))
	if r := bob.exits(0, "inbox"); !strings.Contains(r.out, "●") {
		t.Errorf("it is marked: %s", r)
	}
	wantLines(t, "bob", bob.recv(), "leader for bob")
}

// TestUnreadableMailbox tells a mailbox that cannot be read from an empty one.
func TestUnreadableMailbox(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user, and for itself files of mode 0 may be readable")
	}
	s := newSite(t)
	s.ok("join", "bob", "-q")
	s.send("bob", "text")
	s.giveTo(65534)
	other := *s.as("bob")
	other.uid = 65534
	box := s.team("bob", "inbox", "new")
	if err := os.Chmod(box, 0); err != nil {
		t.Fatal(err)
	}
	before := tree(t, filepath.Dir(box))
	for _, args := range [][]string{{"recv"}, {"recv", "--json"}, {"recv", "--wait", "--timeout", "5s"}, {"inbox"}, {"inbox", "--all"}, {"follow"}, {"follow", "--peek"}} {
		r := other.run(args...)
		if r.code != 1 || !strings.Contains(r.out+r.err, box) || !strings.Contains(r.out+r.err, "permission denied") {
			t.Errorf("%q: %s", args, r)
		}
	}
	leader := other
	leader.env = nil
	if r := leader.run("send", "bob", "more"); r.code != 1 || !strings.Contains(r.err, box) {
		t.Errorf("send: %s", r)
	}
	if r := leader.run("sent"); r.code != 1 || !strings.Contains(r.err, box) {
		t.Errorf("sent: %s", r)
	}
	if r := leader.run("doctor"); r.code != 1 || !strings.Contains(r.out, box) {
		t.Errorf("doctor: %s", r)
	}
	sameTree(t, "unreadable", before, tree(t, filepath.Dir(box)))
	if err := os.Chmod(box, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := other.run("recv"); r.code != 0 || !strings.Contains(r.out, "text") {
		t.Errorf("readable again: %s", r)
	}
	// A single message that cannot be read is told, and is not none either.
	leader.ok("send", "bob", "one", "-q")
	id := leader.ok("send", "bob", "two", "-q")
	if err := os.Chmod(filepath.Join(box, id+".md"), 0); err != nil {
		t.Fatal(err)
	}
	if r := other.run("recv"); r.code != 0 || !strings.Contains(r.out, "one") || !strings.Contains(r.err, id) {
		t.Errorf("one of two: %s", r)
	}
	if r := other.run("recv"); r.code != 1 || !strings.Contains(r.err, id) || !strings.Contains(r.err, "permission denied") {
		t.Errorf("the other: %s", r)
	}
}

// TestMailOnFullDisk sends and receives while nothing can be written: errors
// with the path and the reason, nothing half-visible, and all of it works once
// there is room.
func TestMailOnFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=128k,mode=700")
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.as("bob")
	first := ann.send("bob", "before")
	empty := s.stuff()
	before := tree(t, s.team("bob", "inbox"))
	for _, args := range [][]string{{"send", "bob", "x"}, {"send", "leader", "x"}, {"send", "bob", "x", "--key", "k"}, {"send", "bob", "x", "--expects-reply"}, {"reply", first, "x"}} {
		who := ann
		if args[0] == "reply" {
			who = bob
		}
		if r := who.run(args...); r.code != 1 || !strings.Contains(r.err, s.root) || !strings.Contains(r.err, "no space left on device") {
			t.Errorf("full: %q: %s", args, r)
		}
	}
	sameTree(t, "full", before, tree(t, s.team("bob", "inbox")))
	// Looking and receiving need no room.
	wantLines(t, "inbox", bob.mail("inbox").Messages, "ann before")
	wantLines(t, "recv", bob.recv(), "ann before")
	empty()
	id := ann.send("bob", "after", "--key", "k")
	if again := ann.send("bob", "after", "--key", "k"); again != id {
		t.Errorf("%s, then %s", id, again)
	}
	wantLines(t, "recv", bob.recv(), "ann after")
	bob.ok("reply", first, "thanks", "-q")
	wantLines(t, "ann", ann.recv(), "bob thanks")
	s.healthy()
}
