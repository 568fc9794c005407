package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// richBoard makes a board with a task in every state, and returns the site.
func richBoard(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for _, name := range []string{"ann", "bob", "cid"} {
		s.ok("join", name, "-q")
	}
	s.add("done with a gate", "--verify", "echo fine", "--key", "k1") // t_1
	s.ok("claim", "t_1", "--as", "ann")
	s.ok("submit", "--as", "ann", "--result", "it is\ndone")
	s.add("ended as failed", "--max-attempts", "1") // t_2
	s.ok("claim", "t_2", "--as", "ann")
	s.ok("submit", "--as", "ann", "--failed", "--result", "no way")
	s.add("cancelled")                                               // t_3
	s.ok("task", "cancel", "t_3", "--reason", "not needed \u202e :") // t_3
	s.add("held by ann", "-d", "# text\n\nwith \"quotes\" and \\ and \t and é")
	s.ok("claim", "t_4", "--as", "ann")
	s.add("held with a lease", "--verify", "false")
	s.ok("claim", "t_5", "--as", "bob", "--lease", "1h")
	s.exits(1, "submit", "--as", "bob")       // its gate fails
	s.add("blocked", "--depends-on", "t_4")   // t_6
	s.add("waiting after a failure")          // t_7
	s.ok("claim", "t_7", "--as", "cid")       //
	s.ok("submit", "--as", "cid", "--failed") //
	s.add("free", "--priority", "0", "--tag", "x", "--tag", "y", "--role", "coder")
	s.add("free too", "--assignee", "cid")
	s.add("edited")
	s.ok("task", "edit", "t_10", "--subject", "edited twice")
	s.ok("tick")
	return s
}

// keepWaiting has t_7 wait for as long as the test takes: a pause that ends too
// far ahead counts from now, with every look.
func (s *site) keepWaiting() {
	s.t.Helper()
	for _, name := range []string{"board.json", "ready"} {
		text := read(s.t, s.board(name))
		at := fmt.Sprint(s.show("t_7").NotBefore)
		if !strings.Contains(text, at) {
			s.t.Fatalf("%s does not say %s", name, at)
		}
		defer write(s.t, s.board(name), strings.ReplaceAll(text, at, "9"+at))
	}
}

// tasks is every task of the board by id, without what a repair may change.
func (s *site) tasks() map[string]map[string]any {
	s.t.Helper()
	e, r := s.json("task", "list")
	var d struct{ Tasks []map[string]any }
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil {
		s.t.Fatalf("task list: %s", r)
	}
	out := map[string]map[string]any{}
	for _, t := range d.Tasks {
		if t["status"] == "pending" {
			delete(t, "epoch") // raised on purpose
		}
		delete(t, "updatedAt")
		if t["state"] == "waiting" {
			t["state"] = "ready" // its pause may have ended meanwhile
		}
		out[t["id"].(string)] = t
	}
	return out
}

// boardVerbs are the verbs that need the snapshot, each as one that would be
// carried out if the board were whole.
func boardVerbs() [][]string {
	return [][]string{
		{"task", "list"},
		{"task", "add", "one more"},
		{"task", "show", "t_1"},
		{"task", "edit", "t_8", "--priority", "1"},
		{"task", "cancel", "t_8"},
		{"task", "reopen", "t_3"},
		{"task", "why", "t_6"},
		{"task", "graph"},
		{"claim", "--as", "dee"},
		{"claim", "t_10", "--as", "dee"},
		{"claim", "--as", "cid"},
		{"claim", "--mine", "--as", "ann"},
		{"renew", "t_5", "--as", "bob"},
		{"release", "t_4", "--as", "ann"},
		{"submit", "t_4", "--as", "ann"},
		{"work", "--once", "--", "true"},
		{"wait", "t_1"},
		{"verify", "t_1"},
		{"log"},
		{"export"},
		{"gc", "--older-than", "1s"},
	}
}

