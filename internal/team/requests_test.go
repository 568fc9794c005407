package team

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// ask sends a request.
func (t *Team) ask(tt *testing.T, from Identity, to, text string) *inbox.Message {
	tt.Helper()
	return t.sendWith(tt, SendRequest{From: from, To: []string{to}, Body: []byte(text), ExpectsReply: true})
}

// reply answers a message.
func (t *Team) reply(tt *testing.T, from Identity, id, text string) *inbox.Message {
	tt.Helper()
	to, err := t.ReplyRecipient(tt.Context(), from, id)
	if err != nil {
		tt.Fatal(err)
	}
	return t.sendWith(tt, SendRequest{From: from, To: []string{to}, Body: []byte(text), ReplyTo: id})
}

// owed is what a caller owes, in short.
func (t *Team) owed(tt *testing.T, who Identity) []string {
	tt.Helper()
	list, problems, err := t.Owed(tt.Context(), who)
	if err != nil || len(problems) > 0 {
		tt.Fatal(problems, err)
	}
	return titles(list)
}

// open lists the open requests by their titles.
func (t *Team) open(tt *testing.T) []string {
	tt.Helper()
	all, problems, err := t.Requests()
	if err != nil || len(problems) > 0 {
		tt.Fatal(problems, err)
	}
	var out []string
	for _, r := range all {
		out = append(out, r.Title)
	}
	return out
}

// A request is owed until its recipient replies to its sender, and to nobody
// else; a second reply is just a message.
func TestRequestIsSettled(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob, carol := team.bare(t, "ann"), team.bare(t, "bob"), team.bare(t, "carol")
	q := team.ask(t, ann, "bob", "which port?")
	team.ask(t, theLeader, "bob", "done yet?")
	up := team.ask(t, bob, LeaderName, "may I?")
	same(t, "bob owes", team.owed(t, bob), []string{"ann which port?", "leader done yet?"})
	same(t, "the leader owes", team.owed(t, theLeader), []string{"bob may I?"})
	same(t, "ann owes", team.owed(t, ann), nil)
	team.recv(t, bob)
	same(t, "read, and still owed", team.owed(t, bob), []string{"ann which port?", "leader done yet?"})
	// About it, and no reply.
	team.sendWith(t, SendRequest{From: bob, To: []string{"carol"}, Body: []byte("do you know?"), ReplyTo: q.ID})
	team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("please"), ReplyTo: q.ID})
	team.send(t, bob, "ann", "wait")
	same(t, "bob owes", team.owed(t, bob), []string{"ann which port?", "leader done yet?"})
	team.reply(t, bob, q.ID, "80")
	same(t, "bob owes", team.owed(t, bob), []string{"leader done yet?"})
	team.reply(t, bob, q.ID, "no, 81")
	for _, r := range must(team.Owed2(ctx, bob))(t) {
		team.reply(t, bob, r.ID, "nearly")
	}
	team.reply(t, theLeader, up.ID, "you may")
	same(t, "bob owes", team.owed(t, bob), nil)
	same(t, "open", team.open(t), nil)
	same(t, "carol", team.recv(t, carol), []string{"bob do you know?"})
	same(t, "ann", team.recv(t, ann), []string{"bob wait", "bob 80", "bob no, 81"})
	same(t, "leader", team.recv(t, theLeader), []string{"bob may I?", "bob nearly"})
	_, err := team.ReplyRecipient(ctx, carol, q.ID)
	wantCode(t, err, errs.NotFound)
	// A notice has nobody behind it who reads.
	team.send(t, ann, "carol", "never read")
	team.takeOver(t, "carol")
	list, _, err := team.Inbox(ctx, ann, false)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	_, err = team.ReplyRecipient(ctx, ann, list[0].ID)
	wantCode(t, err, errs.Conflict)
}

// Owed2 is Owed for a caller that takes problems for errors.
func (t *Team) Owed2(ctx context.Context, who Identity) ([]*inbox.Message, error) {
	list, problems, err := t.Owed(ctx, who)
	return list, errors.Join(append(problems, err)...)
}

// What a predecessor was asked, a successor does not owe.
func TestRequestOfALife(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	team.ask(t, ann, "bob", "read before")
	team.recv(t, bob)
	team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("for anybody"), ExpectsReply: true, Hold: true})
	bob = team.takeOver(t, "bob")
	same(t, "bob owes", team.owed(t, bob), []string{"ann for anybody"})
}

