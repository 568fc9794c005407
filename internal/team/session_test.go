package team

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestEnsureSession(t *testing.T) {
	old := syscall.Umask(0o077 | 0o100)
	defer syscall.Umask(old)
	tm := newTeam(t)
	s := must(tm.EnsureSession())(t)
	if s.Key != "s" || s.Project != "/p" || millisAgo(s.Created).Minutes() > 1 {
		t.Errorf("%+v", s)
	}
	data := string(must(os.ReadFile(tm.SessionFile()))(t))
	if lines := strings.Split(data, "\n"); len(lines) != 6 || lines[1] != `  "key": "s",` {
		t.Errorf("not one key a line: %q", data)
	}
	for _, dir := range []string{tm.TeamDir(), filepath.Join(tm.InboxDir(LeaderName), "new")} {
		if fi := must(os.Stat(dir))(t); fi.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v", dir, fi.Mode())
		}
	}
	if fi := must(os.Stat(tm.SessionFile()))(t); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}

	// A second call, also from another project, changes nothing.
	other := *tm
	other.Project = "/other"
	before := listTree(t, tm.Root)
	if again := must(other.EnsureSession())(t); again.Project != "/p" || again.Created != s.Created {
		t.Errorf("%+v", again)
	}
	if after := listTree(t, tm.Root); after != before {
		t.Errorf("the tree changed:\n%s\n%s", before, after)
	}
}

