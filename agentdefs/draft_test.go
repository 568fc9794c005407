package agentdefs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// Whatever is drafted parses to what was said, has all parts, and leaves
// nothing to check.
func TestDraftOfEachShape(t *testing.T) {
	for _, shape := range append(Shapes(), "") {
		for _, tools := range [][]string{nil, {}, {"read"}, {"read", "bash", "edit", "write"}, {"Write"}} {
			for _, gate := range []string{"", "make test"} {
				tr := newTree(t)
				d := Draft{Name: "x-1", Shape: shape, Tools: tools, Verify: gate}
				a, err := Create(tr.dirs, Project, d)
				if err != nil {
					t.Fatal(err)
				}
				s := tr.discover()
				if list := s.Check(); len(list) != 0 {
					t.Errorf("%s %v: %s", shape, tools, dump(list))
				}
				for _, part := range []string{"You are the `x-1` agent.", "## Method", "## Boundaries", "## Evidence", "## Terminal report", "--status completed"} {
					if !strings.Contains(a.Prompt, part) {
						t.Errorf("%s %v lacks %q\n%s", shape, tools, part, a.Prompt)
					}
				}
				if strings.Contains(a.Prompt, "{{") || strings.Contains(a.Prompt, "\n\n\n") || strings.Contains(a.Prompt, "<") {
					t.Errorf("%s %v is not filled in\n%s", shape, tools, a.Prompt)
				}
				if strings.Contains(a.Prompt, "`verify`") != (gate != "") {
					t.Errorf("%s, gate %q\n%s", shape, gate, a.Prompt)
				}
				writes := slices.ContainsFunc(a.Tools, func(s string) bool { return s == "edit" || s == "Write" })
				if strings.Contains(a.Prompt, "outside the assigned scope. What you find") != writes {
					t.Errorf("%s %v has the boundary of the other side\n%s", shape, a.Tools, a.Prompt)
				}
				if !strings.Contains(a.Description, "; use when ") || strings.Contains(a.Description, "Read-only") && writes {
					t.Errorf("%s %v: %s", shape, a.Tools, a.Description)
				}
			}
		}
	}
	for shape, want := range map[Shape]string{Executor: "read,bash,edit,write", Reviewer: "read,bash", Specialist: "read,bash", Observer: "read"} {
		text, err := Draft{Name: "x", Shape: shape}.Text()
		if a, _ := Parse("x.md", text); err != nil || strings.Join(a.Tools, ",") != want {
			t.Errorf("%s: %v %v", shape, a, err)
		}
	}
}

func TestCreateScopes(t *testing.T) {
	tr := newTree(t)
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for scope, path := range map[Scope]string{
		User: filepath.Join(tr.dirs.Root, "agents", "x.md"), Project: filepath.Join(tr.dirs.Project, ".pi", "agents", "x.md"),
		ProjectLocal: filepath.Join(tr.dirs.Project, ".pi", "agents", "x.local.md"),
	} {
		if err := os.MkdirAll(tr.dirs.Project, 0o755); err != nil {
			t.Fatal(err)
		}
		a, err := Create(tr.dirs, scope, Draft{Name: "x", Worktree: true, Model: "a/b"})
		if err != nil || a.Path != path || a.Scope != scope || !a.Worktree || a.Model != "a/b" {
			t.Fatalf("%s: %+v %v", scope, a, err)
		}
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if fi, err := os.Stat(p); err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: %v %v", p, fi.Mode(), err)
			}
		}
	}
	a, err := tr.discover().Resolve("x")
	if err != nil || a.Scope != ProjectLocal || len(a.Shadowed) != 2 {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := Create(Dirs{}, User, Draft{Name: "x"}); errs.CodeOf(err) != errs.Usage {
		t.Error(err)
	}
}

// Nothing is overwritten, whatever it is that has the name.
func TestCreateNeverOverwrites(t *testing.T) {
	tr := newTree(t)
	path := tr.write(Project, "x.md", "mine")
	tr.write(Project, "other.md", good("y", "d"))
	outside := filepath.Join(tr.dirs.Root, "outside")
	if err := os.Symlink(outside, tr.path(Project, "z.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tr.path(Project, "d.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y", "z", "d"} {
		if _, err := Create(tr.dirs, Project, Draft{Name: name}); errs.CodeOf(err) != errs.Conflict || hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Lstat(tr.path(Project, "y.md")); err == nil {
		t.Error("y.md was made beside other.md")
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a link was followed")
	}
	// In another scope the name is free.
	if _, err := Create(tr.dirs, ProjectLocal, Draft{Name: "y"}); err != nil {
		t.Error(err)
	}
	// Of several at once one wins.
	var wg sync.WaitGroup
	won := make(chan error, 8)
	for range cap(won) {
		wg.Go(func() { _, err := Create(tr.dirs, Project, Draft{Name: "race"}); won <- err })
	}
	wg.Wait()
	close(won)
	n := 0
	for err := range won {
		if err == nil {
			n++
		} else if errs.CodeOf(err) != errs.Conflict {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d have made it", n)
	}
}

// Values that a file cannot hold are refused, and nothing is made.
func TestDraftRefused(t *testing.T) {
	tr := newTree(t)
	for what, d := range map[string]Draft{
		"path": {Name: "../x"}, "empty": {}, "reserved": {Name: "leader"}, "capital": {Name: "LEADER"}, "dash": {Name: "-rf"}, "NUL": {Name: "a\x00"},
		"shape": {Name: "x", Shape: "oracle"}, "comma": {Name: "x", Tools: []string{"a,b"}}, "line": {Name: "x", Tools: []string{"a\nb"}},
		"UTF-8": {Name: "x", Description: "a\xff"}, "gate UTF-8": {Name: "x", Verify: "\xff"}, "NUL in the gate": {Name: "x", Verify: "a\x00b"},
		"tool UTF-8": {Name: "x", Tools: []string{"\xff"}}, "large": {Name: "x", Description: strings.Repeat("a", maxBlock)},
	} {
		if a, err := Create(tr.dirs, Project, d); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%s: %+v %v", what, a, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(tr.dirs.Project, ".pi")); err == nil {
		t.Error("something was made")
	}
}
