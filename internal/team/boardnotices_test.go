package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// boarded is a team with a board, as one process sees it.
type boarded struct {
	*Team
	b *fsboard.Board
}

func newBoarded(t *testing.T) *boarded {
	team := newTeam(t)
	// Gates run in the project, so that must be there.
	team.Project = mkdirs(t, filepath.Dir(team.Root), "app")
	return team.boarded(t)
}

func (t *Team) boarded(tt *testing.T) *boarded {
	tt.Helper()
	u := Open(t.Place)
	return &boarded{u, must(u.Board(BoardOptions{}))(tt)}
}

func (d *boarded) add(t *testing.T, n fsboard.NewTask) string {
	t.Helper()
	return must(d.b.Add(t.Context(), n))(t)[0].ID
}

func (d *boarded) claim(t *testing.T, who Identity, id string) {
	t.Helper()
	if _, err := d.b.Claim(t.Context(), fsboard.ClaimRequest{ID: id, Worker: who.Name, SpawnID: who.SpawnID, Max: 100}); err != nil {
		t.Fatal(err)
	}
}

// submit submits and returns the outcome.
func (d *boarded) submit(t *testing.T, who Identity, id string) string {
	t.Helper()
	r, err := d.b.Submit(t.Context(), fsboard.SubmitRequest{ID: id, Worker: who.Name, SpawnID: who.SpawnID})
	if err != nil {
		t.Fatal(err)
	}
	return r.Outcome
}

func (d *boarded) publish(t *testing.T) {
	t.Helper()
	if _, err := d.PublishNotices(t.Context(), d.b); err != nil {
		t.Fatal(err)
	}
}

// mail receives all mail of a caller with the bodies.
func (d *boarded) mail(t *testing.T, who Identity) []string {
	t.Helper()
	var got []string
	_, _, problems, err := d.Receive(t.Context(), ReceiveRequest{Who: who, Show: func(m *inbox.Message) error {
		got = append(got, m.From+" "+m.Event+" "+m.Task+"\n"+string(m.Body))
		return nil
	}})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return got
}

// wantMail checks that somebody got one notice of each event, in this order,
// with this in it.
func (d *boarded) wantMail(t *testing.T, who Identity, want ...string) {
	t.Helper()
	d.publish(t)
	got := d.mail(t, who)
	if len(got) != len(want)/2 {
		t.Errorf("%s got %q, want %q", who.Name, got, want)
		return
	}
	for i := range got {
		if !strings.HasPrefix(got[i], "harness "+want[2*i]+" ") || !strings.Contains(got[i], want[2*i+1]) {
			t.Errorf("%s got %q, want %s with %q", who.Name, got[i], want[2*i], want[2*i+1])
		}
	}
}

// What happens to a task is told to whom it concerns, and to nobody else.
func TestBoardNotices(t *testing.T) {
	d, ctx := newBoarded(t), t.Context()
	ann, bob := d.bare(t, "ann"), d.bare(t, "bob")
	simple := d.add(t, fsboard.NewTask{Subject: "simple"})
	gated := d.add(t, fsboard.NewTask{Subject: "gated", Verify: "echo to stdout; echo to stderr >&2; exit 3"})
	d.wantMail(t, theLeader)

	// A gate that fails; the third time the leader hears of it too.
	d.claim(t, ann, gated)
	for run := 1; run <= 3; run++ {
		if got := d.submit(t, ann, gated); got != fsboard.OutcomeGateFailed {
			t.Fatal(got)
		}
		d.publish(t)
		got := d.mail(t, ann)
		if len(got) != 1 {
			t.Fatalf("run %d: %q", run, got)
		}
		for _, want := range []string{"harness gate_failed " + gated, "exit code 3", d.b.GateLog(gated, run), "to stdout\nto stderr\n", "teams submit " + gated} {
			if !strings.Contains(got[0], want) {
				t.Errorf("run %d: no %q in %q", run, want, got[0])
			}
		}
	}
	d.wantMail(t, theLeader, "escalation", "The claim stays with ann")
	// Edited, and cancelled.
	text := "another"
	if _, err := d.b.Edit(ctx, gated, fsboard.Edit{Subject: &text}); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, ann, "edited", "teams task show "+gated)
	if _, err := d.b.Cancel(ctx, gated, "no longer needed", false); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, ann, "cancelled", "no longer needed")
	// Released by the leader; by the holder itself nobody needs to hear.
	d.claim(t, bob, simple)
	if _, err := d.b.Release(ctx, fsboard.ReleaseRequest{ID: simple, Reason: "let ann do it"}); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, bob, "released", "let ann do it")
	d.claim(t, bob, simple)
	if _, err := d.b.Release(ctx, fsboard.ReleaseRequest{ID: simple, Worker: "bob", SpawnID: bob.SpawnID}); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, bob)
	// A submission that is dropped with its claim.
	d.claim(t, bob, simple)
	if _, err := d.b.Submit(ctx, fsboard.SubmitRequest{ID: simple, Worker: "bob", SpawnID: bob.SpawnID, NoWait: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.b.Cancel(ctx, simple, "", false); err != nil {
		t.Fatal(err)
	}
	d.publish(t)
	if got := d.mail(t, bob); matching(got, "harness dropped") != 1 {
		t.Errorf("bob got %q", got)
	}
	// A holder that died: the leader hears of it, and nobody is told twice.
	p, end := sleeper(t)
	dead := must(d.Join(ctx, JoinRequest{Name: "dead", PID: p.PID}))(t)
	lost := d.add(t, fsboard.NewTask{Subject: "lost"})
	d.claim(t, identityOf(dead), lost)
	end()
	if _, err := d.b.Fold(ctx, true); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, theLeader, "released", "teams log "+lost)
	// A gate that cannot run at all is the leader's business too.
	bad := d.add(t, fsboard.NewTask{Subject: "bad gate", Verify: "no-such-program-anywhere"})
	d.claim(t, ann, bad)
	d.submit(t, ann, bad)
	d.wantMail(t, ann, "gate_failed", "127")
	d.wantMail(t, theLeader, "escalation", bad)
	for _, who := range []Identity{ann, bob, theLeader} {
		d.wantMail(t, who)
	}
}