// damaged runs verbs on a board whose snapshot was damaged: each refuses with
// exit 1, names the file, and leaves every byte of the board alone.
func (s *site) damaged(what string, verbs [][]string) {
	s.t.Helper()
	before := tree(s.t, s.board())
	for _, args := range verbs {
		r := s.run(args...)
		name := what + ": " + strings.Join(args, " ")
		if r.code != 1 || !strings.Contains("\n"+r.err, "\nteams: ") || strings.Contains(r.err, "panic") {
			s.t.Errorf("%s: %s", name, r)
		}
		if n := strings.Count(r.err, s.board("board.json")); n == 0 || n > 2 {
			s.t.Errorf("%s: it names the file %d times: %s", name, n, r)
		}
		if !strings.Contains(r.err, "hint: teams doctor") && !strings.Contains(what, "unreadable") {
			s.t.Errorf("%s: no hint: %s", name, r)
		}
	}
	sameTree(s.t, what, before, tree(s.t, s.board()))
}

// repaired checks that doctor tells of the damage and that repair restores the
// tasks; a second repair has nothing to do.
func (s *site) repaired(what string, want map[string]map[string]any) {
	s.t.Helper()
	e, r := s.json("doctor")
	data, _ := json.Marshal(e.Error)
	if r.code != 1 || e.Error == nil || e.Error.Code != "findings" || !strings.Contains(string(data), `"corrupt"`) || !strings.Contains(string(data), s.board("board.json")) {
		s.t.Errorf("%s: doctor does not tell: %s", what, r)
	}
	if r := s.run("doctor", "--repair"); r.code != 0 || !strings.Contains(r.out, "rebuilt the board with 10 tasks") {
		s.t.Fatalf("%s: %s", what, r)
	}
	got := s.tasks()
	for id, task := range want {
		if a, b := fmt.Sprint(task), fmt.Sprint(got[id]); a != b {
			s.t.Errorf("%s: %s is not restored\nbefore: %s\nafter:  %s", what, id, a, b)
		}
	}
	if len(got) != len(want) {
		s.t.Errorf("%s: %d tasks, there were %d", what, len(got), len(want))
	}
	before := tree(s.t, s.board())
	s.ok("doctor", "--repair")
	sameTree(s.t, what+": second repair", before, tree(s.t, s.board()))
}

// TestTruncatedBoard cuts the snapshot at 100 points.
func TestTruncatedBoard(t *testing.T) {
	t.Parallel()
	s := richBoard(t)
	want := s.tasks()
	whole := read(t, s.board("board.json"))
	restore := keepTree(t, s.board())
	verbs := boardVerbs()
	const points = 100
	for n := range points {
		at := (len(whole) - 2) * n / (points - 1)
		restore()
		write(t, s.board("board.json"), whole[:at])
		what := fmt.Sprintf("cut at %d of %d", at, len(whole))
		// All verbs take turns, so that each meets every part of the file.
		turn := [][]string{verbs[n%len(verbs)], verbs[(n+10)%len(verbs)]}
		s.damaged(what, turn)
		s.repaired(what, want)
		if t.Failed() {
			return
		}
	}
}

