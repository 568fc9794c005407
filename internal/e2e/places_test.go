package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// cycle adds, claims, gates, submits and looks, and says what went wrong.
func (s *site) cycle() {
	s.t.Helper()
	id := s.add("a task", "--verify", `pwd && test "$(pwd)" = "$TEAMS_TEST_PROJECT"`)
	me := s.with("TEAMS_TEST_PROJECT=" + s.project)
	if r := me.sh(`eval "$(teams join w1 --pid $$)" && test "$TEAMS_PROJECT" = "$TEAMS_TEST_PROJECT" && id=$(teams claim -q) && teams submit "$id" --result done && teams leave`); r.code != 0 {
		s.t.Fatalf("%s", r)
	}
	if got := s.show(id); got.State != "completed" || got.Result != "done" {
		s.t.Errorf("%+v", got)
	}
	other := s.add("for a loop")
	if r := me.run("work", "--once", "--", "sh", "-c", `test "$PWD" = "$TEAMS_TEST_PROJECT" && test -f "$TEAMS_TASK_FILE" && echo "$TEAMS_TASK"`); r.code != 0 {
		s.t.Fatalf("%s", r)
	}
	if got := s.show(other); got.Result != other {
		s.t.Errorf("%+v", got)
	}
	if utf8.ValidString(s.root) && !strings.Contains(s.root, "\n") { // these are made harmless in text, and JSON has no bytes
		if got := s.ok("where", "-q"); got != s.board() {
			s.t.Errorf("where: %q, the board is %q", got, s.board())
		}
	}
	s.healthy()
}

