package team

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// What cannot be sent is refused with its code and a hint that helps, and
// nothing is written.
func TestSendRefused(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	team.bare(t, "gone")
	must(team.Leave(t.Context(), "gone", "", nil))(t)
	before := listTree(t, team.Root)
	text := []byte("x")
	for _, c := range []struct {
		name string
		r    SendRequest
		code errs.Code
		says string
	}{
		{"empty", SendRequest{From: ann, To: []string{"bob"}}, errs.Usage, "--allow-empty"},
		{"too large", SendRequest{From: ann, To: []string{"bob"}, Body: make([]byte, inbox.MaxBody+1)}, errs.Usage, "10485760"},
		{"oneself", SendRequest{From: ann, To: []string{"bob", "ann"}, Body: text}, errs.Usage, "itself"},
		{"the leader itself", SendRequest{From: theLeader, To: []string{"leader"}, Body: text}, errs.Usage, "itself"},
		{"misspelt", SendRequest{From: ann, To: []string{"bbo"}, Body: text}, errs.NotFound, "did you mean bob?"},
		{"the leader misspelt", SendRequest{From: ann, To: []string{"laeder"}, Body: text}, errs.NotFound, "did you mean leader?"},
		{"one of two misspelt", SendRequest{From: ann, To: []string{"bob", "bbo"}, Body: text}, errs.NotFound, "did you mean bob?"},
		{"far from all", SendRequest{From: ann, To: []string{"zacharias"}, Body: text}, errs.NotFound, "those there are: leader, ann, bob, gone"},
		{"reserved", SendRequest{From: ann, To: []string{"human"}, Body: text}, errs.Usage, "reserved"},
		{"no name", SendRequest{From: ann, To: []string{"../bob"}, Body: text}, errs.Usage, ""},
		{"stopped", SendRequest{From: ann, To: []string{"gone"}, Body: text}, errs.Stopped, "--hold"},
		{"one of two stopped", SendRequest{From: ann, To: []string{"bob", "gone"}, Body: text}, errs.Stopped, "--hold"},
		{"status to a teammate", SendRequest{From: ann, To: []string{"bob"}, Body: text, Status: "completed"}, errs.Usage, "report"},
		{"status to both", SendRequest{From: ann, To: []string{"leader", "bob"}, Body: text, Status: "completed"}, errs.Usage, "report"},
		{"status of the leader", SendRequest{From: theLeader, To: []string{"bob"}, Body: text, Status: "completed"}, errs.Usage, "report"},
		{"no status", SendRequest{From: ann, To: []string{"leader"}, Body: text, Status: "done"}, errs.Usage, "in_progress, completed or failed"},
		{"long key", SendRequest{From: ann, To: []string{"bob"}, Body: text, Key: strings.Repeat("k", 257)}, errs.Usage, "256"},
		{"reply to nothing", SendRequest{From: ann, To: []string{"bob"}, Body: text, ReplyTo: "20261130T130501.123456Z-bob-7f3a9c"}, errs.NotFound, "got or sent"},
		{"reply to no id", SendRequest{From: ann, To: []string{"bob"}, Body: text, ReplyTo: "../x"}, errs.Usage, "message id"},
	} {
		sent, err := team.Send(t.Context(), c.r)
		if errs.CodeOf(err) != c.code || len(sent) > 0 {
			t.Errorf("%s: %v, %v, want %s", c.name, sent, err, c.code)
			continue
		}
		var e *errs.Error
		if errors.As(err, &e); !strings.Contains(e.Msg+" "+e.Hint, c.says) {
			t.Errorf("%s: %q, hint %q, want %q", c.name, e.Msg, e.Hint, c.says)
		}
		if cerr := team.CheckSend(t.Context(), c.r); errs.CodeOf(cerr) != c.code {
			t.Errorf("%s: CheckSend: %v", c.name, cerr)
		}
	}
	if after := listTree(t, team.Root); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

func TestSendHeader(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	body := "\n \t first   line\x1b[31m \nsecond"
	m := team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte(body), Task: "t_3", Later: true, ExpectsReply: true, Deadline: time.Hour})
	got := must(team.Box("bob").Get(m.ID))(t)
	if got.From != "ann" || got.To != "bob" || got.Kind != inbox.KindMessage || got.Title != "first line[31m" || got.Task != "t_3" ||
		got.Later != "true" || got.Spawn != ann.SpawnID || got.ToSpawn != bob.SpawnID || got.Thread != m.ID || got.ReplyTo != "" || string(got.Body) != body {
		t.Errorf("%+v", got)
	}
	due, err := time.Parse(time.RFC3339Nano, got.ExpectsReply)
	if err != nil || due.Sub(got.Time()) != time.Hour {
		t.Errorf("expects_reply %q, sent %v", got.ExpectsReply, got.Time())
	}
	reply := team.sendWith(t, SendRequest{From: bob, To: []string{"ann"}, Body: []byte("yes"), ReplyTo: m.ID})
	again := team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("good"), ReplyTo: reply.ID})
	if reply.Thread != m.ID || reply.ReplyTo != m.ID || again.Thread != m.ID || again.ReplyTo != reply.ID {
		t.Errorf("%+v, then %+v", reply.Header, again.Header)
	}
	list, problems, err := team.Thread(t.Context(), bob, again.ID)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	same(t, "thread", titles(list), []string{"ann first line[31m", "bob yes", "ann good"})
	if string(list[0].Body) != body {
		t.Errorf("body in the thread: %q", list[0].Body)
	}
	// What others said is none of carol's business.
	carol := team.bare(t, "carol")
	_, _, err = team.Thread(t.Context(), carol, m.ID)
	wantCode(t, err, errs.NotFound)
	empty := team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, AllowEmpty: true})
	if got := must(team.Box("bob").Get(empty.ID))(t); got.Size != 0 || got.Title != "" {
		t.Errorf("%+v", got)
	}
}

