package meta

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What may lie at the top level. Not all of it has to.
func TestTopLevel(t *testing.T) {
	allowed := []string{
		"cmd", "fsboard", "inbox", "outbox", "agentdefs", "verify", "herdr", "testdata", "docs", "internal",
		".ci", "go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md",
	}
	needed := []string{"cmd", "fsboard", "verify", "testdata", "docs", "internal", ".ci", "go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md"}
	entries, err := os.ReadDir(top(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if e.Name() != ".git" && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// A file that is too long has more than one subject.
func TestFileLength(t *testing.T) {
	for _, name := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		if n := strings.Count(read(t, name), "\n"); n > 500 {
			t.Errorf("%s has %d lines, at most 500 are meant", name, n)
		}
	}
}

func TestGoMod(t *testing.T) {
	for i, row := range strings.Split(read(t, "go.mod"), "\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(row), " ")
		if word == "replace" || word == "exclude" || word == "toolchain" {
			t.Errorf("go.mod:%d: %s", i+1, row)
		}
	}
}

// No file may name a place of the machine it was written on, or a host that
// packages were loaded from.
func TestNoForeignNames(t *testing.T) {
	names := []string{
		// In pieces, since this file is looked at too.
		"/" + "work/", "/" + "root/", "proxy.golang" + ".org", "registry.npmjs" + ".org", "pypi" + ".org", "crates" + ".io", "deb.debian" + ".org",
	}
	for _, name := range files(t) {
		text := []byte(read(t, name))
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		for i, row := range bytes.Split(text, []byte{'\n'}) {
			for _, foreign := range names {
				if at := bytes.Index(row, []byte(foreign)); at >= 0 && !(foreign[0] == '/' && at > 0 && inPath(row[at-1])) {
					t.Errorf("%s:%d names %s", name, i+1, foreign)
				}
			}
		}
	}
}

// inPath reports whether a path may go on behind c, so that a slash there does
// not begin one.
func inPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-}>)*~", c) >= 0
}

// Every package says what it is, in one file.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{}
	for _, name := range files(t) {
		dir := path.Dir(name)
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.HasSuffix(f.Name.Name, "_test") {
			continue
		}
		if _, ok := docs[dir]; !ok {
			docs[dir] = nil
		}
		if hasText(f.Doc) {
			docs[dir] = append(docs[dir], name)
			want := "Package " + f.Name.Name + " "
			if f.Name.Name == "main" {
				want = "Command " + path.Base(dir) + " "
			}
			if !strings.HasPrefix(f.Doc.Text(), want) {
				t.Errorf("%s: the comment of the package begins with %q and not with %q", name, firstLine(f.Doc.Text()), want)
			}
		}
	}
	for dir, in := range docs {
		if len(in) != 1 {
			t.Errorf("package %s has %d comments, it needs one: %v", dir, len(in), in)
		}
	}
}

func hasText(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
