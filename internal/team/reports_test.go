package team

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
)

// drain drains all outboxes, which must go well, and returns what it did.
func (t *Team) drain(tt *testing.T) []string {
	tt.Helper()
	done, problems, err := t.DrainReports(tt.Context())
	if err != nil || len(problems) > 0 {
		tt.Fatal(problems, err)
	}
	var out []string
	for _, d := range done {
		out = append(out, d.Event+": "+d.Message)
	}
	return out
}

// drop puts a report into an outbox as a process would that has never heard of
// second looks.
func (t *Team) drop(tt *testing.T, name string, h inbox.Header, body string) string {
	tt.Helper()
	id, at, err := inbox.NextID(tt.Context(), t.TeammateDir(name), name)
	if err != nil {
		tt.Fatal(err)
	}
	m := &inbox.Message{Header: h, Body: []byte(body)}
	m.ID, m.Kind, m.Title, m.Sent = id, inbox.KindReport, inbox.Title(m.Body), at.Format(sentLayout)
	if err := t.Outbox(name).Send(m); err != nil {
		tt.Fatal(err)
	}
	return id
}

// Only what the present life says in its own name reaches the leader. Anything
// else lies in rejected/ with its reason, and doctor counts it.
func TestDrainRejects(t *testing.T) {
	team := newTeam(t)
	old := team.bare(t, "ann")
	ann, bob := team.takeOver(t, "ann"), team.bare(t, "bob")
	for _, c := range []struct {
		h      inbox.Header
		reason string
	}{
		{inbox.Header{From: "ann", Spawn: old.SpawnID}, "life that is over"},
		{inbox.Header{From: "ann", Spawn: "somebody"}, "life that is over"},
		{inbox.Header{From: "ann"}, "does not say of which life"},
		{inbox.Header{From: "bob", Spawn: bob.SpawnID}, `from "bob", in the outbox of ann`},
		{inbox.Header{From: "harness", Spawn: ann.SpawnID}, `from "harness"`},
		{inbox.Header{Spawn: ann.SpawnID}, `from "unknown"`},
	} {
		id := team.drop(t, "ann", c.h, "believe me")
		done := team.drain(t)
		if len(done) != 1 || !strings.HasPrefix(done[0], "rejected:") || !strings.Contains(done[0], c.reason) {
			t.Errorf("%+v: %q", c.h, done)
		}
		m, err := team.Outbox("ann").PeekRejected(id)
		if err != nil || !strings.Contains(m.Outcome, c.reason) {
			t.Errorf("%+v: %+v, %v", c.h, m, err)
		}
	}
	team.drop(t, "ann", inbox.Header{From: "ann", Spawn: ann.SpawnID}, "this is true")
	same(t, "leader", team.recv(t, theLeader), []string{"ann this is true"})
	found := ""
	for _, f := range must(team.Check())(t) {
		if f.Code == "rejected_reports" {
			found = f.Message
		}
	}
	if !strings.HasPrefix(found, `6 reports were rejected, the last because it is from "unknown"`) {
		t.Errorf("doctor: %q", found)
	}
	// A stopped life has nothing more to say.
	must(team.Leave(t.Context(), "ann", "", nil))(t)
	team.drop(t, "ann", inbox.Header{From: "ann", Spawn: ann.SpawnID}, "one more thing")
	same(t, "leader", team.recv(t, theLeader), nil)
	_, err := team.Send(t.Context(), SendRequest{From: ann, To: []string{LeaderName}, Body: []byte("x")})
	wantCode(t, err, errs.StaleIdentity)
}

// A life may end while its report is being drained: the record that counts is
// the one from after the report was found. One that was made up to look like an
// earlier one never passes.
func TestDrainRecordIsFresh(t *testing.T) {
	team := newTeam(t)
	eachStep(t, func(t *testing.T, n int64) bool {
		ann := team.takeOver(t, "ann")
		team.send(t, ann, LeaderName, "in time") // or there would be nothing to drain
		var id string
		var done []string
		reached := atStep(n, func() {
			team.takeOver(t, "ann")
			id = team.drop(t, "ann", inbox.Header{From: "ann", Spawn: ann.SpawnID}, "stale")
		}, func() { done = team.drain(t) })
		if reached {
			done = append(done, team.drain(t)...)
		}
		same(t, fmt.Sprint("leader at step ", n), team.recv(t, theLeader), []string{"ann in time"})
		if reached && matching(done, "rejected") != 1 {
			t.Errorf("step %d: %s: %q", n, id, done)
		}
		return reached
	})
}