// A sender that dies at any step of a reply: it is settled when the reply is
// there, whoever looks.
func TestReplyKilledAtEachStep(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	eachStep(t, func(t *testing.T, n int64) bool {
		q := team.ask(t, ann, "bob", fmt.Sprint("question ", n))
		died := diesAt(n, func() {
			team.Send(t.Context(), SendRequest{From: bob, To: []string{"ann"}, Body: []byte("answer"), ReplyTo: q.ID})
		})
		answers := len(team.recv(t, ann))
		if owed := len(team.owed(t, bob)); owed+answers != 1 {
			t.Errorf("step %d: %d answers, %d owed", n, answers, owed)
		}
		if answers == 0 {
			team.reply(t, bob, q.ID, "answer")
			team.recv(t, ann)
		}
		if _, problems := team.remind(t.Context(), time.Nanosecond); len(problems) > 0 {
			t.Error(problems)
		}
		same(t, "open", team.open(t), nil)
		same(t, "ann", team.recv(t, ann), nil)
		return died
	})
}

// await waits for the reply in the background.
func (t *Team) await(tt *testing.T, ctx context.Context, who Identity, m *inbox.Message) <-chan string {
	out := make(chan string, 1)
	w := t.NewMailWaiter(who, 10*time.Millisecond)
	go func() {
		defer w.Close()
		text := ""
		err := t.AwaitReply(ctx, who, RequestOf(m), w, func(m *inbox.Message) error { text = line(m); return nil })
		if err != nil {
			text = string(errs.CodeOf(err))
		}
		out <- text
	}()
	return out
}

func wantSoon(t *testing.T, what string, c <-chan string, want string) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: it waits on", what)
	}
}

func TestAwaitReply(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	for _, who := range []Identity{ann, theLeader} {
		what := who.Name
		// The reply, and nothing else.
		q := team.ask(t, who, "bob", "question")
		wait := team.await(t, ctx, who, q)
		team.send(t, bob, who.Name, "something else")
		team.reply(t, bob, q.ID, "the answer")
		wantSoon(t, what, wait, "bob the answer")
		same(t, what+" has left", team.recv(t, who), []string{"bob something else"})
		// It was there already, and even read already.
		for _, read := range []bool{false, true} {
			q = team.ask(t, who, "bob", "question")
			team.reply(t, bob, q.ID, "the quick answer")
			if read {
				team.recv(t, who)
			}
			wantSoon(t, what+", there already", team.await(t, ctx, who, q), "bob the quick answer")
			same(t, what+" has left", team.recv(t, who), nil)
		}
		// The time is over.
		short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		q = team.ask(t, who, "bob", "question")
		wantSoon(t, what+", too late", team.await(t, short, who, q), string(errs.TimedOut))
		cancel()
		// It stopped; its last word counts.
		q = team.ask(t, who, "bob", "question")
		wait = team.await(t, ctx, who, q)
		other := team.ask(t, who, "bob", "another")
		lost := team.await(t, ctx, who, other)
		team.reply(t, bob, q.ID, "the last answer")
		must(team.Leave(ctx, "bob", "", nil))(t)
		wantSoon(t, what+", last word", wait, "bob the last answer")
		wantSoon(t, what+", stopped", lost, string(errs.RecipientStopped))
		// One that was held waits for whoever comes.
		held := team.sendWith(t, SendRequest{From: who, To: []string{"bob"}, Body: []byte("held"), ExpectsReply: true, Hold: true})
		wait = team.await(t, ctx, who, held)
		bob = team.bare(t, "bob")
		team.recv(t, bob)
		team.reply(t, bob, held.ID, "here I am")
		wantSoon(t, what+", held", wait, "bob here I am")
		// Replaced.
		q = team.ask(t, who, "bob", "question")
		wait = team.await(t, ctx, who, q)
		bob = team.takeOver(t, "bob")
		wantSoon(t, what+", replaced", wait, string(errs.RecipientStopped))
		team.recv(t, who)
	}
	// The one who waits is over itself.
	q := team.ask(t, ann, "bob", "question")
	wait := team.await(t, ctx, ann, q)
	team.takeOver(t, "ann")
	wantSoon(t, "the asker replaced", wait, string(errs.StaleIdentity))
	// A leader who answers.
	q = team.ask(t, bob, LeaderName, "may I?")
	wait = team.await(t, ctx, bob, q)
	team.drain(t)
	team.reply(t, theLeader, q.ID, "yes")
	wantSoon(t, "the leader", wait, "leader yes")
}

