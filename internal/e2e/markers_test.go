package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// marker is a claim or submission as a tool of the original layout writes it.
func marker(id, worker, spawn string, more ...any) string {
	m := map[string]any{"taskId": id, "worker": worker, "spawnId": spawn, "timestamp": time.Now().UnixMilli()}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	data, _ := json.Marshal(m)
	return string(data)
}

// spawn is the present spawn id of a teammate.
func (s *site) spawn(name string) string {
	s.t.Helper()
	return spawnIn(s.t, s.team(name, "teammate.json"))
}

// spawnIn reads the spawn id of a teammate's record.
func spawnIn(t *testing.T, path string) string {
	t.Helper()
	var tm struct{ SpawnID string }
	if err := json.Unmarshal([]byte(read(t, path)), &tm); err != nil || tm.SpawnID == "" {
		t.Fatal(path, err)
	}
	return tm.SpawnID
}

// age makes a file look as old as d.
func age(t *testing.T, path string, d time.Duration) {
	t.Helper()
	at := time.Now().Add(-d)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestBadMarkers puts every kind of unusable file in the places of markers. A
// tick reports each once and moves it away; the other tasks go on, and nothing
// outside of the session is touched.
func TestBadMarkers(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"claims", "submissions"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			badMarkers(t, dir)
		})
	}
}

// TestBadMarkersQuiet: -q tells of a marker that was put away as well, on stderr,
// and of nothing else.
func TestBadMarkersQuiet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	s.add("a")
	s.add("b")
	s.add("c")
	bad := s.board("claims", "t_1.json")
	write(t, bad, "[1,2,3]")
	age(t, bad, time.Minute)
	write(t, s.board("claims", "t_2.json"), marker("t_2", "ann", s.spawn("ann")))
	r := s.run("tick", "-q")
	if r.code != 0 || r.out != "" || exists(bad) || strings.Count(r.err, bad) != 1 || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "teams: warning: t_1 ") {
		t.Errorf("tick -q: %s", r)
	}
	if r := s.run("tick", "-q"); r.code != 0 || r.out+r.err != "" {
		t.Errorf("again: %s", r)
	}
	bad = s.board("claims", "t_3.json")
	h := s.start("harness", "-q")
	eventually(t, "the harness runs", func() bool { return s.run("harness", "status").code == 0 })
	old := filepath.Join(s.base, "old")
	write(t, old, "[1,2,3]")
	age(t, old, time.Minute)
	if err := os.Rename(old, bad); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is put away", func() bool { return !exists(bad) })
	s.ok("harness", "stop")
	if r := h.wait(); r.out != "" || strings.Count(r.err, bad) != 1 {
		t.Errorf("harness -q: %s", r)
	}
}