// An outbox or a record that cannot be read is told, and keeps back nobody's
// reports but its own.
func TestDrainBroken(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	team.send(t, ann, LeaderName, "from ann")
	team.send(t, bob, LeaderName, "from bob")
	for _, path := range []string{filepath.Join(team.OutboxDir("ann"), "new"), team.OutboxDir("ann"), team.TeammateFile("ann")} {
		mend := breakDir(t, path)
		_, problems, err := team.DrainReports(ctx)
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), path) {
			t.Errorf("%s: %v, %v", path, problems, err)
		}
		if ids, _ := team.Outbox("bob").IDs(); len(ids) > 0 {
			t.Errorf("%s: bob's report waits", path)
		}
		mend()
	}
	same(t, "leader", team.recv(t, theLeader), []string{"ann from ann", "bob from bob"})
	// A teammate without a mailbox is not overlooked.
	mend := breakDir(t, team.InboxDir("ann"))
	team.send(t, ann, LeaderName, "more from ann")
	same(t, "leader", team.recv(t, theLeader), []string{"ann more from ann"})
	mend()
	// A directory on its way to become a teammate is no problem.
	mkdirs(t, team.InboxDir("carol"), "new")
	same(t, "drained", team.drain(t), nil)
	// The leader's own mailbox.
	team.send(t, ann, LeaderName, "last")
	mend = breakDir(t, filepath.Join(team.InboxDir(LeaderName), "new"))
	if _, problems, err := team.DrainReports(ctx); err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), LeaderName) {
		t.Errorf("%v, %v", problems, err)
	}
	mend()
	same(t, "leader", team.recv(t, theLeader), []string{"ann last"})
}

// Many drains at once, while reports are being sent: each comes once, those of a
// sender in their order.
func TestDrainStorm(t *testing.T) {
	team := newTeam(t)
	const senders, each, drains = 4, 40, 3
	ids := make([]Identity, senders)
	for i := range ids {
		ids[i] = team.bare(t, fmt.Sprint("w", i))
	}
	var sending, draining sync.WaitGroup
	var over atomic.Bool
	for range drains {
		draining.Go(func() {
			for !over.Load() {
				if _, problems, err := team.DrainReports(t.Context()); err != nil || len(problems) > 0 {
					t.Error(problems, err)
					return
				}
			}
		})
	}
	for i := range senders {
		sending.Go(func() {
			for n := range each {
				if _, err := team.Send(t.Context(), SendRequest{From: ids[i], To: []string{LeaderName}, Body: []byte(fmt.Sprintf("%04d", n))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sending.Wait()
	over.Store(true)
	draining.Wait()
	got := map[string][]string{}
	for _, l := range team.recv(t, theLeader) {
		name, n, _ := strings.Cut(l, " ")
		got[name] = append(got[name], n)
	}
	for i := range senders {
		list := got[fmt.Sprint("w", i)]
		if len(list) != each || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != each {
			t.Errorf("w%d: %q", i, list)
		}
	}
}

// Sent and Thread see a report wherever it lies, and say what became of a
// message.
func TestSentEverywhere(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
	sent := func(unread bool) []string {
		t.Helper()
		list, problems, err := team.Sent(ctx, ann, unread)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		var out []string
		for _, m := range list {
			state := "unread"
			if m.Read {
				state = "read"
			}
			out = append(out, strings.TrimSpace(m.To+" "+m.Title+" "+state+" "+m.Outcome))
		}
		return out
	}
	report := team.send(t, ann, LeaderName, "report")
	same(t, "waiting", sent(true), []string{"leader report unread"})
	list, _, err := team.Thread(ctx, ann, report.ID)
	if err != nil || len(list) != 1 || string(list[0].Body) != "report" {
		t.Errorf("%v, %v", list, err)
	}
	team.drain(t)
	same(t, "drained", sent(true), []string{"leader report unread"})
	same(t, "leader", team.recv(t, theLeader), []string{"ann report"})
	answer := team.sendWith(t, SendRequest{From: theLeader, To: []string{"ann"}, Body: []byte("thanks"), ReplyTo: report.ID})
	if answer.Thread != report.ID {
		t.Errorf("%+v", answer.Header)
	}
	team.send(t, ann, "bob", "one")
	team.recv(t, bob)
	team.send(t, ann, "bob", "two")
	team.send(t, bob, "ann", "not mine")
	same(t, "all", sent(false), []string{"leader report read", "bob one read", "bob two unread"})
	same(t, "unread", sent(true), []string{"bob two unread"})
	team.takeOver(t, "bob")
	same(t, "after bob", sent(true), []string{"bob two unread undelivered"})
	// Dropped in by hand, under a name of its own.
	writeFile(t, filepath.Join(team.InboxDir("bob"), "new", "note.md"), "---\nfrom: \"ann\"\nto: \"bob\"\n---\nby hand\n")
	same(t, "by hand", sent(true), []string{"bob two unread undelivered", "bob by hand unread"})
	mend := breakDir(t, filepath.Join(team.InboxDir("bob"), "cur"))
	list, _, err = team.Sent(ctx, ann, false)
	if err == nil || errs.Exit(errs.CodeOf(err)) != 1 || len(list) != 1 {
		t.Errorf("a broken mailbox: %v, %v", titles(list), err)
	}
	mend()
	if err := os.Remove(filepath.Join(team.InboxDir("bob"), "new", "note.md")); err != nil {
		t.Fatal(err)
	}
}
