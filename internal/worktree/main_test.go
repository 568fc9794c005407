package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// helperEnv makes the test binary a process to be killed, which creates or
// finalises a worktree: what to do, project, name and owner, separated by NULs
// in hex.
const helperEnv = "TEAMS_WORKTREE_HELPER"

var long = flag.Bool("long", false, "kill much more often")

func TestMain(m *testing.M) {
	if args := os.Getenv(helperEnv); args != "" {
		os.Exit(helper(args))
	}
	flag.Parse()
	os.Exit(isolated(m))
}

// isolated runs the tests without the settings of whoever runs them.
func isolated(m *testing.M) int {
	home, err := os.MkdirTemp("", "teams-worktree-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull} {
		os.Setenv(name, value)
	}
	return m.Run()
}

func helper(args string) int {
	data, err := hex.DecodeString(args)
	if err != nil {
		return 3
	}
	part := strings.Split(string(data), "\x00")
	ctx, stop := contextOfHelper()
	defer stop()
	if part[0] == "finalise" {
		dir := filepath.Join(part[1], ".pi/worktrees", part[2])
		_, err := Finalise(ctx, Finish{Tree: Tree{Project: part[1], Path: dir, Branch: "teams/" + part[2], Owner: part[3]}, Author: "ann", Remove: true})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	p, err := NewPlan(ctx, Request{Project: part[1], Name: part[2], Owner: part[3]})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	fmt.Println(filepath.Base(p.Path))
	if _, err := Create(ctx, p); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// needGit skips a test where git is not installed.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: nothing to make worktrees with")
	}
}

// site is a repository with one commit.
type site struct {
	t       *testing.T
	project string
}

func newSite(t *testing.T, name ...string) *site {
	t.Helper()
	needGit(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, filepath.Join(dir, strings.Join(append([]string{"app"}, name...), ""))}
	if err := os.MkdirAll(s.project, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main", ".")
	s.write("README", "hello\n")
	s.write("src/main.go", "package main\n")
	s.write(".gitignore", "*.o\n/build/\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	return s
}

func (s *site) write(name, text string) { write(s.t, filepath.Join(s.project, name), text) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (s *site) git(args ...string) string { s.t.Helper(); return runGit(s.t, s.project, args...) }

// runGit runs git as a person would, with an identity.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=ben", "-c", "user.email=ben@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) plan(name string) Plan {
	s.t.Helper()
	p, err := NewPlan(s.t.Context(), Request{Project: s.project, Name: name, Owner: "life-of-" + name})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// make plans and creates a worktree.
func (s *site) make(name string) Plan {
	s.t.Helper()
	p := s.plan(name)
	if warnings, err := Create(s.t.Context(), p); err != nil || len(warnings) > 0 {
		s.t.Fatal(warnings, err)
	}
	return p
}

func (s *site) finalise(p Plan, remove bool) Result {
	s.t.Helper()
	r, err := Finalise(s.t.Context(), s.finish(p, remove))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) finish(p Plan, remove bool) Finish {
	return Finish{Tree: p.Tree, Author: "ann", Message: "Leftovers", Remove: remove}
}

// tip is the commit of a branch, "" when there is none.
func (s *site) tip(branch string) string {
	out, err := tryGit(s.project, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// has checks that a branch has a file with a text.
func (s *site) has(branch, name, text string) {
	s.t.Helper()
	if out, err := tryGit(s.project, "cat-file", "blob", branch+":"+name); err != nil || out != text {
		s.t.Errorf("%s:%s is %q (%v), want %q", branch, name, out, err, text)
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// snapshot describes everything below dir but lock files, the git directory
// included.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Name() == "teams-worktree.lock" {
			return nil
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			link, _ := os.Readlink(path)
			what += " " + link
		}
		out[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same compares two snapshots.
func same(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			t.Errorf("%s: %s was %q and is %q", what, name, before[name], after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[name]; !was {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

func wantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q does not say %q", what, text, part)
		}
	}
}