// While another receiver shows the reply, the one who waits for it does not.
func TestAwaitReplyBesideReceiver(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	q := team.ask(t, ann, "bob", "question")
	team.reply(t, bob, q.ID, "answer")
	var wait <-chan string
	_, _, _, err := team.Receive(ctx, ReceiveRequest{Who: ann, Show: func(*inbox.Message) error {
		wait = team.await(t, ctx, ann, q)
		select {
		case got := <-wait:
			t.Errorf("%q beside another", got)
		case <-time.After(60 * time.Millisecond):
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantSoon(t, "after it", wait, "bob answer")
}

// remindAll is one reminding, in short.
func (t *Team) remindAll(tt *testing.T, stale time.Duration) (told int) {
	tt.Helper()
	done, problems := t.remind(tt.Context(), stale)
	if len(problems) > 0 {
		tt.Fatal(problems)
	}
	return len(done)
}

// The sender of a request that stays open is told once; unread notices about
// the same teammate become one, which lists all of them.
func TestRemind(t *testing.T) {
	team := newTeam(t)
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	later := time.Duration(0)
	restore := fsx.SetNow(func() time.Time { return time.Now().Add(later) })
	defer restore()
	first := team.ask(t, ann, "bob", "first question")
	team.ask(t, theLeader, "bob", "the leader's question")
	if n := team.remindAll(t, 5*time.Minute); n != 0 {
		t.Errorf("told %d at once", n)
	}
	later = 6 * time.Minute
	if n := team.remindAll(t, 0); n != 0 {
		t.Errorf("told %d though it is off", n)
	}
	if n := team.remindAll(t, 5*time.Minute) + team.remindAll(t, 5*time.Minute); n != 2 {
		t.Errorf("told %d", n)
	}
	second := team.ask(t, ann, "bob", "second question")
	later = 12 * time.Minute
	if n := team.remindAll(t, 5*time.Minute); n != 1 {
		t.Errorf("told %d", n)
	}
	list, _, err := team.Inbox(t.Context(), ann, false)
	if err != nil || len(list) != 1 || list[0].Event != "stale_wait" {
		t.Fatalf("%v, %v", titles(list), err)
	}
	body := string(must(team.Box("ann").Get(list[0].ID))(t).Body)
	for _, want := range []string{first.ID, second.ID, "first question", "second question", "bob has not replied yet", "12m0s ago"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in %q", want, body)
		}
	}
	if got := team.recv(t, theLeader); len(got) != 1 || matching(got, "stale_wait") != 1 {
		t.Errorf("%q", got)
	}
	// Replied to, it is nobody's business any more.
	team.ask(t, ann, "bob", "third question")
	for _, m := range must(team.Owed2(t.Context(), bob))(t) {
		team.reply(t, bob, m.ID, "answer")
	}
	later = time.Hour
	if n := team.remindAll(t, 5*time.Minute); n != 0 {
		t.Errorf("told %d of what was replied to", n)
	}
}

// A reminder that dies at any step is finished by the next one: one notice.
func TestRemindKilledAtEachStep(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	eachStep(t, func(t *testing.T, n int64) bool {
		team.takeOver(t, "bob")
		q := team.ask(t, ann, "bob", fmt.Sprint("question ", n))
		died := diesAt(n, func() { team.remind(background(), time.Nanosecond) })
		team.remindAll(t, time.Nanosecond)
		team.remindAll(t, time.Nanosecond)
		got := team.recv(t, ann)
		if matching(got, "stale_wait") != 1 {
			t.Errorf("step %d: %q", n, got)
		}
		if err := team.settleRequest(q); err != nil {
			t.Error(err)
		}
		return died
	})
}

// Requests that nobody waits for are forgotten: of a sender whose life is over,
// and those whose message never came. One that cannot be read is told.
func TestRemindForgets(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	team.ask(t, ann, "bob", "of the first ann")
	second := team.takeOver(t, "ann")
	m := &inbox.Message{}
	m.ID, m.From, m.Spawn, m.To, m.Title, m.ExpectsReply = inbox.NewID(time.Now(), "ann"), "ann", second.SpawnID, "bob", "never sent", "true"
	if err := team.openRequest(m); err != nil {
		t.Fatal(err)
	}
	same(t, "bob owes", team.owed(t, team.takeOver(t, "bob")), nil)
	if n := team.remindAll(t, time.Nanosecond); n != 0 {
		t.Errorf("told %d", n)
	}
	same(t, "open", team.open(t), []string{"never sent"})
	restore := fsx.SetNow(func() time.Time { return time.Now().Add(time.Hour) })
	defer restore()
	team.remindAll(t, time.Nanosecond)
	same(t, "open", team.open(t), nil)

	path := filepath.Join(team.requestsDir("ann"), "20261130T130501.123456Z-ann-000000.json")
	writeFile(t, path, "{")
	team.ask(t, second, "bob", "whole")
	all, problems, err := team.Requests()
	if err != nil || len(problems) != 1 || errs.CodeOf(problems[0]) != errs.Corrupt || len(all) != 1 {
		t.Errorf("%v, %v, %v", all, problems, err)
	}
	found := false
	for _, f := range must(team.Check())(t) {
		found = found || strings.Contains(f.Message, path)
	}
	if !found {
		t.Error("doctor says nothing of it")
	}
}
