package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
)

// A recipient that ends, or is replaced, before any step of a send: the message
// reaches the life that it is for, or is refused, or comes back with a notice.
// It is never silently lost, and never told twice.
func TestRecipientReplacedAtEachStep(t *testing.T) {
	for _, c := range []struct {
		name        string
		hold, key   bool
		change      func(t *testing.T, team *Team)
		successor   bool
		everRefused bool
	}{
		{name: "leaves", change: func(t *testing.T, team *Team) { must(team.Leave(t.Context(), "bob", "", nil))(t) }, everRefused: true},
		{name: "is replaced", change: func(t *testing.T, team *Team) { team.takeOver(t, "bob") }, successor: true, everRefused: true},
		{name: "is replaced, key", key: true, change: func(t *testing.T, team *Team) { team.takeOver(t, "bob") }, successor: true, everRefused: true},
		{name: "is replaced twice", change: func(t *testing.T, team *Team) { team.takeOver(t, "bob"); team.takeOver(t, "bob") }, successor: true, everRefused: true},
		{name: "is replaced, hold", hold: true, change: func(t *testing.T, team *Team) { team.takeOver(t, "bob") }, successor: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			team := newTeam(t)
			ann := team.bare(t, "ann")
			team.bare(t, "bob")
			refused, returned, received := 0, 0, 0
			eachStep(t, func(t *testing.T, n int64) bool {
				tm := must(team.Read("bob"))(t)
				if tm.Status == StatusStopped {
					team.bare(t, "bob")
				}
				r := SendRequest{From: ann, To: []string{"bob"}, Body: []byte(fmt.Sprint("message ", n)), Hold: c.hold}
				if c.key {
					r.Key = fmt.Sprint("k", n)
				}
				var sent []Sent
				var err error
				reached := atStep(n, func() { c.change(t, team) }, func() { sent, err = team.Send(t.Context(), r) })
				if code := errs.CodeOf(err); err != nil && (code != errs.Stopped || errs.Exit(code) != 4) {
					t.Errorf("step %d: %v", n, err)
				}
				var got []string
				if c.successor || !reached {
					got = team.recv(t, identityOf(must(team.Read("bob"))(t)))
				}
				notices := team.recv(t, ann)
				switch {
				case len(got) > 1 || len(notices) > 1 || len(got) == 1 && len(notices) == 1:
					t.Errorf("step %d: received %q, notices %q", n, got, notices)
				case len(got) == 1:
					received++
					if err != nil {
						t.Errorf("step %d: received, and refused: %v", n, err)
					}
				case len(notices) == 1:
					returned++
					if matching(notices, "undelivered") != 1 || matching(notices, fmt.Sprint("message ", n)) != 1 {
						t.Errorf("step %d: %q", n, notices)
					}
				case err != nil:
					refused++
				default:
					t.Errorf("step %d: lost: %v", n, sent)
				}
				if c.hold && len(got) != 1 {
					t.Errorf("step %d: held, and not received (%v, %v)", n, sent, err)
				}
				if ids := must(team.Box("bob").IDs(false))(t); len(ids) > 0 {
					t.Errorf("step %d: left unread: %q", n, ids)
				}
				return reached
			})
			t.Logf("received %d, refused %d, returned %d", received, refused, returned)
			if c.everRefused && (refused == 0 || received == 0) {
				t.Error("some outcome never came about")
			}
		})
	}
}

