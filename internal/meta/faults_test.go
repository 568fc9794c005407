package meta

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// testNames lists the tests and fuzz targets of each package, as package.Name.
func testNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, name := range files(t) {
		if !strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[filepath.ToSlash(filepath.Dir(name))+"."+fn.Name.Name] = true
			}
		}
	}
	return names
}

// faultRows are the rows of the tables of what goes wrong, each with the tests
// that it names.
func faultRows(t *testing.T) map[string][]string {
	_, text, found := strings.Cut(read(t, "docs/testing.md"), "\n## What goes wrong, and which test has it\n")
	if !found {
		t.Fatal("docs/testing.md has no tables of what goes wrong")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string][]string{}
	for line := range strings.Lines(text) {
		what, tests, is := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || !is || what == "" || what == "|" {
			continue
		}
		if tests == "tests |\n" {
			continue
		}
		rows[what] = nil
		for i, word := range strings.Split(tests, "`") {
			if i%2 == 1 && !strings.Contains(word, " ") {
				rows[what] = append(rows[what], word)
			}
		}
	}
	return rows
}

// Everything that goes wrong has a test, and every test that the table names is
// there.
func TestFaultsHaveTests(t *testing.T) {
	rows, names := faultRows(t), testNames(t)
	if len(rows) < 40 {
		t.Errorf("only %d things go wrong", len(rows))
	}
	for what, tests := range rows {
		if len(tests) == 0 {
			t.Errorf("nothing tests: %s", what)
		}
		for _, name := range tests {
			if !names[name] {
				t.Errorf("there is no %s, which is to test: %s", name, what)
			}
		}
	}
}