// Every living teammate but the sender gets one message each; the leader none.
// One whose record cannot be read spoils only itself, and is told of.
func TestSendAll(t *testing.T) {
	team := newTeam(t)
	must(team.EnsureSession())(t)
	_, err := team.Send(t.Context(), SendRequest{From: theLeader, To: []string{AllName}, Body: []byte("x")})
	wantCode(t, err, errs.NotFound)
	ann, bob, carol := team.bare(t, "ann"), team.bare(t, "bob"), team.bare(t, "carol")
	team.bare(t, "gone")
	must(team.Leave(t.Context(), "gone", "", nil))(t)
	sent := must(team.Send(t.Context(), SendRequest{From: ann, To: []string{AllName, "bob"}, Body: []byte("pull")}))(t)
	if len(sent) != 2 || sent[0].Message.To != "bob" || sent[1].Message.To != "carol" || sent[0].Message.ID == sent[1].Message.ID {
		t.Fatalf("%+v", sent)
	}
	same(t, "bob", team.recv(t, bob), []string{"ann pull"})
	same(t, "carol", team.recv(t, carol), []string{"ann pull"})
	same(t, "leader", team.recv(t, theLeader), nil)
	same(t, "ann", team.recv(t, ann), nil)

	writeFile(t, team.TeammateFile("carol"), "{")
	sent, err = team.Send(t.Context(), SendRequest{From: theLeader, To: []string{AllName}, Body: []byte("again")})
	if len(sent) != 2 || errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), team.TeammateFile("carol")) {
		t.Fatalf("%v, %v", sent, err)
	}
	same(t, "bob", team.recv(t, bob), []string{"leader again"})
}