// TestBrokenBoard has a snapshot that is broken as a whole, in turn by each
// way, and every verb.
func TestBrokenBoard(t *testing.T) {
	t.Parallel()
	s := richBoard(t)
	want := s.tasks()
	path := s.board("board.json")
	whole := read(t, path)
	restore := keepTree(t, s.board())
	remove := func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	ways := []struct {
		name   string
		damage func()
	}{
		{"empty", func() { write(t, path, "") }},
		{"all NUL", func() { write(t, path, strings.Repeat("\x00", len(whole))) }},
		{"a directory", func() { remove(); _ = os.Mkdir(path, 0o700) }},
		{"a fifo", func() { remove(); _ = syscall.Mkfifo(path, 0o600) }},
		{"missing", remove},
		{"another tool's", func() { write(t, path, `{"tasks":{}}`) }},
		{"a list", func() { write(t, path, "[]\n") }},
	}
	for _, way := range ways {
		restore()
		way.damage()
		s.damaged(way.name, boardVerbs())
		s.repaired(way.name, want)
	}
	// A symlink is neither followed nor written through.
	restore()
	remove()
	elsewhere := filepath.Join(s.base, "elsewhere.json")
	write(t, elsewhere, whole)
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	s.damaged("a symlink", boardVerbs())
	s.repaired("a symlink", want)
	if read(t, elsewhere) != whole {
		t.Error("what the symlink pointed at was changed")
	}
	// Five broken copies are kept, not more.
	for range 8 {
		write(t, path, "x")
		s.ok("doctor", "--repair")
	}
	if kept, _ := filepath.Glob(s.board("board.json.broken-*")); len(kept) != 5 {
		t.Errorf("%d broken copies are kept: %q", len(kept), kept)
	}
}

// TestUnreadableBoard has a snapshot that its user may not read, which is no
// damage: nothing is rebuilt.
func TestUnreadableBoard(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user, and for itself files of mode 0 may be readable")
	}
	s := richBoard(t)
	s.giveTo(65534)
	path := s.board("board.json")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s.board())
	other := *s
	other.uid = 65534
	for _, args := range boardVerbs() {
		r := other.run(args...)
		if r.code != 1 || !strings.Contains(r.err, path) || !strings.Contains(r.err, "permission denied") {
			t.Errorf("%q: %s", args, r)
		}
	}
	if r := other.run("doctor"); r.code != 1 || !strings.Contains(r.out, "unreadable") || !strings.Contains(r.out, path) {
		t.Errorf("doctor: %s", r)
	}
	sameTree(t, "unreadable", before, tree(t, s.board()))
	// It is no damage: repair gives the owner the right to read it, no more.
	if r := other.run("doctor", "--repair"); r.code != 0 || strings.Contains(r.out, "rebuilt") {
		t.Errorf("doctor --repair: %s", r)
	}
	sameTree(t, "readable again", before, tree(t, s.board()))
	if r := other.run("task", "list", "-q"); r.code != 0 || strings.Count(r.out, "t_") != 10 {
		t.Errorf("readable again: %s", r)
	}
}

// giveTo makes everything of the site another user's, and opens the way there.
func (s *site) giveTo(uid int) {
	s.t.Helper()
	err := filepath.WalkDir(s.base, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for dir := s.base; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestDamagedLine has one task line that is no task: it is found and restored.
func TestDamagedLine(t *testing.T) {
	t.Parallel()
	s := richBoard(t)
	want := s.tasks()
	path := s.board("board.json")
	lines := strings.Split(read(t, path), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `"t_4":`) {
			lines[i] = strings.Replace(line, `"epoch":`, `"epoch":"x`, 1)
		}
	}
	write(t, path, strings.Join(lines, "\n"))
	if r := s.run("task", "list"); r.code != 1 || !strings.Contains(r.err, path) {
		t.Errorf("task list: %s", r)
	}
	s.repaired("a damaged line", want)
	if len(maps.Clone(want)) != 10 {
		t.Errorf("%d tasks", len(want))
	}
}

// TestOlderBoard has a snapshot of the past put in the place of the present
// one, as a restored backup: nothing of history is lost.
func TestOlderBoard(t *testing.T) {
	t.Parallel()
	s := richBoard(t)
	old := read(t, s.board("board.json"))
	s.add("newer")
	want := s.tasks()
	write(t, s.board("board.json"), old)
	if r := s.run("task", "add", "newest"); r.code != 1 || !strings.Contains(r.err, s.board("board.json")) {
		t.Errorf("task add: %s", r)
	}
	if r := s.run("doctor"); r.code != 1 || !strings.Contains(r.out, "older_than_history") {
		t.Errorf("doctor: %s", r)
	}
	s.ok("doctor", "--repair")
	if got := s.tasks(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("before %v\nafter %v", want, got)
	}
}