// A sender that ends, or is replaced, before any step of a report, with a drain
// at another: what it was told is true. A report that was sent reaches the
// leader, once; one that was refused never does.
func TestSenderReplacedAtEachStep(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    bool
		change func(t *testing.T, team *Team)
	}{
		{"leaves", false, func(t *testing.T, team *Team) { must(team.Leave(t.Context(), "ann", "", nil))(t) }},
		{"is replaced", false, func(t *testing.T, team *Team) { team.takeOver(t, "ann") }},
		{"is replaced, key", true, func(t *testing.T, team *Team) { team.takeOver(t, "ann") }},
		{"is replaced, drained", false, func(t *testing.T, team *Team) {
			team.takeOver(t, "ann")
			if _, problems, err := team.DrainReports(t.Context()); err != nil || len(problems) > 0 {
				t.Error(problems, err)
			}
		}},
		{"drained", false, func(t *testing.T, team *Team) {
			if _, problems, err := team.DrainReports(t.Context()); err != nil || len(problems) > 0 {
				t.Error(problems, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			team := newTeam(t)
			accepted, refused := 0, 0
			eachStep(t, func(t *testing.T, n int64) bool {
				ann := team.takeOver(t, "ann")
				r := SendRequest{From: ann, To: []string{LeaderName}, Body: []byte(fmt.Sprint("report ", n)), Status: inbox.StatusCompleted}
				if c.key {
					r.Key = "k"
				}
				var err error
				reached := atStep(n, func() { c.change(t, team) }, func() { _, err = team.Send(t.Context(), r) })
				if code := errs.CodeOf(err); err != nil && (code != errs.StaleIdentity || errs.Exit(code) != 5) {
					t.Errorf("step %d: %v", n, err)
				}
				got := team.recv(t, theLeader)
				switch {
				case len(got) > 1:
					t.Errorf("step %d: %q", n, got)
				case err == nil && len(got) == 0:
					t.Errorf("step %d: sent, and lost", n)
				case err != nil && len(got) == 1:
					t.Errorf("step %d: refused, and delivered: %v", n, err)
				case err == nil:
					accepted++
				default:
					refused++
				}
				if ids, err := team.Outbox("ann").IDs(); err != nil || len(ids) > 0 {
					t.Errorf("step %d: left in the outbox: %q, %v", n, ids, err)
				}
				return reached
			})
			rejected, err := team.Outbox("ann").Rejected()
			t.Logf("accepted %d, refused %d, of which rejected by a drain %d (%v)", accepted, refused, len(rejected), err)
			if accepted == 0 || refused == 0 && c.name != "drained" {
				t.Error("some outcome never came about")
			}
		})
	}
}

// TestReportRejectedMeanwhile has a sender whose life was over before, and a
// drain at each step that rejects what the second look would take back: the
// sender is told all the same.
func TestReportRejectedMeanwhile(t *testing.T) {
	team := newTeam(t)
	rejected := 0
	eachStep(t, func(t *testing.T, n int64) bool {
		old := team.takeOver(t, "ann")
		team.takeOver(t, "ann")
		var err error
		reached := atStep(n, func() { rejected += matching(team.drain(t), "rejected") }, func() {
			_, err = team.Send(t.Context(), SendRequest{From: old, To: []string{LeaderName}, Body: []byte("late")})
		})
		wantCode(t, err, errs.StaleIdentity)
		same(t, fmt.Sprint("leader at step ", n), team.recv(t, theLeader), nil)
		return reached
	})
	if rejected == 0 {
		t.Error("no drain was quicker")
	}
}

// ended is a team in which bob's life ends with something of each kind waiting.
type ended struct {
	*Team
	ann, bob Identity
}

func newEnded(t *testing.T) *ended {
	team := newTeam(t)
	e := &ended{Team: team, ann: team.bare(t, "ann"), bob: team.bare(t, "bob")}
	e.send(t, e.bob, LeaderName, "my last words")
	e.send(t, e.ann, "bob", "from ann")
	e.send(t, theLeader, "bob", "from the leader")
	e.sendWith(t, SendRequest{From: e.ann, To: []string{"bob"}, Body: []byte("for whoever comes"), Hold: true})
	return e
}

// settled checks what has to be true once somebody has finished bob's end, and
// that a successor gets only what is for it.
func (e *ended) settled(t *testing.T, what string) {
	t.Helper()
	tm := must(e.Read("bob"))(t)
	if !tm.Drained {
		t.Errorf("%s: not drained: %+v", what, tm)
	}
	same(t, what+", leader", e.recv(t, theLeader), []string{"bob my last words", "harness undelivered bob stopped before it read your message " + e.idOf(t, "from the leader") + ": from the leader"})
	notices := e.recv(t, e.ann)
	if len(notices) != 1 || matching(notices, "undelivered bob stopped before it read your message") != 1 {
		t.Errorf("%s: notices to ann: %q", what, notices)
	}
	next := tm
	if tm.SpawnID == e.bob.SpawnID {
		next = must(e.Join(t.Context(), JoinRequest{Name: "bob"}))(t)
	}
	if next.PreviousSpawnID != e.bob.SpawnID {
		t.Errorf("%s: %+v does not follow %s", what, next, e.bob.SpawnID)
	}
	same(t, what+", the successor", e.recv(t, identityOf(next)), []string{"ann for whoever comes"})
	if ids, err := e.Outbox("bob").IDs(); err != nil || len(ids) > 0 {
		t.Errorf("%s: outbox %q, %v", what, ids, err)
	}
}

// copy is the same team, file by file, in a root of its own.
func (e *ended) copy(t *testing.T) *ended {
	t.Helper()
	c := *e
	c.Team = newTeam(t)
	if err := os.CopyFS(c.Root, os.DirFS(e.Root)); err != nil {
		t.Fatal(err)
	}
	return &c
}

func (e *ended) idOf(t *testing.T, title string) string {
	t.Helper()
	for _, read := range []bool{false, true} {
		for _, id := range must(e.Box("bob").IDs(read))(t) {
			if m, err := e.Box("bob").Peek(id, read); err == nil && m.Title == title {
				return id
			}
		}
	}
	t.Fatalf("%q is not in bob's mailbox", title)
	return ""
}

// Whoever ends a life dies at any step of it; whoever finds that finishes it:
// a tick, doctor --fix, the next one who takes the name, or the same call again.
func TestEndKilledAtEachStep(t *testing.T) {
	ends := map[string]func(ctx context.Context, e *ended) error{
		"leave": func(ctx context.Context, e *ended) error { _, err := e.Leave(ctx, "bob", "", nil); return err },
		"takeover": func(ctx context.Context, e *ended) error {
			_, err := e.Join(ctx, JoinRequest{Name: "bob", Takeover: true})
			return err
		},
	}
	finishes := []struct {
		name string
		f    func(t *testing.T, e *ended)
	}{
		{"tick", func(t *testing.T, e *ended) {
			r := TickReport{}
			e.tickMail(t.Context(), &r)
			if len(r.Problems) > 0 {
				t.Error(r.Problems)
			}
		}},
		{"doctor", func(t *testing.T, e *ended) {
			if err := fix(t, e.Team); err != nil {
				t.Error(err)
			}
		}},
		{"join", func(t *testing.T, e *ended) {
			_, err := e.Join(t.Context(), JoinRequest{Name: "bob"})
			if tm := must(e.Read("bob"))(t); tm.SpawnID == e.bob.SpawnID || err != nil && errs.CodeOf(err) != errs.NameTaken {
				t.Errorf("%+v, %v", tm, err)
			}
		}},
		{"leave again", func(t *testing.T, e *ended) { must(e.Leave(t.Context(), "bob", "", nil))(t) }},
	}
	fresh := newEnded(t)
	for end, f := range ends {
		t.Run(end, func(t *testing.T) {
			eachStep(t, func(t *testing.T, n int64) bool {
				if !*long && n%7 != 0 {
					return true
				}
				e := fresh.copy(t)
				var err error
				died := diesAt(n, func() { err = f(background(), e) })
				if err != nil {
					wantDied(t, err) // at the very end it may have done all
				}
				tm := must(e.Read("bob"))(t)
				if tm.SpawnID == e.bob.SpawnID && tm.Status != StatusStopped {
					must(e.Leave(t.Context(), "bob", e.bob.SpawnID, nil))(t) // it never began
				}
				// The ways of finishing take turns.
				finish := finishes[n%int64(len(finishes))]
				if end == "takeover" && finish.name == "leave again" {
					finish = finishes[0] // that would be the end of the successor
				}
				finish.f(t, e)
				e.settled(t, fmt.Sprintf("%s, step %d, then %s", end, n, finish.name))
				return died
			})
		})
	}
}

// While somebody finishes the end of a life, others do too.
func TestEndFinishedByMany(t *testing.T) {
	for range 5 {
		e := newEnded(t)
		drain := e.Drain
		e.Drain = func(context.Context, Teammate) error { return errors.New("later") }
		if _, err := e.Leave(t.Context(), "bob", "", nil); err == nil {
			t.Fatal("the end was finished")
		}
		e.Drain = drain
		inParallel(6, func(i int) {
			team := *e.Team
			switch i % 3 {
			case 0:
				r := TickReport{}
				team.tickMail(t.Context(), &r)
				if len(r.Problems) > 0 {
					t.Error(r.Problems)
				}
			case 1:
				if err := fix(t, &team); err != nil {
					t.Error(err)
				}
			case 2:
				if _, err := team.Join(t.Context(), JoinRequest{Name: "bob"}); err != nil && errs.CodeOf(err) != errs.NameTaken {
					t.Error(err)
				}
			}
		})
		e.settled(t, "many")
	}
}

// A mailbox of one sender that cannot be written keeps nobody from a name, and
// the message waits until it can go back.
func TestEndWithBrokenSender(t *testing.T) {
	e := newEnded(t)
	mend := breakDir(t, e.InboxDir("ann"))
	must(e.Leave(t.Context(), "bob", "", nil))(t)
	bob := e.bare(t, "bob")
	var got []string
	_, _, problems, err := e.Receive(t.Context(), ReceiveRequest{Who: bob, Show: func(m *inbox.Message) error { got = append(got, line(m)); return nil }})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), e.InboxDir("ann")) {
		t.Errorf("problems %v, %v", problems, err)
	}
	same(t, "bob", got, []string{"ann for whoever comes"})
	mend()
	same(t, "bob later", e.recv(t, bob), nil)
	if notices := e.recv(t, e.ann); len(notices) != 1 {
		t.Errorf("%q", notices)
	}
}