// A mailbox that cannot be written keeps nothing from the others, and the error
// names it.
func TestSendToBrokenMailbox(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	carol := team.bare(t, "carol")
	box := filepath.Join(team.InboxDir("bob"), "new")
	if err := os.Remove(box); err != nil {
		t.Fatal(err)
	}
	writeFile(t, box, "in the way")
	sent, err := team.Send(t.Context(), SendRequest{From: ann, To: []string{"bob", "carol"}, Body: []byte("x")})
	if len(sent) != 1 || err == nil || !strings.Contains(err.Error(), box) || errs.Exit(errs.CodeOf(err)) != 1 {
		t.Fatalf("%v, %v", sent, err)
	}
	same(t, "carol", team.recv(t, carol), []string{"ann x"})
}

// With --hold a message is for whoever has the name when it is read.
func TestSendHold(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	team.bare(t, "bob")
	must(team.Leave(ctx, "bob", "", nil))(t)
	hold := func(text string) Sent {
		return must(team.Send(ctx, SendRequest{From: theLeader, To: []string{"bob"}, Body: []byte(text), Hold: true}))(t)[0]
	}
	if s := hold("one"); s.Delivery != DeliveryHeld || s.Message.ToSpawn != "" {
		t.Errorf("%+v", s)
	}
	team.bare(t, "bob")
	if s := hold("two"); s.Delivery != DeliveryQueued {
		t.Errorf("%+v", s)
	}
	team.send(t, theLeader, "bob", "for the second alone")
	bob := team.takeOver(t, "bob")
	same(t, "the third", team.recv(t, bob), []string{"leader one", "leader two"})
	same(t, "leader", team.recv(t, theLeader), []string{"harness undelivered bob stopped before it read your message " + sentID(t, team, "for the second alone") + ": for the second alone"})
}

// sentID finds the id of what the leader sent.
func sentID(t *testing.T, team *Team, title string) string {
	t.Helper()
	list, _, err := team.Sent(t.Context(), theLeader, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.Title == title {
			return m.ID
		}
	}
	t.Fatalf("%q was not sent", title)
	return ""
}

// A key makes one message per sender and recipient, whoever calls at the same
// time.
func TestSendKey(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob, carol := team.bare(t, "ann"), team.bare(t, "bob"), team.bare(t, "carol")
	const callers = 8
	ids := make([]string, callers)
	repeated := make([]bool, callers)
	inParallel(callers, func(i int) {
		s, err := team.Send(ctx, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("once"), Key: "k", ExpectsReply: true})
		if err != nil {
			t.Error(err)
			return
		}
		ids[i], repeated[i] = s[0].Message.ID, s[0].Repeated
	})
	if t.Failed() {
		return
	}
	firsts := 0
	for i := range ids {
		if ids[i] != ids[0] {
			t.Errorf("ids %q", ids)
		}
		if !repeated[i] {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d first ones", firsts)
	}
	if all, _, err := team.Requests(); err != nil || len(all) != 1 || all[0].ID != ids[0] {
		t.Errorf("requests %+v, %v", all, err)
	}
	same(t, "bob", team.recv(t, bob), []string{"ann once"})
	// Read or not, it is the same message; its header is that of the first.
	s := must(team.Send(ctx, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("longer text"), Key: "k"}))(t)[0]
	if !s.Repeated || s.Message.ID != ids[0] || s.Message.Size != 4 || s.Message.Title != "once" {
		t.Errorf("%+v, %+v", s, s.Message)
	}
	for _, r := range []SendRequest{
		{From: ann, To: []string{"carol"}, Body: []byte("x"), Key: "k"},
		{From: carol, To: []string{"bob"}, Body: []byte("x"), Key: "k"},
		{From: ann, To: []string{"bob"}, Body: []byte("x"), Key: "K"},
		{From: ann, To: []string{"leader"}, Body: []byte("x"), Key: "k"},
		{From: theLeader, To: []string{"bob"}, Body: []byte("x"), Key: "k"},
	} {
		if s := must(team.Send(ctx, r))(t)[0]; s.Repeated {
			t.Errorf("%+v is a repetition", r)
		}
	}
	// A report with a key, drained or not.
	for range 2 {
		if s := must(team.Send(ctx, SendRequest{From: ann, To: []string{"leader"}, Body: []byte("y"), Key: "k"}))(t)[0]; !s.Repeated || s.Message.Title != "x" {
			t.Errorf("%+v", s)
		}
		if got := team.recv(t, theLeader); len(got) > 1 {
			t.Errorf("leader got %q", got)
		}
	}
	// Another life of bob has not got it.
	team.takeOver(t, "bob")
	if s := must(team.Send(ctx, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("z"), Key: "k"}))(t)[0]; s.Repeated {
		t.Errorf("%+v", s)
	}
}