func TestReadingCreatesNothing(t *testing.T) {
	tm := newTeam(t)
	if exists := must(tm.Exists())(t); exists {
		t.Error("a session without state exists")
	}
	if _, err := tm.ReadSession(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	list, problems, err := tm.List()
	if len(list)+len(problems) != 0 || err != nil {
		t.Error(list, problems, err)
	}
	if _, err := tm.Find("ann"); errs.CodeOf(err) != errs.NotFound {
		t.Error(err)
	}
	if sessions, problems, err := Sessions(tm.Root); len(sessions)+len(problems) != 0 || err != nil {
		t.Error(sessions, problems, err)
	}
	tm.Lookup("ann", "x")
	tm.HarnessLive()
	tm.Reader()
	tm.as("ann", "").Reader()
	tm.as("ann", "x").CheckLife()
	tm.Leave(t.Context(), "ann", "", nil)
	tm.Liveness(Teammate{Name: "ann", Kind: KindPi, Host: fsx.Host()})
	if _, err := tm.HoldAlive(Teammate{Name: "ann"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	wantNothing(t, tm.Root)
}

func TestRootMayBeSymlinkSessionMayNot(t *testing.T) {
	dir := t.TempDir()
	real, link := mkdirs(t, dir, "real"), filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	tm := Open(Place{Root: link, Session: "s", Project: "/p"})
	must(tm.EnsureSession())(t)
	must(tm.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	if exists := must(tm.Exists())(t); !exists {
		t.Error("no session")
	}

	for _, rel := range []string{"tasks", "tasks/s", "teammate", "teammate/s", "teammate/s/ann", "teammate/s/ann/teammate.json", "teammate/s/session.json"} {
		t.Run(strings.ReplaceAll(rel, "/", "_"), func(t *testing.T) {
			root, outside := t.TempDir(), mkdirs(t, t.TempDir(), "outside")
			tm := Open(Place{Root: root, Session: "s", Project: "/p"})
			if strings.Contains(rel, "ann") {
				must(tm.EnsureSession())(t)
			}
			path := filepath.Join(root, rel)
			mkdirs(t, filepath.Dir(path))
			if err := os.Symlink(outside, path); err != nil {
				t.Fatal(err)
			}
			before := listTree(t, root)
			_, err := tm.Join(t.Context(), JoinRequest{Name: "ann"})
			wantCode(t, err, errs.Corrupt)
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name %s", err, path)
			}
			if strings.Count(rel, "/") < 2 {
				_, _, err = tm.FirstFree(t.Context(), "w", JoinRequest{})
				wantCode(t, err, errs.Corrupt)
			}
			if after := listTree(t, root); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
			if left := must(os.ReadDir(outside))(t); len(left) != 0 {
				t.Errorf("%v was written outside the session", left)
			}
			if strings.Count(rel, "/") < 2 {
				_, err = tm.Exists()
				wantCode(t, err, errs.Corrupt)
			}
		})
	}
}

func TestCorruptSessionRecord(t *testing.T) {
	for _, content := range []string{"", "{", "null", "[]", `"x"`, "\x00\x00", `{"key":"s"}`, `{"PROJECT":"/p"}`} {
		tm := newTeam(t)
		writeFile(t, tm.SessionFile(), content)
		_, err := tm.EnsureSession()
		wantCode(t, err, errs.Corrupt)
		if !strings.Contains(err.Error(), tm.SessionFile()) {
			t.Error(err)
		}
		if got := must(os.ReadFile(tm.SessionFile()))(t); string(got) != content {
			t.Errorf("%q was overwritten by %q", content, got)
		}
	}
}

func TestSessions(t *testing.T) {
	root := t.TempDir()
	a := Open(Place{Root: root, Session: "a", Project: "/srv/a"})
	must(a.Join(t.Context(), JoinRequest{Name: "one"}))(t)
	gone := must(a.Join(t.Context(), JoinRequest{Name: "two"}))(t)
	must(a.Leave(t.Context(), gone.Name, gone.SpawnID, nil))(t)
	writeFile(t, filepath.Join(root, "tasks", "b", "board.json"),
		`{"format":1,"revision":3,"holders":["x"],"project":"/srv/b","tasks":{`+"\n"+`}}`)
	writeFile(t, filepath.Join(root, "tasks", "c", "board.json"), "\x00\x00\x00")
	writeFile(t, filepath.Join(root, "teammate", "d", "session.json"), "{")
	mkdirs(t, root, "teammate", "Bad Key")
	writeFile(t, filepath.Join(root, "teammate", "file"), "")
	mkdirs(t, root, "teammate", ".hidden")
	if err := os.Symlink(root, filepath.Join(root, "tasks", "link")); err != nil {
		t.Fatal(err)
	}

	sessions, problems, err := Sessions(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sessions {
		got = append(got, s.Key+"="+s.Project)
		if s.LastChange == 0 || millisAgo(s.LastChange).Minutes() > 1 {
			t.Errorf("%s: last change %d", s.Key, s.LastChange)
		}
	}
	if want := "a=/srv/a b=/srv/b c= d="; strings.Join(got, " ") != want {
		t.Errorf("sessions %v, want %s", got, want)
	}
	if s := sessions[0]; s.Living != 1 || !s.HasTeam || s.HasBoard {
		t.Errorf("%+v", s)
	}
	if s := sessions[1]; s.HasTeam || !s.HasBoard || s.BoardDir != filepath.Join(root, "tasks", "b") {
		t.Errorf("%+v", s)
	}
	var bad []string
	for _, p := range problems {
		bad = append(bad, filepath.Base(p.Path))
	}
	if want := "link|Bad Key|session.json|file"; strings.Join(bad, "|") != want {
		t.Errorf("problems %v, want %s", bad, want)
	}
}

// A read-only root of somebody else: reading works, writing says where and why.
func TestReadOnlyRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	root := sharedRoot(t)
	h := startHelperAs(t, root, 65534)
	if r := h.do("exists x"); r.Code != "" {
		t.Errorf("reading: %+v", r)
	}
	for _, op := range []string{"write x", "join ann", "as ann", "held ann", "free w"} {
		r := h.do(op)
		if errs.Exit(errs.Code(r.Code)) != 1 || !strings.Contains(r.Err, root) || !strings.Contains(r.Err, "permission denied") {
			t.Errorf("%s: %+v", op, r)
		}
	}
	if left := must(os.ReadDir(root))(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// sharedRoot is an empty root that others may enter; t.TempDir is closed to
// them.
func sharedRoot(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "team")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	root := mkdirs(t, base, "root")
	os.Chmod(base, 0o755)
	os.Chmod(root, 0o755)
	return root
}

// What cannot be looked at is an error, and proves nothing.
func TestUnreadableTeam(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	root := sharedRoot(t)
	team := Open(Place{Root: root, Session: "s", Project: "/p"})
	must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	os.Chmod(filepath.Join(root, "teammate"), 0o755)
	h := startHelperAs(t, root, 65534)
	for _, op := range []string{"list x", "as ann", "join ann", "leave ann"} {
		if r := h.do(op); errs.Exit(errs.Code(r.Code)) != 1 || !strings.Contains(r.Err, team.TeamDir()) {
			t.Errorf("%s: %+v", op, r)
		}
	}
	for _, name := range []string{"ann", "bob"} {
		if r := h.do("lookup " + name); r.Name != "unknown" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	os.Chmod(team.TeamDir(), 0o711) // now it can be seen that there is no bob
	if r := h.do("lookup bob"); r.Name != "no such" {
		t.Errorf("%+v", r)
	}
}
