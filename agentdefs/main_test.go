package agentdefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a root and a project below one temporary directory.
type tree struct {
	t    *testing.T
	dirs Dirs
}

func newTree(t *testing.T) *tree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &tree{t, Dirs{Root: filepath.Join(base, "root"), Project: filepath.Join(base, "app")}}
}

// path is that of a file in the directory of a scope.
func (tr *tree) path(s Scope, name string) string { return filepath.Join(tr.dirs.Dir(s), name) }

// write writes a file of a scope and returns its path.
func (tr *tree) write(s Scope, name, text string) string {
	tr.t.Helper()
	path := tr.path(s, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tr.t.Fatal(err)
	}
	return path
}

func (tr *tree) discover() *Set {
	tr.t.Helper()
	s, err := Discover(tr.dirs)
	if err != nil {
		tr.t.Fatal(err)
	}
	return s
}

// git runs git in the project, with a configuration of its own.
func (tr *tree) git(dir string, args ...string) {
	tr.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(gitEnviron(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		tr.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// good is a definition that there is nothing to say about.
func good(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\ntools: read\n---\n" +
		"You are it. Do not change anything. Evidence: exact paths. Your last message has the status completed.\n"
}

// has reports whether list has a problem of this severity and line for the
// file, with all the words.
func has(list []Problem, sev Severity, path string, line int, words ...string) bool {
next:
	for _, p := range list {
		if p.Path != path || p.Severity != sev || p.Line != line {
			continue
		}
		for _, w := range words {
			if !strings.Contains(p.Message, w) {
				continue next
			}
		}
		return true
	}
	return false
}

func dump(list []Problem) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(string(p.Severity) + " " + p.String() + "\n")
	}
	return b.String()
}