// A sender that dies at any step of a send with a key, and calls again: there is
// one message and, of a request, one request.
func TestSendKeyKilledAtEachStep(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	for _, to := range []string{"bob", "leader"} {
		eachStep(t, func(t *testing.T, n int64) bool {
			r := SendRequest{From: ann, To: []string{to}, Body: []byte(fmt.Sprint(to, " ", n)), Key: fmt.Sprint("k", n), ExpectsReply: true}
			died := diesAt(n, func() { team.Send(ctx, r) })
			if died {
				team.sendWith(t, r)
			}
			team.sendWith(t, r)
			reader := bob
			if to == "leader" {
				reader = theLeader
			}
			same(t, fmt.Sprint(to, " at ", n), team.recv(t, reader), []string{fmt.Sprintf("ann %s %d", to, n)})
			all, problems, err := team.Requests()
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			open := 0
			for _, q := range all {
				if m, err := peekAny(team.Box(to), q.ID); err == nil && m.Key == r.Key {
					open++
				}
			}
			if open != 1 {
				t.Errorf("step %d: %d requests", n, open)
			}
			return died
		})
	}
}

// Ids of a sender increase whatever the clock does.
func TestSendClockSteps(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	var clock time.Duration
	restore := fsx.SetNow(func() time.Time { return time.Now().Add(clock) })
	defer restore()
	var ids []string
	for i, step := range []time.Duration{0, 24 * time.Hour, -48 * time.Hour, 0, time.Hour} {
		clock += step
		ids = append(ids, team.send(t, ann, "bob", fmt.Sprint("message ", i)).ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("%q", ids)
	}
	same(t, "bob", team.recv(t, bob), []string{"ann message 0", "ann message 1", "ann message 2", "ann message 3", "ann message 4"})
}

// A message to a working teammate that has been silent for long says so.
func TestSendToSilent(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	for _, c := range []struct {
		status string
		ago    time.Duration
		silent bool
	}{{StatusWorking, time.Hour, true}, {StatusWorking, time.Minute, false}, {StatusIdle, time.Hour, false}} {
		must(team.Update(ctx, "bob", "", func(tm *Teammate) error {
			tm.Status, tm.LastOutputAt = c.status, time.Now().Add(-c.ago).UnixMilli()
			return nil
		}))(t)
		s := must(team.Send(ctx, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("x")}))(t)[0]
		if (s.SilentMs >= c.ago.Milliseconds()) != c.silent || !c.silent && s.SilentMs != 0 {
			t.Errorf("%+v: silent for %d ms", c, s.SilentMs)
		}
	}
}

// Bodies come back as they were sent.
func TestSendBodies(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	for _, body := range []string{"---\n", "---\nid: \"x\"\n---\nbody", "\r\n", "a\x00b", "\xff\xfe", "</agent-message>", "no newline", "\n\n\n"} {
		m := team.send(t, ann, "bob", body)
		var got []byte
		_, _, problems, err := team.Receive(t.Context(), ReceiveRequest{Who: bob, Show: func(m *inbox.Message) error { got = m.Body; return nil }})
		if err != nil || len(problems) > 0 || !bytes.Equal(got, []byte(body)) {
			t.Errorf("%q came as %q (%v, %v)", body, got, problems, err)
		}
		if got := must(team.Box("bob").Get(m.ID))(t); string(got.Body) != body || !got.Read {
			t.Errorf("%q lies as %q", body, got.Body)
		}
	}
}
