package team

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func wantProject(t *testing.T, cwd, root, project, source string) {
	t.Helper()
	p, err := Resolve(Input{Getenv: fakeEnv{EnvRoot: root}.get, Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	if p.Project != project || p.Sources["project"] != source {
		t.Errorf("project of %s is %s (%s), want %s (%s)", cwd, p.Project, p.Sources["project"], project, source)
	}
}

func TestProjectSearch(t *testing.T) {
	home := realTemp(t)
	root := mkdirs(t, home, ".pi", "agent")
	plain := mkdirs(t, home, "plain", "sub")
	wantProject(t, plain, root, plain, SourceCwd) // ~/.pi marks nothing
	wantProject(t, home, root, home, SourceCwd)

	pi := mkdirs(t, home, "pi")
	mkdirs(t, pi, ".pi")
	sub := mkdirs(t, pi, "a", "b")
	wantProject(t, sub, root, pi, SourcePi)
	wantProject(t, pi, root, pi, SourcePi)
	wantProject(t, filepath.Join(pi, ".pi"), root, pi, SourcePi)

	git := mkdirs(t, pi, "git")
	mkdirs(t, git, ".git")
	wantProject(t, mkdirs(t, git, "x"), root, git, SourceGit)
	inner := mkdirs(t, git, "x", "inner")
	mkdirs(t, inner, ".pi")
	wantProject(t, inner, root, inner, SourcePi) // the nearest wins

	// A file named .pi, and a .git that is neither file nor directory, mark
	// nothing.
	odd := mkdirs(t, home, "odd", "in")
	writeFile(t, filepath.Join(home, "odd", ".pi"), "")
	wantProject(t, odd, root, odd, SourceCwd)

	// Reached through a symlink it is the same project.
	link := filepath.Join(home, "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Fatal(err)
	}
	wantProject(t, link, root, pi, SourcePi)
}

func TestPiThatHoldsTheRoot(t *testing.T) {
	dir := realTemp(t)
	mkdirs(t, dir, "real", ".pi", "agent")
	sub := mkdirs(t, dir, "real", "sub")
	if err := os.Symlink(filepath.Join(dir, "real", ".pi"), filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	wantProject(t, sub, filepath.Join(dir, "real", ".pi", "agent"), sub, SourceCwd)
	wantProject(t, sub, filepath.Join(dir, "alias", "agent"), sub, SourceCwd)
	wantProject(t, sub, filepath.Join(dir, "alias", "not", "there", "yet"), sub, SourceCwd)
	wantProject(t, sub, filepath.Join(dir, "elsewhere", "x", "y"), filepath.Join(dir, "real"), SourcePi)
	// A name that merely begins alike is another directory.
	wantProject(t, sub, filepath.Join(dir, "real", ".pi-other", "agent"), filepath.Join(dir, "real"), SourcePi)
}

// ~/.pi marks nothing, also when the root is somewhere else.
func TestHomePiMarksNothing(t *testing.T) {
	home := realTemp(t)
	mkdirs(t, home, ".pi", "agent")
	sub := mkdirs(t, home, "sub")
	p := must(Resolve(Input{Getenv: fakeEnv{EnvRoot: "/elsewhere", "HOME": home}.get, Cwd: sub}))(t)
	if p.Project != sub || p.Sources["project"] != SourceCwd {
		t.Errorf("%+v", p)
	}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: nothing to make worktrees with")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repo makes a repository with one commit.
func newRepo(t *testing.T, elem ...string) string {
	dir := mkdirs(t, elem...)
	runGit(t, dir, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(dir, "file"), "x")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func TestWorktreeIsMainCheckout(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "h", ".pi", "agent")
	app := newRepo(t, dir, "the app\n1")
	inside := filepath.Join(app, ".pi", "worktrees", "ann-1")
	runGit(t, app, "worktree", "add", "-q", "-b", "teams/ann-1", inside)
	outside := filepath.Join(dir, "outside")
	runGit(t, app, "worktree", "add", "-q", "-b", "o", outside)
	wantProject(t, app, root, app, SourceGit)
	wantProject(t, inside, root, app, SourceGit)
	wantProject(t, mkdirs(t, inside, "deep", "er"), root, app, SourceGit)
	wantProject(t, outside, root, app, SourceGit)

	// An entry that was pruned still says whose worktree it is.
	if err := os.RemoveAll(filepath.Join(app, ".git", "worktrees", "outside")); err != nil {
		t.Fatal(err)
	}
	wantProject(t, outside, root, app, SourceGit)

	// A main checkout that is gone is said, not replaced by another board.
	if err := os.Rename(app, app+".moved"); err != nil {
		t.Fatal(err)
	}
	_, err := Resolve(Input{Getenv: fakeEnv{EnvRoot: root}.get, Cwd: outside})
	wantCode(t, err, errs.Unusable)
	p := must(Resolve(Input{Getenv: fakeEnv{EnvRoot: root, EnvProject: outside}.get, Cwd: outside}))(t)
	if p.Project != outside {
		t.Errorf("%+v", p)
	}
}

// A project in a directory of a repository is the same one from a worktree.
func TestProjectBelowTheTopOfAWorktree(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "h", ".pi", "agent")
	mono := newRepo(t, dir, "mono")
	app := mkdirs(t, mono, "app")
	writeFile(t, filepath.Join(mkdirs(t, app, ".pi", "agents"), "mo.md"), "x")
	writeFile(t, filepath.Join(mkdirs(t, app, "src"), "f"), "x")
	writeFile(t, filepath.Join(mkdirs(t, mono, "lib", "src"), "f"), "x")
	runGit(t, mono, "add", ".")
	runGit(t, mono, "commit", "-q", "-m", "app")
	wantProject(t, filepath.Join(app, "src"), root, app, SourcePi)

	tree := filepath.Join(app, ".pi", "worktrees", "mo-1")
	runGit(t, mono, "worktree", "add", "-q", "-b", "teams/mo-1", tree)
	outside := filepath.Join(dir, "outside")
	runGit(t, mono, "worktree", "add", "-q", "-b", "o", outside)
	for _, wt := range []string{tree, outside} {
		wantProject(t, filepath.Join(wt, "app", "src"), root, app, SourcePi)
		wantProject(t, filepath.Join(wt, "app"), root, app, SourcePi)
		wantProject(t, mkdirs(t, wt, "app", "only", "here"), root, app, SourcePi)
	}
	// At its top a teammate's worktree is still that of its project.
	wantProject(t, tree, root, app, SourcePi)
	wantProject(t, filepath.Join(tree, "lib", "src"), root, app, SourcePi)
	wantProject(t, outside, root, mono, SourceGit)
	wantProject(t, filepath.Join(outside, "lib"), root, mono, SourceGit)

	// A mark that was not committed counts as well, and one that only the
	// worktree has does not split the team.
	lib := filepath.Join(mono, "lib")
	mkdirs(t, lib, ".pi")
	wantProject(t, filepath.Join(outside, "lib", "src"), root, lib, SourcePi)
	mkdirs(t, outside, "app", "src", ".pi")
	wantProject(t, filepath.Join(outside, "app", "src"), root, app, SourcePi)
	// A directory that the main checkout does not have is on its own.
	mkdirs(t, outside, "fresh", ".pi")
	wantProject(t, filepath.Join(outside, "fresh"), root, filepath.Join(outside, "fresh"), SourcePi)
}

func TestSubmoduleIsAProject(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "h", ".pi", "agent")
	lib := newRepo(t, dir, "lib")
	app := newRepo(t, dir, "app")
	runGit(t, app, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "sub/lib")
	sub := filepath.Join(app, "sub", "lib")
	wantProject(t, sub, root, sub, SourceGit)
	wantProject(t, filepath.Join(app, "sub"), root, app, SourceGit)

	// A worktree of the submodule belongs to the submodule.
	wt := filepath.Join(dir, "sub-wt")
	runGit(t, sub, "worktree", "add", "-q", "-b", "w", wt)
	wantProject(t, wt, root, sub, SourceGit)

	// A submodule in a worktree of the outer repository is on its own too.
	runGit(t, app, "commit", "-q", "-m", "sub")
	outer := filepath.Join(dir, "outer-wt")
	runGit(t, app, "worktree", "add", "-q", "-b", "v", outer)
	runGit(t, outer, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
	wantProject(t, filepath.Join(outer, "sub", "lib"), root, filepath.Join(outer, "sub", "lib"), SourceGit)
	wantProject(t, outer, root, app, SourceGit)
}

func TestRepositoriesWithoutMainCheckout(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "h", ".pi", "agent")
	src := newRepo(t, dir, "src")

	// A bare repository beside its worktrees: each is a project, and what is
	// below it belongs to it.
	bare := filepath.Join(dir, "app.git")
	runGit(t, dir, "clone", "-q", "--bare", src, bare)
	wt := filepath.Join(dir, "wt")
	runGit(t, bare, "worktree", "add", "-q", "-b", "one", wt)
	wantProject(t, wt, root, wt, SourceGit)
	nested := filepath.Join(wt, ".pi", "worktrees", "ann-1")
	runGit(t, wt, "worktree", "add", "-q", "-b", "two", nested)
	wantProject(t, nested, root, wt, SourceGit)

	// The layout with a hidden bare repository: the directory around it.
	around := mkdirs(t, dir, "around")
	runGit(t, dir, "clone", "-q", "--bare", src, filepath.Join(around, ".bare"))
	writeFile(t, filepath.Join(around, ".git"), "gitdir: ./.bare\n")
	runGit(t, around, "worktree", "add", "-q", "-b", "three", "feature")
	wantProject(t, around, root, around, SourceGit)
	wantProject(t, filepath.Join(around, "feature"), root, around, SourceGit)

	// A separate git directory.
	sep := mkdirs(t, dir, "sep")
	runGit(t, sep, "init", "-q", "--separate-git-dir", filepath.Join(dir, "store"))
	wantProject(t, sep, root, sep, SourceGit)
}

func TestOddGitFiles(t *testing.T) {
	dir := realTemp(t)
	root := filepath.Join(dir, "h", ".pi", "agent")
	for name, content := range map[string]string{
		"empty":   "",
		"words":   "hello\n",
		"nowhere": "gitdir: /no/such/dir\n",
		"blank":   "gitdir:\n",
		"nul":     "gitdir: \x00\x00",
	} {
		d := mkdirs(t, dir, name)
		writeFile(t, filepath.Join(d, ".git"), content)
		wantProject(t, d, root, d, SourceGit)
	}
	// No line end, CRLF, and no blank, as other writers have it.
	main := mkdirs(t, dir, "main")
	mkdirs(t, main, ".git", "worktrees", "w")
	for i, content := range []string{
		"gitdir:" + main + "/.git/worktrees/w", "gitdir: " + main + "/.git/worktrees/w\r\n", "gitdir: ../main/.git/worktrees/w",
	} {
		writeFile(t, filepath.Join(main, ".git", "worktrees", "w", "commondir"), "../..\r\n")
		d := mkdirs(t, dir, "w"+string(rune('0'+i)))
		writeFile(t, filepath.Join(d, ".git"), content)
		wantProject(t, d, root, main, SourceGit)
	}
	if os.Getuid() != 0 { // root reads everything
		d := mkdirs(t, dir, "unreadable")
		writeFile(t, filepath.Join(d, ".git"), "gitdir: x")
		os.Chmod(filepath.Join(d, ".git"), 0)
		_, err := Resolve(Input{Getenv: fakeEnv{EnvRoot: root}.get, Cwd: d})
		wantCode(t, err, errs.Unusable)
	}
}
