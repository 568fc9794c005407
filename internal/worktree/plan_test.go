package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := snapshot(t, s.project)
	p := s.plan("ann")
	same(t, "a plan", before, snapshot(t, s.project))
	if want := filepath.Join(s.project, ".pi", "worktrees", "ann-1"); p.Path != want || p.Cwd != want {
		t.Errorf("path %s, cwd %s, want %s", p.Path, p.Cwd, want)
	}
	if p.Branch != "teams/ann-1" || p.Base != s.git("rev-parse", "HEAD") || p.Project != s.project {
		t.Errorf("%+v", p)
	}
}

// The number is above every one that was ever seen.
func TestPlanNumber(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		want string
		have func(s *site)
	}{
		"a branch":             {"ann-4", func(s *site) { s.git("branch", "teams/ann-3") }},
		"a branch below":       {"ann-3", func(s *site) { s.git("branch", "teams/ann-2/x") }},
		"a branch beside":      {"ann-3", func(s *site) { s.git("branch", "teams/ann-2-detached") }},
		"a remote's branch":    {"ann-6", func(s *site) { s.git("update-ref", "refs/remotes/origin/teams/ann-5", "HEAD") }},
		"a packed branch":      {"ann-8", func(s *site) { s.git("branch", "teams/ann-7"); s.git("pack-refs", "--all") }},
		"a directory":          {"ann-10", func(s *site) { s.write(".pi/worktrees/ann-9/x", "") }},
		"a directory going":    {"ann-3", func(s *site) { s.write(".pi/worktrees/.removing-ann-2/x", "") }},
		"a file":               {"ann-3", func(s *site) { s.write(".pi/worktrees/ann-2", "") }},
		"another name":         {"ann-1", func(s *site) { s.git("branch", "teams/ann-b-3"); s.git("branch", "teams/joann-3") }},
		"a nonsensical number": {"ann-1", func(s *site) { s.git("branch", "teams/ann-99999999999999999999") }},
		"removed by hand": {"ann-2", func(s *site) {
			p := s.make("ann")
			if err := os.RemoveAll(p.Path); err != nil {
				s.t.Fatal(err)
			}
			s.git("update-ref", "-d", "refs/heads/teams/ann-1")
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			c.have(s)
			if p := s.plan("ann"); filepath.Base(p.Path) != c.want || p.Branch != "teams/"+c.want {
				t.Errorf("%s on %s, want %s", p.Path, p.Branch, c.want)
			}
		})
	}
}

// The directory where the leader stands is kept.
func TestPlanCwd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("a b/c*/x", "x")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "more")
	s.write("src/new/y", "y")
	s.write("other/y", "y")
	side := filepath.Join(filepath.Dir(s.project), "side")
	s.git("worktree", "add", "-q", "-b", "side", side)
	write(t, filepath.Join(side, "only", "here"), "x")
	runGit(t, side, "add", "-A")
	runGit(t, side, "commit", "-q", "-m", "side")
	link := filepath.Join(filepath.Dir(s.project), "link")
	if err := os.Symlink(filepath.Join(s.project, "src"), link); err != nil {
		t.Fatal(err)
	}
	nested := filepath.Join(s.project, "nested")
	if err := os.MkdirAll(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	runGit(t, nested, "init", "-q")
	head, sideHead := s.git("rev-parse", "HEAD"), runGit(t, side, "rev-parse", "HEAD")
	for _, c := range []struct{ project, from, cwd, base string }{
		{"", "", "", head},
		{"", "src", "src", head},
		{"", "a b/c*", "a b/c*", head},
		{"", "src/new", "src", head}, // not in the commit
		{"", "other", "", head},
		{"", "gone", "", head},
		{"", "nested", "", head}, // another repository
		{"", link, "src", head},
		{"", "/", "", head},
		{"src", "src", "src", head}, // a project below the top
		{"src", "", "src", head},
		{"", filepath.Join(side, "only"), "only", sideHead}, // another checkout
		{"", ".git", "", head},
	} {
		from := c.from
		if from != "" && !filepath.IsAbs(from) {
			from = filepath.Join(s.project, from)
		}
		p, err := NewPlan(t.Context(), Request{Project: filepath.Join(s.project, c.project), From: from, Name: "ann", Owner: "o"})
		if err != nil {
			t.Errorf("from %q: %v", c.from, err)
			continue
		}
		if want := filepath.Join(s.project, c.project, ".pi/worktrees/ann-1", c.cwd); p.Cwd != want || p.Base != c.base {
			t.Errorf("project %q from %q: cwd %s at %s, want %s at %s", c.project, c.from, p.Cwd, p.Base, want, c.base)
		}
	}
}

func TestPlanRefused(t *testing.T) {
	plan := func(project, name string) error {
		_, err := NewPlan(t.Context(), Request{Project: project, Name: name, Owner: "o"})
		return err
	}
	refused := func(what string, err error, code errs.Code, parts ...string) {
		t.Helper()
		var e *errs.Error
		if errs.CodeOf(err) != code {
			t.Errorf("%s: %v of code %q, want %q", what, err, errs.CodeOf(err), code)
			return
		}
		text := err.Error()
		if e, _ = err.(*errs.Error); e != nil {
			text += " -- " + e.Hint
		}
		wantIn(t, what, text, parts...)
	}
	s := newSite(t)
	refused("a bad name", plan(s.project, "Ann"), errs.Usage)
	refused("a missing project", plan(filepath.Join(s.project, "gone"), "ann"), errs.Failure, "gone")
	refused("inside the git directory", plan(filepath.Join(s.project, ".git"), "ann"), errs.Failure, "bare repository or a git directory")
	s.git("branch", "teams")
	refused("a branch named teams", plan(s.project, "ann"), errs.Conflict, `a branch "teams"`, "git branch -m")

	empty := t.TempDir()
	refused("no repository", plan(empty, "ann"), errs.Failure, empty, "not in a git repository", "git init")
	runGit(t, empty, "init", "-q")
	refused("no commit", plan(empty, "ann"), errs.Failure, "no commit yet", "git commit --allow-empty")
	bare := t.TempDir()
	runGit(t, bare, "init", "-q", "--bare")
	refused("bare", plan(bare, "ann"), errs.Failure, "bare repository")

	broken := newSite(t)
	broken.write(".git/refs/heads/main", strings.Repeat("1", 40)+"\n")
	refused("a broken repository", plan(broken.project, "ann"), errs.Failure, "HEAD", "git fsck")

	t.Setenv("PATH", t.TempDir())
	refused("no git", plan(s.project, "ann"), errs.Failure, "git is not in PATH", "install git")
}

// What a hook or a careless shell has in the environment points nowhere.
func TestEnvironment(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "x"))
	}
	t.Setenv("GIT_LITERAL_PATHSPECS", "1")
	t.Setenv("GIT_AUTHOR_DATE", "nonsense")
	t.Setenv("GIT_AUTHOR_NAME", "somebody")
	t.Setenv("LANGUAGE", "de")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("HOME", "")
	os.Unsetenv("HOME")
	p := s.make("ann")
	write(t, filepath.Join(p.Path, "new"), "x")
	r := s.finalise(p, true)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_LITERAL_PATHSPECS", "GIT_AUTHOR_DATE"} {
		os.Unsetenv(name)
	}
	s.has("teams/ann-1", "new", "x")
	if who := s.git("log", "-1", "--format=%an <%ae> %cn <%ce>", r.Commit); who != "ann <ann@teams.invalid> ann <ann@teams.invalid>" {
		t.Error(who)
	}
	if !r.Removed || there(p.Path) {
		t.Errorf("%+v", r)
	}
}