// A claim that was refused in a fold is told to its worker.
func TestBoardNoticeClaimRefused(t *testing.T) {
	d := newBoarded(t)
	ann := d.bare(t, "ann")
	id := d.add(t, fsboard.NewTask{Subject: "for bob alone", Assignee: "bob"})
	writeFile(t, filepath.Join(d.BoardDir(), "claims", id+".json"), fmt.Sprintf(
		`{"taskId":%q,"worker":"ann","spawnId":%q,"timestamp":%d,"token":"x","epoch":1,"host":%q}`, id, ann.SpawnID, nowMillis(), fsx.Host()))
	if _, err := d.b.Fold(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	d.wantMail(t, ann, "claim_refused", "You do not hold it")
}

// Five gate failures that nobody has read yet are five notices.
func TestGateFailuresAreNotCoalesced(t *testing.T) {
	d := newBoarded(t)
	ann := d.bare(t, "ann")
	for n := 1; n <= 5; n++ {
		id := d.add(t, fsboard.NewTask{Subject: "gated", Verify: fmt.Sprintf("echo failure %d; exit %d", n, n)})
		d.claim(t, ann, id)
		d.submit(t, ann, id)
		d.publish(t)
	}
	got := d.mail(t, ann)
	for n := 1; n <= 5; n++ {
		if matching(got, fmt.Sprintf("failure %d", n)) != 1 || matching(got, fmt.Sprintf("exit code %d,", n)) != 1 {
			t.Errorf("failure %d is not there: %q", n, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d notices", len(got))
	}
}

// owing makes n events that owe a notice each to ann, without publishing any.
func (d *boarded) owing(t *testing.T, ann Identity, n int) {
	t.Helper()
	for range n {
		id := d.add(t, fsboard.NewTask{Subject: "x"})
		d.claim(t, ann, id)
		if _, err := d.b.Cancel(t.Context(), id, "", false); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that dies between the commit and any step of the publishing loses
// nothing, and the next one doubles nothing.
func TestPublishKilledAtEachStep(t *testing.T) {
	d := newBoarded(t)
	ann := d.bare(t, "ann")
	eachStep(t, func(t *testing.T, n int64) bool {
		d.owing(t, ann, 2)
		died := diesAt(n, func() { d.PublishNotices(background(), d.b) })
		other := d.Team.boarded(t)
		if n%2 == 0 { // with one of them read in between
			for _, m := range must(d.Box("ann").IDs(false))(t) {
				if err := d.Box("ann").Mark(m); err != nil {
					t.Error(err)
				}
			}
			other.publish(t)
			read := must(d.Box("ann").IDs(true))(t)
			unread := must(d.Box("ann").IDs(false))(t)
			if len(read)+len(unread) != 2 {
				t.Errorf("step %d: %d read, %d unread", n, len(read), len(unread))
			}
		}
		other.publish(t)
		d.mail(t, ann)
		if all := must(d.Box("ann").IDs(true))(t); len(all) != 2 {
			t.Errorf("step %d: %d notices", n, len(all))
		}
		for _, id := range must(d.Box("ann").IDs(true))(t) {
			if err := os.Remove(filepath.Join(d.InboxDir("ann"), "cur", id+".md")); err != nil {
				t.Error(err)
			}
		}
		return died
	})
}

// Many publish at once, while more is being owed: each notice comes once.
func TestPublishByMany(t *testing.T) {
	d := newBoarded(t)
	ann := d.bare(t, "ann")
	const each, publishers = 10, 3
	var over atomic.Bool
	others := make([]*boarded, publishers)
	for i := range others {
		others[i] = d.Team.boarded(t)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		inParallel(publishers, func(i int) {
			for !over.Load() {
				if _, err := others[i].PublishNotices(background(), others[i].b); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}()
	d.owing(t, ann, each)
	over.Store(true)
	<-done
	d.publish(t)
	if got := d.mail(t, ann); len(got) != each || matching(got, "harness cancelled") != each {
		t.Errorf("%d notices: %q", len(got), got)
	}
}

// Whoever finds the lock on notices taken may leave: the one who has it looks
// again when it has let go.
func TestPublishForOthers(t *testing.T) {
	d := newBoarded(t)
	ann := d.bare(t, "ann")
	other := d.Team.boarded(t)
	met := 0
	for n := int64(3); n < 60; n += 4 {
		d.owing(t, ann, 1)
		late, left := 1, false
		atStep(n, func() {
			if held, err := fsx.Held(d.noticesLock()); err != nil || !held {
				return
			}
			other.owing(t, ann, 1)
			if told, err := other.PublishNotices(background(), other.b); err != nil || told != 0 {
				t.Errorf("told %d beside the lock, %v", told, err)
			}
			late, left = 2, true
			met++
		}, func() { d.publish(t) })
		if got := d.mail(t, ann); len(got) != late {
			t.Errorf("step %d (left %v): %d notices, want %d", n, left, len(got), late)
		}
	}
	if met == 0 {
		t.Error("nobody found the lock taken")
	}
}

// A mailbox that cannot be written keeps nobody else's notices back, and gets
// its own when it can.
func TestPublishToBrokenMailbox(t *testing.T) {
	d, ctx := newBoarded(t), t.Context()
	ann, bob := d.bare(t, "ann"), d.bare(t, "bob")
	mend := breakDir(t, d.InboxDir("ann"))
	for range 2 {
		d.owing(t, ann, 1)
		d.owing(t, bob, 1)
		_, err := d.PublishNotices(ctx, d.b)
		if err == nil || !strings.Contains(err.Error(), d.InboxDir("ann")) {
			t.Fatal(err)
		}
	}
	if got := d.mail(t, bob); len(got) != 2 {
		t.Errorf("bob got %q", got)
	}
	mend()
	d.owing(t, ann, 1)
	d.publish(t)
	d.publish(t)
	if got := d.mail(t, ann); len(got) != 3 {
		t.Errorf("ann got %d: %q", len(got), got)
	}
	var p published = must(d.published())(t)
	if len(p.Pending) != 0 {
		t.Errorf("%+v", p)
	}
	// Those of a teammate who is gone by then are owed to nobody.
	mend = breakDir(t, d.InboxDir("ann"))
	d.owing(t, ann, 1)
	if _, err := d.PublishNotices(ctx, d.b); err == nil {
		t.Fatal("published into a file")
	}
	mend()
	ann = d.takeOver(t, "ann")
	d.publish(t)
	if got := d.mail(t, ann); len(got) != 0 {
		t.Errorf("the second ann got %q", got)
	}
}

// What is published is no record of it: nothing is overwritten, and doctor
// names it.
func TestPublishedCorrupt(t *testing.T) {
	d, ctx := newBoarded(t), t.Context()
	ann := d.bare(t, "ann")
	d.owing(t, ann, 1)
	for _, text := range []string{"", "{", "\x00\x00\x00", `{"revision":-1}`, `[]`} {
		writeFile(t, d.noticesFile(), text)
		_, err := d.PublishNotices(ctx, d.b)
		wantCode(t, err, errs.Corrupt)
		data, err := os.ReadFile(d.noticesFile())
		if err != nil || string(data) != text {
			t.Errorf("%q became %q", text, data)
		}
		found := false
		for _, f := range must(d.Check())(t) {
			found = found || f.Severity == fsboard.SeverityError && f.Path == d.noticesFile()
		}
		if !found {
			t.Errorf("%q: doctor says nothing of it", text)
		}
	}
}

// The next session tells nothing again, and gets what was not read.
func TestPublishAcrossSessions(t *testing.T) {
	d, ctx := newBoarded(t), t.Context()
	p, end := sleeper(t)
	dead := must(d.Join(ctx, JoinRequest{Name: "dead", PID: p.PID}))(t)
	for range 2 {
		d.claim(t, identityOf(dead), d.add(t, fsboard.NewTask{Subject: "lost"}))
	}
	end()
	if _, err := d.b.Fold(ctx, true); err != nil {
		t.Fatal(err)
	}
	d.publish(t)
	n, _, _, err := d.Receive(ctx, ReceiveRequest{Who: theLeader, Max: 1, Show: func(*inbox.Message) error { return nil }})
	if n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := d.EndSession(ctx, d.b, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(d.TeamDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the session is still there")
	}
	next := d.Team.boarded(t)
	if list, _, err := next.Inbox(ctx, theLeader, false); err != nil || len(list) != 1 {
		t.Errorf("the leader finds %q, %v", titles(list), err)
	}
	next.wantMail(t, theLeader, "released", "teams log t_2")
	ann := next.bare(t, "ann")
	next.owing(t, ann, 1)
	next.wantMail(t, ann, "cancelled", "")
	next.wantMail(t, theLeader)
}