// What cannot be drained now keeps the name, since it would be stale after.
func TestEndWithBrokenReport(t *testing.T) {
	e := newEnded(t)
	mend := breakDir(t, e.InboxDir(LeaderName))
	_, err := e.Leave(t.Context(), "bob", "", nil)
	if err == nil || !strings.Contains(err.Error(), e.InboxDir(LeaderName)) {
		t.Fatal(err)
	}
	if _, err := e.Join(t.Context(), JoinRequest{Name: "bob"}); err == nil {
		t.Fatal("bob has a further life")
	}
	found := false
	for _, f := range must(e.Check())(t) {
		found = found || f.Code == "undrained" && f.Fixable
	}
	if !found {
		t.Errorf("doctor says nothing of it: %+v", must(e.Check())(t))
	}
	mend()
	if err := fix(t, e.Team); err != nil {
		t.Fatal(err)
	}
	e.settled(t, "mended")
}

// A message that somebody of the old life is just reading was delivered: it is
// not returned.
func TestEndWhileReading(t *testing.T) {
	e := newEnded(t)
	e.send(t, e.ann, "bob", "also from ann")
	var got []string
	_, _, _, err := e.Receive(t.Context(), ReceiveRequest{Who: e.bob, Show: func(m *inbox.Message) error {
		if got = append(got, m.Title); len(got) == 1 {
			must(e.Leave(t.Context(), "bob", "", nil))(t)
		}
		return nil
	}})
	wantCode(t, err, errs.StaleIdentity)
	same(t, "bob", got, []string{"from ann"})
	notices := e.recv(t, e.ann)
	if len(notices) != 1 || matching(notices, ": also from ann") != 1 {
		t.Errorf("%q", notices)
	}
}