func badMarkers(t *testing.T, dir string) {
	s := newSite(t)
	for _, name := range []string{"ann", "bob", "old"} {
		s.ok("join", name, "-q")
	}
	for i := range 20 {
		s.add(fmt.Sprintf("task %d", i+1))
	}
	if dir == "submissions" {
		for i := range 12 {
			s.ok("claim", fmt.Sprintf("t_%d", i+1), "--as", "ann", "--max", "20")
		}
	}
	secret := filepath.Join(s.base, "secret")
	write(t, secret, marker("t_4", "bob", s.spawn("bob")))
	outside := filepath.Join(s.base, "outside")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(outside, "t_1.json"), "keep me")
	untouched := tree(t, outside)

	at := func(name string) string { return s.board(dir, name) }
	write(t, at("t_1.json"), "")
	write(t, at("t_2.json"), `{"taskId":"t_2","wor`)
	age(t, at("t_1.json"), time.Minute)
	age(t, at("t_2.json"), time.Minute)
	_ = os.MkdirAll(filepath.Join(at("t_3.json"), "inner"), 0o700)
	_ = os.Symlink(secret, at("t_4.json"))
	sparse(t, at("t_5.json"), 100<<20)
	write(t, at("t_6.json"), marker("t_7", "bob", s.spawn("bob")))
	write(t, at("t_8.json"), `{"taskId":"t_8","spawnId":"x"}`)
	_ = syscall.Mkfifo(at("t_9.json"), 0o600)
	_ = os.Symlink(outside, at("t_10.json"))
	write(t, at("t_11.json"), "[1,2,3]")
	age(t, at("t_11.json"), time.Minute)
	write(t, at("notes.txt"), "what is this")
	write(t, at("t_0x1.json"), marker("t_0x1", "bob", s.spawn("bob")))
	write(t, at("t_12.json"), strings.Repeat("\x00", 100))
	age(t, at("t_12.json"), -time.Hour) // its time lies ahead: no grace
	bad := []string{"t_1.json", "t_2.json", "t_3.json", "t_4.json", "t_5.json", "t_6.json", "t_8.json", "t_9.json", "t_10.json", "t_11.json", "t_12.json", "notes.txt", "t_0x1.json"}
	fresh := at("t_13.json")
	write(t, fresh, `{"taskId":"t_13"`) // somebody may still be writing it

	// A good one among them.
	good := marker("t_14", "bob", s.spawn("bob"))
	if dir == "claims" {
		write(t, at("t_14.json"), good)
	} else {
		s.ok("claim", "t_14", "--as", "bob")
		write(t, at("t_14.json"), marker("t_14", "bob", s.spawn("bob"), "status", "completed", "result", "fine"))
	}

	first := s.run("tick")
	if first.code != 0 {
		t.Errorf("first tick: %s", first)
	}
	for _, name := range bad {
		if exists(at(name)) {
			t.Errorf("%s/%s is still there", dir, name)
		}
		if n := strings.Count(first.out+first.err, at(name)); n != 1 {
			t.Errorf("%s/%s is reported %d times", dir, name, n)
		}
	}
	if !exists(fresh) {
		t.Error("a marker that may still be written was taken away at once")
	}
	if got := s.show("t_14"); dir == "claims" && got.ClaimedBy != "bob" || dir == "submissions" && (got.State != "completed" || got.Result != "fine") {
		t.Errorf("the good marker: %+v", got)
	}
	second := s.run("tick")
	for line := range strings.SplitSeq(second.out, "\n") {
		if line != "" && !strings.Contains(line, "t_13 ") && !strings.Contains(line, "notices") {
			t.Errorf("second tick: %s", line)
		}
	}
	if second.code != 0 || second.err != "" {
		t.Errorf("second tick: %s", second)
	}
	age(t, fresh, time.Minute)
	if third := s.run("tick"); third.code != 0 || strings.Count(third.out, fresh) != 1 || exists(fresh) {
		t.Errorf("third tick: %s", third)
	}
	if read(t, secret) == "" {
		t.Error("the symlink's target was touched")
	}
	sameTree(t, "outside", untouched, tree(t, outside))
	// Each kept with its reason, the symlinks as symlinks.
	kept := tree(t, s.board("rejected"))
	reasons, links := 0, 0
	for name, text := range kept {
		if strings.HasSuffix(name, ".reason") {
			reasons++
		}
		if strings.HasPrefix(text, "-> ") {
			links++
		}
	}
	if reasons != len(bad)+1 || links != 2 {
		t.Errorf("rejected/ has %d reasons and %d symlinks: %v", reasons, links, keys(kept))
	}
	// The others are unaffected, and their tasks can be had.
	if dir == "claims" {
		for _, id := range []string{"t_1", "t_2", "t_3", "t_4", "t_5", "t_13"} {
			s.ok("claim", id, "--as", "ann", "--max", "50")
		}
	} else {
		for i := range 12 {
			s.ok("submit", fmt.Sprintf("t_%d", i+1), "--as", "ann")
		}
	}
	s.healthy()
}

