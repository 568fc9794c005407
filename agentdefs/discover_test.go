package agentdefs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestDiscoverNothing(t *testing.T) {
	tr := newTree(t)
	for _, dirs := range []Dirs{{}, tr.dirs, {Root: tr.dirs.Root}, {Project: tr.dirs.Project}} {
		s, err := Discover(dirs)
		if err != nil || s.Agents == nil || len(s.Agents) != 0 || s.Problems == nil || len(s.Check()) != 0 {
			t.Errorf("%+v: %+v %v", dirs, s, err)
		}
	}
	_, err := tr.discover().Resolve("x")
	if errs.CodeOf(err) != errs.NotFound || !strings.Contains(err.Error(), "none is defined") || hint(err) != "teams agents new x" {
		t.Error(err, hint(err))
	}
}

func hint(err error) string {
	var e *errs.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// The later scope wins per name, whatever the files are called.
func TestPrecedence(t *testing.T) {
	tr := newTree(t)
	userX := tr.write(User, "x.md", good("x", "of the user"))
	projectX := tr.write(Project, "x.md", good("x", "of the project"))
	localX := tr.write(ProjectLocal, "x.local.md", "---\ndescription: my own\n---\nbody\n")
	tr.write(User, "other.md", good("y", "of the user"))
	projectY := tr.write(Project, "another.md", good("y", "of the project"))
	userZ := tr.write(User, "z.md", good("z", "of the user"))
	localZ := tr.write(ProjectLocal, "mine.local.md", good("z", "my own"))
	userW := tr.write(User, "w.local.md", "---\ndescription: d\n---\nb\n")

	s := tr.discover()
	if got := s.Names(); !slices.Equal(got, []string{"w", "x", "y", "z"}) {
		t.Fatal(got)
	}
	for _, want := range []struct {
		name     string
		scope    Scope
		path     string
		managed  bool
		shadowed []string
	}{
		{"x", ProjectLocal, localX, false, []string{projectX, userX}},
		{"y", Project, projectY, true, []string{tr.path(User, "other.md")}},
		{"z", ProjectLocal, localZ, false, []string{userZ}},
		{"w", User, userW, false, []string{}},
	} {
		a, err := s.Resolve(want.name)
		if err != nil || a.Scope != want.scope || a.Path != want.path || a.GitManaged != want.managed || !slices.Equal(a.Shadowed, want.shadowed) || a.Shadowed == nil {
			t.Errorf("%s: %+v %v", want.name, a, err)
		}
	}
	if len(s.Problems) != 0 {
		t.Error(dump(s.Problems))
	}
	if !s.Has("z") || s.Has("other") {
		t.Error("Has")
	}

	// Without its winner the next one counts again.
	if err := os.Remove(localX); err != nil {
		t.Fatal(err)
	}
	if a, err := tr.discover().Resolve("x"); err != nil || a.Path != projectX || a.Description != "of the project" {
		t.Errorf("%+v %v", a, err)
	}
}

// Every fault at once: each is told with its reason, none hides another file.
func TestFaultsSpoilOnlyThemselves(t *testing.T) {
	tr := newTree(t)
	p := func(name, text string) string { return tr.write(Project, name, text) }
	p("a-first.md", good("first", "d"))
	p("z-last.md", good("last", "d"))
	for _, name := range []string{"unclosed", "unreadable"} {
		tr.write(User, name+".md", good(name, "of the user"))
	}
	p("README.md", "# the roles of this project\n")
	p("notes.md", "no agent\n")
	p("ignored.txt", "not looked at")
	p(".hidden.md", good("hidden", "d"))
	mkdir := func(parts ...string) string {
		path := filepath.Join(append([]string{tr.dirs.Dir(Project)}, parts...)...)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mkdir("sub")
	tr.write(Project, "sub/deep.md", good("deep", "d"))
	link := tr.path(Project, "link.md")
	if err := os.Symlink(tr.path(Project, "a-first.md"), link); err != nil {
		t.Fatal(err)
	}
	fifo := tr.path(Project, "fifo.md")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	type fault struct {
		path string
		line int
		word string
	}
	unreadable := p("unreadable.md", good("unreadable", "d"))
	faults := []fault{
		{p("empty.md", ""), 1, "empty"},
		{p("binary.md", "\x7fELF\x00\x01"), 1, "binary"},
		{p("huge.md", "---\nname: huge\n---\n"+strings.Repeat("a", 10<<20)), 0, "larger"},
		{p("unclosed.md", "---\nname: unclosed\n\nbody\n"), 1, "not closed"},
		{p("twice.md", "---\nname: twice\nname: thrice\n---\nbody"), 3, "twice"},
		{p("badname.md", "---\nname: Bad\n---\nbody"), 2, "no valid name"},
		{p("type.md", "---\nname: type\ntools: {a: b}\n---\nbody"), 3, "must be a list"},
		{link, 0, "symbolic link"},
		{fifo, 0, "fifo"},
		{mkdir("dir.md"), 0, "directory"},
		{unreadable, 0, "permission denied"},
		{p("same1.md", good("same", "one")), 2, "the name same is also that of " + tr.path(Project, "same2.md")},
	}
	p("same2.md", good("same", "two"))

	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if path == unreadable {
			return syscall.EACCES
		}
		return nil
	})
	defer restore()
	s := tr.discover()
	if got := s.Names(); !slices.Equal(got, []string{"first", "last", "same", "unclosed", "unreadable"}) {
		t.Error(got)
	}
	check := s.Check()
	for _, f := range faults {
		if !has(check, Error, f.path, f.line, f.word) || !has(s.Problems, Error, f.path, f.line, f.word) {
			t.Errorf("%+v is not among\n%s", f, dump(check))
		}
	}
	if len(s.Problems) != len(faults) {
		t.Error(dump(s.Problems))
	}
	for _, name := range []string{"README.md", "notes.md"} {
		if !has(check, Note, tr.path(Project, name), 0) {
			t.Errorf("no reason why %s is no agent\n%s", name, dump(check))
		}
	}
	for _, p := range check {
		if name := filepath.Base(p.Path); name == "ignored.txt" || name == "deep.md" || name == ".hidden.md" || name == "sub" {
			t.Errorf("looked at %s", p)
		}
	}
	if a, _ := s.Resolve("same"); a.Description != "two" {
		t.Errorf("%+v", a)
	}
	// A file that cannot be used does not hide the user's of that name.
	for _, name := range []string{"unclosed", "unreadable"} {
		if a, err := s.Resolve(name); err != nil || a.Scope != User || len(s.Broken(name)) != 1 {
			t.Errorf("%s: %+v %v %v", name, a, err, s.Broken(name))
		}
	}
	// Who asks for one that cannot be used is told why.
	for name, word := range map[string]string{"twice": "twice.md:3: ", "type": "must be a list", "link": "symbolic link"} {
		if _, err := s.Resolve(name); errs.CodeOf(err) != errs.NotFound || !strings.Contains(err.Error(), word) || hint(err) != "teams agents check" {
			t.Errorf("%s: %v, %q", name, err, hint(err))
		}
	}
	if _, err := s.Resolve("nosuch"); !strings.Contains(err.Error(), "first, last, same, unclosed, unreadable") || hint(err) != "teams agents new nosuch" {
		t.Error(err, hint(err))
	}
	for _, name := range []string{"../x", "", "Last", "leader", "a\x00b", strings.Repeat("a", 1000)} {
		if _, err := s.Resolve(name); errs.CodeOf(err) != errs.NotFound || hint(err) != "teams agents" || len(err.Error()) > 300 {
			t.Errorf("%q: %v, %q", name, err, hint(err))
		}
	}
}

