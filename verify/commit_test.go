package verify

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	id1 = "1111111111111111111111111111111111111111"
	id2 = "2222222222222222222222222222222222222222222222222222222222222222"
)

// write makes files of a directory from their names and contents.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHeadCommit(t *testing.T) {
	t.Parallel()
	packed := "# pack-refs with: peeled fully-peeled sorted\n" + id2 + " refs/heads/mainline\n" + id1 + " refs/heads/main\n^" + id2 + "\n"
	for name, tt := range map[string]struct {
		files map[string]string
		dir   string
		want  string
	}{
		"none":     {map[string]string{"x": ""}, ".", ""},
		"detached": {map[string]string{".git/HEAD": id1 + "\n"}, ".", id1},
		"sha256":   {map[string]string{".git/HEAD": id2 + "\n"}, ".", id2},
		"loose":    {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": id1 + "\n"}, ".", id1},
		"packed":   {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": packed}, ".", id1},
		"loose wins": {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": id2 + "\n",
			".git/packed-refs": packed}, ".", id2},
		"unborn": {map[string]string{".git/HEAD": "ref: refs/heads/new\n", ".git/packed-refs": packed}, ".", ""},
		"subdir": {map[string]string{".git/HEAD": id1 + "\n", "a/b/x": ""}, "a/b", id1},
		"symbolic chain": {map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "ref: refs/heads/b\n",
			".git/refs/heads/b": id1 + "\n"}, ".", id1},
		"loop": {map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "ref: refs/heads/a\n"}, ".", ""},
		"worktree": {map[string]string{"wt/.git": "gitdir: ../.git/worktrees/wt\n", ".git/HEAD": id2 + "\n",
			".git/worktrees/wt/HEAD": "ref: refs/heads/wt\n", ".git/worktrees/wt/commondir": "../..\n",
			".git/refs/heads/wt": id1 + "\n"}, "wt", id1},
		"worktree, packed": {map[string]string{"wt/.git": "gitdir: ../.git/worktrees/wt\n", ".git/HEAD": id2 + "\n",
			".git/worktrees/wt/HEAD": "ref: refs/heads/main\n", ".git/worktrees/wt/commondir": "../..\n",
			".git/packed-refs": packed}, "wt", id1},
		"outside":     {map[string]string{".git/HEAD": "ref: refs/../../secret\n", "secret": id1 + "\n"}, ".", ""},
		"absolute":    {map[string]string{".git/HEAD": "ref: /etc/passwd\n"}, ".", ""},
		"rubbish":     {map[string]string{".git/HEAD": "hello\n"}, ".", ""},
		"huge":        {map[string]string{".git/HEAD": strings.Repeat("x", 1<<20)}, ".", ""},
		"reftable":    {map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n", ".git/reftable/tables.list": ""}, ".", ""},
		"odd .git":    {map[string]string{".git": "hello\n"}, ".", ""},
		"odd, nested": {map[string]string{".git/HEAD": id1 + "\n", "sub/.git/x": ""}, "sub", id1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, tt.files)
			if got := headCommit(filepath.Join(dir, tt.dir)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The files are read as git itself reads them.
func TestHeadCommitLikeGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
		return strings.TrimSpace(string(text))
	}
	check := func(what, sub string) {
		t.Helper()
		want := git("-C", sub, "rev-parse", "HEAD")
		if got := headCommit(filepath.Join(dir, sub)); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	git("init", "-q", "repo")
	if got := headCommit(filepath.Join(dir, "repo")); got != "" {
		t.Errorf("no commit yet: %q", got)
	}
	git("-C", "repo", "commit", "-q", "--allow-empty", "-m", "one")
	check("plain", "repo")
	git("-C", "repo", "worktree", "add", "-q", "-b", "side/branch", "../wt")
	git("-C", "wt", "commit", "-q", "--allow-empty", "-m", "two")
	check("worktree", "wt")
	git("-C", "repo", "pack-refs", "--all")
	check("packed", "repo")
	check("worktree, packed", "wt")
	git("-C", "wt", "checkout", "-q", "--detach")
	git("-C", "wt", "commit", "-q", "--allow-empty", "-m", "three")
	check("detached", "wt")
	git("-C", "repo", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(dir, "wt"), "sub")
	check("submodule", "repo/sub")

	g := newGate(t, "true")
	g.Dir = filepath.Join(dir, "wt")
	if r := run(t, g); r.Commit != git("-C", "wt", "rev-parse", "HEAD") {
		t.Errorf("receipt: %+v", r)
	}
}