func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	write(t, path, "{")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func keys(m map[string]string) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestMarkersOfWrongWorkers has claims of those who may not have the task.
func TestMarkersOfWrongWorkers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "gone", "again"} {
		s.ok("join", name, "-q")
	}
	goneSpawn, replaced := s.spawn("gone"), s.spawn("again")
	s.ok("leave", "--as", "gone")
	s.ok("join", "again", "--takeover", "-q")
	for i := range 6 {
		s.add(fmt.Sprintf("task %d", i+1))
	}
	s.add("for a role", "--role", "coder")
	s.add("for ann", "--assignee", "ann")
	s.add("blocked", "--depends-on", "t_1")
	claims := []struct{ id, text, reason string }{
		{"t_99", marker("t_99", "ann", s.spawn("ann")), "unknown_task"},
		{"t_1", marker("t_1", "gone", goneSpawn), "holder_dead"},
		{"t_2", marker("t_2", "again", replaced), "replaced"},
		{"t_3", marker("t_3", "nobody", "x"), "no_such_teammate"},
		{"t_4", marker("t_4", "ann", s.spawn("ann"), "epoch", 7), "other_epoch"},
		{"t_7", marker("t_7", "ann", s.spawn("ann")), "wrong_role"},
		{"t_8", marker("t_8", "again", s.spawn("again")), "wrong_assignee"},
		{"t_9", marker("t_9", "ann", s.spawn("ann")), "blocked"},
	}
	for _, c := range claims {
		write(t, s.board("claims", c.id+".json"), c.text)
	}
	r := s.exits(0, "tick")
	events := s.history()
	for _, c := range claims {
		n := 0
		for _, e := range events {
			if e.Event == "claim_refused" && e.Task == c.id {
				n++
				if e.Reason != c.reason {
					t.Errorf("%s: refused as %s, want %s", c.id, e.Reason, c.reason)
				}
			}
		}
		if n != 1 || exists(s.board("claims", c.id+".json")) {
			t.Errorf("%s: refused %d times\n%s", c.id, n, r.out)
		}
		if c.id != "t_99" {
			if got := s.show(c.id); got.Status != "pending" || got.Epoch != 1 {
				t.Errorf("%s is %s in epoch %d; a refused marker raises the epoch", c.id, got.Status, got.Epoch)
			}
		}
	}
	if r := s.exits(0, "tick"); r.out != "" {
		t.Errorf("reported again: %s", r)
	}
	for _, id := range []string{"t_1", "t_2", "t_3", "t_4"} {
		s.ok("claim", id, "--as", "ann", "--max", "9")
	}
	s.healthy()
}

// TestForeignMarkers has the markers of a tool that knows neither tokens nor
// epochs, and such a one that its fold left behind.
func TestForeignMarkers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	id := s.add("task")
	claim := marker(id, "ann", s.spawn("ann"))
	write(t, s.board("claims", id+".json"), claim)
	// It counts before any fold.
	if got := s.show(id); got.State != "claimed" || got.ClaimedBy != "ann" {
		t.Errorf("before the fold: %+v", got)
	}
	s.ok("tick")
	got := s.show(id)
	if got.State != "claimed" || got.Claim == nil || len(got.Claim.Token) != 64 {
		t.Fatalf("after the fold: %+v", got)
	}
	// A crash between the snapshot and the removal leaves the marker.
	write(t, s.board("claims", id+".json"), claim)
	before := read(t, s.board("board.json"))
	if r := s.exits(0, "tick"); r.out != "" {
		t.Errorf("told again: %s", r)
	}
	if exists(s.board("claims", id+".json")) || read(t, s.board("board.json")) != before {
		t.Error("a marker that was folded before is only removed")
	}
	// Its submission counts for the claim that its worker holds.
	submission := marker(id, "ann", s.spawn("ann"), "status", "completed", "result", "done")
	write(t, s.board("submissions", id+".json"), submission)
	if got := s.show(id); got.State != "submitted" {
		t.Errorf("submitted: %s", got.State)
	}
	s.ok("tick")
	if got := s.show(id); got.State != "completed" || got.Result != "done" {
		t.Errorf("completed: %+v", got)
	}
	// Left behind, and left behind after the task is claimed once more.
	write(t, s.board("submissions", id+".json"), submission)
	s.ok("tick")
	s.ok("task", "reopen", id)
	write(t, s.board("submissions", id+".json"), submission)
	s.ok("claim", id, "--as", "ann")
	s.ok("tick")
	if got := s.show(id); got.State != "claimed" {
		t.Errorf("an old submission counted for a new claim: %+v", got)
	}
	if n := count(s.history(), "completed", id); n != 1 {
		t.Errorf("completed %d times", n)
	}
	s.healthy()
}

// TestUnreadableMarker has a marker that may not be read: it spoils only
// itself.
func TestUnreadableMarker(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	s := newSite(t)
	s.ok("join", "ann", "-q")
	for i := range 3 {
		s.add(fmt.Sprintf("task %d", i+1))
	}
	s.giveTo(65534)
	path := s.board("claims", "t_2.json")
	write(t, path, marker("t_2", "ann", s.spawn("ann")))
	other := *s
	other.uid = 65534
	if r := other.run("tick"); r.code != 0 && !strings.Contains(r.err, path) {
		t.Errorf("tick: %s", r)
	}
	if r := other.run("claim", "t_1", "--as", "ann"); r.code != 0 {
		t.Errorf("another task: %s", r)
	}
	if r := other.run("submit", "t_1", "--as", "ann"); r.code != 0 {
		t.Errorf("another task: %s", r)
	}
	if r := other.run("doctor"); r.code != 1 || !strings.Contains(r.out, path) {
		t.Errorf("doctor: %s", r)
	}
}
