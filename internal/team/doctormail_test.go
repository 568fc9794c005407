package team

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// codes lists what doctor finds.
func (t *Team) codes(tt *testing.T) []string {
	tt.Helper()
	var out []string
	for _, f := range must(t.Check())(tt) {
		out = append(out, f.Severity+" "+f.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Doctor finds what is wrong with mail, says how bad it is, mends what it can,
// and changes nothing before.
func TestDoctorMail(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	team.send(t, ann, "bob", "fresh")
	same(t, "whole", team.codes(t), nil)
	box := filepath.Join(team.InboxDir("bob"), "new")
	old := time.Now().Add(-time.Hour)
	temp := filepath.Join(box, ".x.md.0123456789abcdef")
	for _, path := range []string{temp, filepath.Join(team.InboxDir("bob"), "tmp", "left by a foreign writer")} {
		writeFile(t, path, "half")
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if !fsx.IsTemp(filepath.Base(temp)) {
		t.Fatal("that is no temporary name")
	}
	writeFile(t, filepath.Join(box, "readme.txt"), "what is this?")
	big := filepath.Join(box, "big.md")
	writeFile(t, big, "")
	if err := os.Truncate(big, inbox.MaxBody+1); err != nil {
		t.Fatal(err)
	}
	mkdirs(t, box, "20261130T130501.123456Z-ann-000000.md")
	team.drop(t, "bob", inbox.Header{From: "ann"}, "false")
	team.drain(t)
	later := time.Duration(0)
	restore := fsx.SetNow(func() time.Time { return time.Now().Add(later) })
	defer restore()
	later = 2 * time.Hour
	before := listTree(t, team.Root)
	same(t, "found", team.codes(t), []string{"error unreadable", "info left_temp", "info rejected_reports", "info unread", "warning oversized", "warning stray_mail"})
	if after := listTree(t, team.Root); after != before {
		t.Errorf("doctor changed something:\n%s", after)
	}
	if err := fix(t, team); err != nil {
		t.Fatal(err)
	}
	same(t, "mended", team.codes(t), []string{"error unreadable", "info rejected_reports", "info unread", "warning oversized", "warning stray_mail"})
	for _, path := range []string{temp, filepath.Join(team.InboxDir("bob"), "tmp", "left by a foreign writer")} {
		wantNothing(t, path)
	}

	mend := breakDir(t, filepath.Join(team.InboxDir("bob"), "cur"))
	if got := team.codes(t); !slices.Contains(got, "error unreadable") {
		t.Errorf("%q", got)
	}
	mend()
}

// gc takes read mail, rejected reports, old requests and keys that are over, and
// nothing that is unread or may still matter. A dry run takes nothing.
func TestCollectMail(t *testing.T) {
	team := newTeam(t)
	ann := team.bare(t, "ann")
	team.bare(t, "bob")
	const month = 30 * 24 * time.Hour
	// Some of everything: read, unread, rejected, keys of this life and of one
	// that is over, requests.
	team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("of the first life"), Key: "first"})
	team.send(t, ann, "bob", "undelivered")
	bob := team.takeOver(t, "bob")
	team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("read"), Key: "second"})
	team.recv(t, bob)
	kept := team.sendWith(t, SendRequest{From: ann, To: []string{"bob"}, Body: []byte("unread"), Key: "third"})
	team.ask(t, theLeader, "bob", "question")
	team.remindAll(t, time.Nanosecond)
	team.drop(t, "bob", inbox.Header{From: "ann"}, "false")
	team.drain(t)

	restore := fsx.SetNow(func() time.Time { return time.Now().Add(-time.Hour) })
	if removed := must(team.CollectMail(month, false))(t); len(removed) > 0 {
		t.Errorf("too early: %q", removed)
	}
	restore()
	before := listTree(t, team.Root)
	restore = fsx.SetNow(func() time.Time { return time.Now().Add(2 * month) })
	defer restore()
	would := must(team.CollectMail(month, true))(t)
	if listTree(t, team.Root) != before {
		t.Error("a dry run changed something")
	}
	did := must(team.CollectMail(month, false))(t)
	same(t, "did", did, would)
	kinds := map[string]int{}
	for _, path := range did {
		kinds[filepath.Base(filepath.Dir(path))]++
		if strings.Contains(path, "/new/") {
			t.Errorf("%s was unread", path)
		}
		wantNothing(t, path)
	}
	// In cur/: two that came back, and one that was read. Of the keys: two of
	// the first bob; those of the second bob and of ann stay.
	if kinds["cur"] != 3 || kinds["rejected"] != 1 || kinds["requests"] != 1 || kinds["noticed"] != 1 {
		t.Errorf("%v: %q", kinds, did)
	}
	for key, repeated := range map[string]bool{"second": true, "third": true} {
		s := must(team.Send(t.Context(), SendRequest{From: ann, To: []string{"bob"}, Body: []byte("x"), Key: key}))(t)[0]
		if s.Repeated != repeated || key == "third" && s.Message.ID != kept.ID {
			t.Errorf("key %s: %+v", key, s)
		}
	}
	team.takeOver(t, "ann")
	did = must(team.CollectMail(month, false))(t)
	if matching(did, "ann/noticed/undelivered-") != 2 || matching(did, "leader/noticed/stale_wait-") != 1 {
		t.Errorf("keys that are over: %q", did)
	}
	did = must(team.CollectMail(month, false))(t)
	if len(did) > 0 {
		t.Errorf("again: %q", did)
	}
}

// fix mends a team as doctor --fix does.
func fix(t *testing.T, team *Team) error {
	t.Helper()
	b, err := team.Board(BoardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return team.Fix(t.Context(), b)
}
