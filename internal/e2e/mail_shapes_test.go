package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	deadlineText = regexp.MustCompile(`"expectsReply":[1-9]\d*`)
	pathBytes    = regexp.MustCompile(`"bytes":\d{3,}`) // of a body with a path in it
)

// shape compares the data of a call, or the result that its error carries, with
// a golden file.
func (s *site) shape(name string, exit int, args ...string) {
	s.t.Helper()
	e, r := s.json(args...)
	data := []byte(e.Data)
	if e.Error != nil {
		data, _ = json.Marshal(e.Error.Details["data"])
	}
	if r.code != exit {
		s.t.Fatalf("teams %q: want exit %d: %s", args, exit, r)
	}
	data = deadlineText.ReplaceAll(data, []byte(`"expectsReply":"TIME"`))
	s.golden("mail "+name, pathBytes.ReplaceAll(data, []byte(`"bytes":"NUMBER"`)))
}

// TestMailShapes has the JSON of messages with every field that one can have,
// and without, beside those of TestEveryVerb.
func TestMailShapes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob", "carol"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.as("bob")
	s.add("task", "--verify", "exit 3")
	ann.ok("claim", "-q")
	ann.run("submit")

	first := ann.send("bob", "the first\nof several lines")
	s.shape("send full", 0, "send", "bob", "text", "--task", "1", "--key", "k", "--later", "--hold", "--expects-reply", "--deadline", "1h")
	s.shape("send repeated", 0, "send", "bob", "text", "--key", "k", "--hold")
	if r := ann.runIn("\xff binary", "send", "bob", "-"); r.code != 0 {
		t.Fatal(r)
	}
	bob.shape("inbox open", 0, "inbox", "--open")
	bob.shape("recv some", 0, "recv", "--max", "2")
	bob.shape("recv binary", 0, "recv")
	bob.shape("inbox all", 0, "inbox", "--all")
	ann.shape("recv notice", 0, "recv")
	bob.shape("reply", 0, "reply", first, "the answer")
	bob.shape("reply to the leader", 0, "reply", s.mail("sent").Messages[0].ID, "a report", "--status", "in_progress", "--allow-empty")
	s.shape("recv report", 0, "recv")
	ann.shape("thread", 0, "thread", first)
	ann.shape("read", 0, "read", first, "--as", "bob", "--peek")
	ann.shape("sent", 0, "sent")
	bob.shape("unread", 0, "unread", first)
	bob.ok("leave", "-q")
	ann.shape("sent undelivered", 0, "sent", "--unread")
	ann.recv()
	s.shape("send held", 0, "send", "bob", "", "--allow-empty", "--hold")

	// To several, one of whom has a mailbox that is none.
	box := s.team("carol", "inbox")
	if err := os.RemoveAll(box); err != nil {
		t.Fatal(err)
	}
	write(t, box, "in the way")
	s.shape("send partly", 1, "send", "all", "to those who can")
	ann.shape("sent partly", 1, "sent")
	// The same for people: what was done on stdout, what was not on stderr.
	r := s.exits(1, "send", "ann,carol", "again")
	if !strings.HasPrefix(r.out, "✓ sent ") || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.err, box) {
		t.Errorf("%s", r)
	}
}

// TestMailText is the text of mail for people and for agents.
func TestMailText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.as("bob")
	out := ann.ok("send", "bob", `<b> & "quoted" </agent-message>`)
	id := strings.Fields(out)[2]
	if out != "✓ sent "+id+" · 31 bytes · queued" {
		t.Errorf("%q", out)
	}
	out = ann.ok("send", "bob,leader", "to both")
	if lines := strings.Split(out, "\n"); len(lines) != 2 || !strings.HasSuffix(lines[0], " to bob · 7 bytes · queued") || !strings.HasSuffix(lines[1], " to leader · 7 bytes · outbox") {
		t.Errorf("%q", out)
	}
	s.send("bob", "a question", "--expects-reply")
	want := `<agent-message from="ann" id="` + id + `">
&lt;b> &amp; "quoted" &lt;/agent-message>
</agent-message>
`
	r := bob.exits(0, "recv", "--format", "agent", "--max", "1")
	if r.out != want || r.err != "2 newer unread\n" {
		t.Errorf("%s", r)
	}
	r = bob.exits(0, "recv", "--format", "agent")
	if strings.Count(r.out, "<agent-message ") != 2 || !strings.Contains(r.out, ` expects-reply="true">`) || r.err != "" {
		t.Errorf("%s", r)
	}
	if r := bob.run("recv"); r.code != 2 || r.out != "" || r.err != "teams: no mail for bob\nhint: teams recv --wait waits for some\n" {
		t.Errorf("%s", r)
	}
	if out := bob.ok("inbox"); out != "no mail for bob" {
		t.Errorf("%q", out)
	}
	ann.send("leader", "finished\nand more", "--status", "completed", "--task", "t_1")
	if r := s.exits(0, "recv", "--format", "agent"); !strings.Contains(r.out, `" status="completed" task="t_1">`+"\nfinished\nand more\n</agent-message>\n") {
		t.Errorf("%s", r)
	}
	table := bob.ok("inbox", "--all")
	for _, want := range []string{"○", "just now", "ann", "a question", id} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in %q", want, table)
		}
	}
}

// TestMailViewsAgree compares, after each verb, the listing in text, the one in
// JSON, and the files.
func TestMailViewsAgree(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	bob := s.as("bob")
	agree := func(what string, want ...string) {
		t.Helper()
		var inJSON []string
		for _, m := range bob.mail("inbox").Messages {
			inJSON = append(inJSON, m.ID)
		}
		text := strings.Fields(bob.exits(0, "inbox", "-q").out)
		all := bob.mail("inbox", "--all")
		if strings.Join(inJSON, " ") != strings.Join(want, " ") || strings.Join(text, " ") != strings.Join(want, " ") || files(t, s.team("bob", "inbox", "new")) != len(want) {
			t.Errorf("%s: text %q, JSON %q, want %q", what, text, inJSON, want)
		}
		if all.Unread != len(want) || all.Total != len(want)+files(t, s.team("bob", "inbox", "cur")) {
			t.Errorf("%s: of all: %d, unread %d", what, all.Total, all.Unread)
		}
	}
	agree("nothing")
	one, two, three := s.send("bob", "one"), s.send("bob", "two"), s.send("bob", "three")
	agree("sent", one, two, three)
	bob.ok("read", two)
	agree("read", one, three)
	bob.ok("read", three, "--peek")
	agree("peek", one, three)
	bob.ok("recv", "--max", "1")
	agree("recv --max 1", three)
	bob.ok("unread", one)
	agree("unread", one, three)
	bob.ok("reply", one, "yes")
	agree("reply", one, three)
	bob.ok("recv")
	agree("recv")
	bob.ok("unread", two)
	// A file with nothing but a body, put there by hand, is a message too.
	write(t, s.team("bob", "inbox", "new", "note.md"), "by hand\nwithout a header")
	agree("by hand", two, "note")
	got := bob.recv()
	wantLines(t, "by hand", got, "leader two", "unknown by hand")
	if len(got) == 2 && got[1].Body != "by hand\nwithout a header" {
		t.Errorf("%+v", got[1])
	}
	agree("received")
	// Answered it cannot be, since nobody knows whom.
	bob.fails(4, "conflict", "reply", "note", "thanks")
}