// A directory that cannot be read is no empty one.
func TestUnreadableDirectory(t *testing.T) {
	tr := newTree(t)
	tr.write(User, "x.md", good("x", "d"))
	if err := os.MkdirAll(filepath.Dir(tr.dirs.Dir(Project)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.dirs.Dir(Project), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Discover(tr.dirs)
	if err == nil || !strings.Contains(err.Error(), tr.dirs.Dir(Project)) || !s.Has("x") {
		t.Errorf("%v %v", err, s.Names())
	}
	if !has(s.Check(), Error, tr.dirs.Dir(Project), 0, "not a directory") {
		t.Error(dump(s.Check()))
	}
}

// A file that vanishes between listing and reading is none.
func TestVanished(t *testing.T) {
	tr := newTree(t)
	gone := tr.write(User, "a.md", good("a", "d"))
	tr.write(User, "b.md", good("b", "d"))
	defer fsx.SetFault(func(op fsx.Op, path string) error {
		if path == gone {
			return syscall.ENOENT
		}
		return nil
	})()
	if s := tr.discover(); !slices.Equal(s.Names(), []string{"b"}) || len(s.Check()) != 0 {
		t.Errorf("%v\n%s", s.Names(), dump(s.Check()))
	}
}

// The directories may be reached through links, the files may not be links.
func TestLinkedDirectory(t *testing.T) {
	tr := newTree(t)
	tr.write(User, "x.md", good("x", "d"))
	if err := os.MkdirAll(filepath.Dir(tr.dirs.Dir(Project)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tr.dirs.Dir(User), tr.dirs.Dir(Project)); err != nil {
		t.Fatal(err)
	}
	s := tr.discover()
	if a, err := s.Resolve("x"); err != nil || a.Scope != Project || len(a.Shadowed) != 1 {
		t.Errorf("%+v %v", a, err)
	}
}