// TestPaths works below paths that break careless programs.
func TestPaths(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("/"+strings.Repeat("d", 49), 6)
	for name, dirs := range map[string]struct{ root, project string }{
		"spaces":       {"a root", "my app"},
		"newlines":     {"ro\not", "a\nb"},
		"quotes":       {`r'o"ot$HOME`, "it's `pwd` \"app\" $(x) \\"},
		"dashes":       {"-root", "--json"},
		"unicode":      {"wurzel-ü", "приложение 🚀"},
		"invalid utf8": {"r\xff\xfe", "app"},
		"300":          {"root" + deep, "app" + deep},
		"long names":   {strings.Repeat("r", 250), strings.Repeat("P", 250)},
		"percent":      {"100%s%d", "%n%20:x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.root, s.project = filepath.Join(s.base, dirs.root), filepath.Join(s.base, dirs.project)
			if err := os.MkdirAll(filepath.Join(s.project, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			s.cycle()
			if key := filepath.Base(s.board()); len(key) > 64 || strings.ContainsAny(key, " \n'\"$%") {
				t.Errorf("session key %q", key)
			}
		})
	}
}

// TestSessionsApart has two sessions in one project, and two projects whose
// directories have the same name: nothing mixes.
func TestSessionsApart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.with("TEAMS_SESSION=one"), s.with("TEAMS_SESSION=two")
	a.add("of one")
	b.add("of two")
	a.ok("claim", "t_1", "--as", "ann")
	if got := b.show("t_1"); got.State != "ready" || got.Subject != "of two" {
		t.Errorf("%+v", got)
	}
	b.ok("claim", "t_1", "--as", "ann")
	b.ok("submit", "--as", "ann")
	if got := a.show("t_1"); got.State != "claimed" {
		t.Errorf("%+v", got)
	}
	if got := s.with("TEAMS_SESSION=one").ok("task", "show", "t_1", "-q", "--session", "two"); got != "t_1" {
		t.Error(got)
	}
	// A life of one session is none of the other.
	a.life("ann", spawnIn(t, filepath.Join(s.root, "teammate", "one", "ann", "teammate.json"))).fails(5, "stale_identity", "submit", "--session", "two")

	for _, dir := range []string{"x/app", "y/app"} {
		if err := os.MkdirAll(filepath.Join(s.base, dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.at(filepath.Join(s.base, dir)).add("of " + dir)
	}
	if err := os.MkdirAll(filepath.Join(s.base, "x/app/sub/dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	x, y := s.at(filepath.Join(s.base, "x/app/sub/dir")), s.at(filepath.Join(s.base, "y/app"))
	if got := x.show("t_1").Subject + ", " + y.show("t_1").Subject; got != "of x/app, of y/app" {
		t.Error(got)
	}
	if kx, ky := filepath.Base(x.ok("where", "-q")), filepath.Base(y.ok("where", "-q")); kx == ky || !strings.HasPrefix(kx, "app-") || !strings.HasPrefix(ky, "app-") {
		t.Errorf("keys %s and %s", kx, ky)
	}
	out := s.ok("sessions")
	for _, want := range []string{"one", "two", filepath.Join(s.base, "x/app"), filepath.Join(s.base, "y/app")} {
		if !strings.Contains(out, want) {
			t.Errorf("sessions lacks %s:\n%s", want, out)
		}
	}
}

// TestWorktree finds the board of the main checkout from a git worktree, and
// from a clone another one.
func TestWorktree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newSite(t)
	if err := os.RemoveAll(filepath.Join(s.project, ".git")); err != nil {
		t.Fatal(err)
	}
	git := "git -c user.name=n -c user.email=e@example.com -c init.defaultBranch=main "
	for _, line := range []string{
		git + "init -q .", git + "commit -q --allow-empty -m first", git + "worktree add -q " + s.base + "/tree", git + "worktree add -q .pi/worktrees/w1-1",
		git + "clone -q . " + s.base + "/clone",
	} {
		if r := s.sh(line); r.code != 0 {
			t.Fatalf("%s: %s", line, r)
		}
	}
	id := s.add("in the main checkout", "--verify", "git rev-parse HEAD")
	board := s.ok("where", "-q")
	if err := os.MkdirAll(filepath.Join(s.base, "tree", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.base + "/tree", s.base + "/tree/sub", s.project + "/.pi/worktrees/w1-1"} {
		if got := s.at(dir).ok("where", "-q"); got != board {
			t.Errorf("from %s: %s, not %s", dir, got, board)
		}
	}
	if got := s.at(s.base+"/clone").ok("where", "-q"); got == board {
		t.Error("a clone is the same project")
	}
	tree := s.at(s.base + "/tree")
	tree.ok("claim", id, "--as", "ann")
	tree.ok("submit", "--as", "ann")
	head := strings.TrimSpace(s.sh("git rev-parse HEAD").out)
	e, _ := s.json("task", "show", id)
	if got := s.show(id); got.State != "completed" || !strings.Contains(string(e.Data), `"commit":"`+head+`"`) {
		t.Errorf("the receipt lacks the commit %s: %s", head, e.Data)
	}
	s.healthy()
}

// TestSymlinks has the root as a symlink, which is fine, and symlinks in every
// place inside of a session, which are refused and never followed.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	real := filepath.Join(s.base, "real root")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, s.root); err != nil {
		t.Fatal(err)
	}
	s.cycle()
	s.add("open", "--verify", "true")
	s.ok("claim", "--as", "ann")
	s.add("open too")
	s.ok("tick")

	restore := keepTree(t, real)
	board, team := s.board(), s.team()
	session := filepath.Base(board)
	outside := filepath.Join(s.base, "outside")
	writers := [][]string{
		{"task", "add", "more"}, {"claim", "--as", "bob"}, {"submit", "--as", "ann"}, {"tick"}, {"join", "cid"}, {"leave", "--as", "ann"},
		{"gc", "--older-than", "1ns"}, {"doctor", "--fix"}, {"doctor", "--repair"}, {"task", "edit", "t_4", "--priority", "0"}, {"release", "t_3"},
		{"work", "--once", "--as", "w2", "--", "true"}, {"verify", "t_3"},
	}
	for _, place := range []string{
		filepath.Join(s.root, "tasks"), filepath.Join(s.root, "teammate"), board, team,
		filepath.Join(board, "claims"), filepath.Join(board, "submissions"), filepath.Join(board, "gates"), filepath.Join(board, "rejected"),
		filepath.Join(board, "board.lock"), filepath.Join(board, "history.jsonl"), filepath.Join(board, "ready"), filepath.Join(board, "archive.jsonl"),
		filepath.Join(team, "session.json"), filepath.Join(team, "ann"), filepath.Join(team, "ann", "teammate.json"), filepath.Join(team, "ann", "teammate.lock"),
		filepath.Join(team, "harness.lock"), filepath.Join(board, "gates", "t_3.lock"), filepath.Join(board, "gates", "t_3.run"), filepath.Join(board, "gates", "t_3.1.log"),
	} {
		name, _ := filepath.Rel(s.root, place)
		name = strings.ReplaceAll(name, session, "S")
		restore()
		_ = os.RemoveAll(outside)
		// What the link points at is what was there, so that following it would work.
		if exists(place) {
			if err := os.Rename(place, outside); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, outside, "")
		}
		if err := os.Symlink(outside, place); err != nil {
			t.Fatal(err)
		}
		before := outsideTree(t, outside)
		refused := 0
		for _, args := range writers {
			if r := s.run(args...); r.code != 0 {
				refused++
				if r.code != 1 && r.code != 2 && r.code != 4 && r.code != 3 || strings.Contains(r.err, "panic") {
					t.Errorf("%s: teams %v: %s", name, args, r)
				}
			}
		}
		sameTree(t, name+": followed", before, outsideTree(t, outside))
		// The ready list is a hint: it is replaced, like anything unusable.
		if info, err := os.Lstat(place); refused == 0 && err == nil && info.Mode()&os.ModeSymlink != 0 && !strings.Contains(name, "archive") {
			t.Errorf("%s: a symlink and nobody says so", name)
		}
		for _, args := range [][]string{{"task", "list"}, {"sessions"}, {"doctor"}} {
			if r := s.run(args...); r.code > 1 {
				t.Errorf("%s: teams %v: %s", name, args, r)
			}
		}
	}
}

// outsideTree is tree for what may be one file; lock files count.
func outsideTree(t *testing.T, path string) map[string]string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsDir() {
		return map[string]string{".": fmt.Sprint(info.Size(), read(t, path))}
	}
	return tree(t, path)
}
