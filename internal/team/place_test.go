package team

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// fakeEnv is an environment.
type fakeEnv map[string]string

func (e fakeEnv) get(key string) string { return e[key] }

// realTemp is a temporary directory without symlinks in its path.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRoot(t *testing.T) {
	cwd := realTemp(t)
	for _, c := range []struct {
		name   string
		flag   string
		env    fakeEnv
		root   string
		source string
		bad    string // path in the error
	}{
		{"default", "", fakeEnv{"HOME": "/h"}, "/h/.pi/agent", SourceDefault, ""},
		{"pi", "", fakeEnv{"HOME": "/h", EnvPiRoot: "/pi"}, "/pi", EnvPiRoot, ""},
		{"ours before pi", "", fakeEnv{EnvPiRoot: "/pi", EnvRoot: "/r"}, "/r", EnvRoot, ""},
		{"flag before all", "/f", fakeEnv{EnvPiRoot: "/pi", EnvRoot: "/r"}, "/f", SourceFlag, ""},
		{"empty is unset", "", fakeEnv{"HOME": "/h", EnvRoot: "", EnvPiRoot: ""}, "/h/.pi/agent", SourceDefault, ""},
		{"cleaned", "/f//x/../y/", nil, "/f/y", SourceFlag, ""},
		{"tilde", "", fakeEnv{"HOME": "/h", EnvPiRoot: "~/x"}, "/h/x", EnvPiRoot, ""},
		{"tilde alone", "~", fakeEnv{"HOME": "/h"}, "/h", SourceFlag, ""},
		{"no home needed", "", fakeEnv{EnvRoot: "/r"}, "/r", EnvRoot, ""},
		{"spaces and newlines", "", fakeEnv{EnvRoot: "/a b\nc"}, "/a b\nc", EnvRoot, ""},
		{"no home", "", fakeEnv{}, "", "", "~/.pi/agent"},
		{"relative home", "", fakeEnv{"HOME": "rel/home"}, "", "", "rel/home"},
		{"relative root", "", fakeEnv{"HOME": "/h", EnvRoot: "some/root"}, "", "", "some/root"},
		{"relative pi root", "", fakeEnv{"HOME": "/h", EnvPiRoot: "."}, "", "", "."},
		{"relative flag", "x", fakeEnv{"HOME": "/h"}, "", "", "x"},
		{"tilde of another user", "~bob/x", fakeEnv{"HOME": "/h"}, "", "", "~bob/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Resolve(Input{Getenv: c.env.get, Cwd: cwd, Root: c.flag})
			if c.bad != "" {
				wantCode(t, err, errs.Unusable)
				if !strings.Contains(err.Error(), c.bad) || errs.Exit(errs.CodeOf(err)) != 1 {
					t.Errorf("error %q does not name %q", err, c.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Root != c.root || p.Sources["root"] != c.source {
				t.Errorf("root %q from %q, want %q from %q", p.Root, p.Sources["root"], c.root, c.source)
			}
		})
	}
}

func TestHomeFunc(t *testing.T) {
	_, err := Resolve(Input{Getenv: fakeEnv{}.get, Cwd: realTemp(t),
		Home: func() (string, error) { return "", errors.New("nobody lives here") }})
	wantCode(t, err, errs.Unusable)
	if !strings.Contains(err.Error(), "nobody lives here") {
		t.Error(err)
	}
}

func TestCwdFaults(t *testing.T) {
	dir := realTemp(t)
	writeFile(t, filepath.Join(dir, "file"), "")
	gone := filepath.Join(dir, "gone")
	for _, cwd := range []string{gone, filepath.Join(dir, "file"), "relative"} {
		_, err := Resolve(Input{Getenv: fakeEnv{EnvRoot: "/r"}.get, Cwd: cwd})
		wantCode(t, err, errs.Unusable)
		if !strings.Contains(err.Error(), cwd) {
			t.Errorf("%q does not name %q", err, cwd)
		}
		_, err = Resolve(Input{Getenv: fakeEnv{EnvRoot: "/r", EnvProject: cwd}.get, Cwd: dir})
		wantCode(t, err, errs.Unusable)
	}
}

func TestSessionKey(t *testing.T) {
	for path, prefix := range map[string]string{
		"/srv/app":                         "app-",
		"/srv/App":                         "app-",
		"/srv/My App (2)":                  "myapp2-",
		"/srv/...":                         "project-",
		"/srv/日本":                          "project-",
		"/srv/日本x":                         "x-",
		"/srv/-rf":                         "rf-",
		"/srv/.hidden":                     "hidden-",
		"/srv/_a.b-c":                      "a.b-c-",
		"/srv/a\nb":                        "ab-",
		"/":                                "project-",
		"/srv/" + strings.Repeat("x", 300): strings.Repeat("x", 55) + "-",
		"/srv/" + strings.Repeat(".", 300): "project-",
		"/srv/\xff\xfe":                    "project-",
	} {
		key := SessionKey(path)
		if err := fsx.CheckSessionKey(key); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if !strings.HasPrefix(key, prefix) || len(key) != len(prefix)+8 {
			t.Errorf("key of %q is %q, want %s and 8 digits", path, key, prefix)
		}
	}
	// As printf /srv/app | sha256sum has it.
	if got := SessionKey("/srv/app"); got != "app-dae668e4" {
		t.Errorf("key %q", got)
	}
	if SessionKey("/a/app") == SessionKey("/b/app") {
		t.Error("two projects of one name have one key")
	}
}

func TestSessionSources(t *testing.T) {
	dir := realTemp(t)
	base := fakeEnv{EnvRoot: "/r"}
	p := must(Resolve(Input{Getenv: base.get, Cwd: dir}))(t)
	if p.Session != SessionKey(dir) || p.Sources["session"] != SourceProject {
		t.Errorf("%+v", p)
	}
	base[EnvSession] = "mine"
	p = must(Resolve(Input{Getenv: base.get, Cwd: dir}))(t)
	if p.Session != "mine" || p.Sources["session"] != EnvSession {
		t.Errorf("%+v", p)
	}
	p = must(Resolve(Input{Getenv: base.get, Cwd: dir, Session: "flagged.1"}))(t)
	if p.Session != "flagged.1" || p.Sources["session"] != SourceFlag {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{".", "..", "a/b", "UP", "-x", "a b", strings.Repeat("k", 65), "日本", "a\x00"} {
		_, err := Resolve(Input{Getenv: base.get, Cwd: dir, Session: bad})
		wantCode(t, err, errs.Usage)
		_, err = Resolve(Input{Getenv: fakeEnv{EnvRoot: "/r", EnvSession: bad}.get, Cwd: dir})
		wantCode(t, err, errs.Usage)
	}
}

func TestNameSources(t *testing.T) {
	dir := realTemp(t)
	for _, c := range []struct {
		as                  string
		env                 fakeEnv
		name, spawn, source string
	}{
		{"", fakeEnv{}, "", "", ""},
		{"", fakeEnv{EnvName: "ann", EnvSpawn: "s1"}, "ann", "s1", EnvName},
		{"ann", fakeEnv{EnvName: "ann", EnvSpawn: "s1"}, "ann", "s1", SourceFlag},
		{"bob", fakeEnv{EnvName: "ann", EnvSpawn: "s1"}, "bob", "", SourceFlag},
		{"leader", fakeEnv{}, "leader", "", SourceFlag},
		{"", fakeEnv{EnvName: "", EnvSpawn: ""}, "", "", ""},
	} {
		c.env[EnvRoot] = "/r"
		p := must(Resolve(Input{Getenv: c.env.get, Cwd: dir, As: c.as}))(t)
		if p.Name != c.name || p.SpawnID != c.spawn || p.Sources["name"] != c.source {
			t.Errorf("as %q in %v: %+v", c.as, c.env, p)
		}
	}
}

func TestProjectFromEnvironment(t *testing.T) {
	dir := realTemp(t)
	project := mkdirs(t, dir, "project")
	if err := os.Symlink(project, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	elsewhere := mkdirs(t, dir, "else", "where")
	p := must(Resolve(Input{Getenv: fakeEnv{EnvRoot: "/r", EnvProject: filepath.Join(dir, "link")}.get, Cwd: elsewhere}))(t)
	if p.Project != project || p.Cwd != elsewhere || p.Sources["project"] != EnvProject ||
		p.Session != SessionKey(project) {
		t.Errorf("%+v", p)
	}
}

func TestPaths(t *testing.T) {
	p := Place{Root: "/r", Session: "k", Project: "/srv/a:b\\c%2F"}
	for got, want := range map[string]string{
		p.BoardDir():           "/r/tasks/k",
		p.TeamDir():            "/r/teammate/k",
		p.TeammateDir("ann"):   "/r/teammate/k/ann",
		p.TeammateFile("ann"):  "/r/teammate/k/ann/teammate.json",
		p.InboxDir(LeaderName): "/r/teammate/k/leader/inbox",
		p.OutboxDir("ann"):     "/r/teammate/k/ann/outbox",
		p.AliveLock("ann"):     "/r/teammate/k/ann/alive.lock",
		p.HarnessLock():        "/r/teammate/k/harness.lock",
		p.RosterLock():         "/r/teammate/k/roster.lock",
		p.LedgerPath():         "/r/herdr-pi/history/%2Fsrv%2Fa%3Ab%5Cc%252F/history.jsonl",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFlattenIsInjective(t *testing.T) {
	long := "/" + strings.Repeat("a/", 200)
	paths := []string{"/a/b", "/a-b", "/a%2Fb", "/a:b", "/a\\b", "/a", "/a/", "/%", "/%25", long, long + "b",
		long[:len(long)-2] + "b/", "/" + strings.Repeat("%", 300), "/" + strings.Repeat("%", 301)}
	seen := map[string]string{}
	for _, p := range paths {
		flat := Flatten(p)
		if other, ok := seen[flat]; ok {
			t.Errorf("%q and %q are both %q", p, other, flat)
		}
		seen[flat] = p
		if strings.Contains(flat, "/") || len(flat) > 255 {
			t.Errorf("%q is no file name", flat)
		}
	}
}

func TestLongAndOddPaths(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "a root\nwith 'quotes' \"and\" $(x)", strings.Repeat("r", 200), strings.Repeat("s", 120))
	cwd := mkdirs(t, dir, strings.Repeat("p", 250), strings.Repeat("q", 100)+" \n'x'")
	p := must(Resolve(Input{Getenv: fakeEnv{EnvRoot: root}.get, Cwd: cwd}))(t)
	tm := Open(p)
	if _, err := tm.Join(t.Context(), JoinRequest{Name: "w1"}); err != nil {
		t.Fatal(err)
	}
	got := must(tm.Read("w1"))(t)
	if got.Cwd != cwd || must(tm.ReadSession())(t).Project != cwd {
		t.Errorf("%+v", got)
	}
}
