package meta

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seed6990a682/teams/"

// helpers are the internal packages that every package may use.
var helpers = []string{"internal/errs", "internal/fsx", "internal/rawjson"}

// arrows says which packages of the project each one may import. A package
// that is not listed here may import anything and be imported by none of these.
func arrows() map[string][]string {
	with := func(more ...string) []string { return append(slices.Clone(helpers), more...) }
	all := []string{"fsboard", "inbox", "outbox", "agentdefs", "verify", "herdr"}
	return map[string][]string{
		"internal/errs":     nil,
		"internal/fsx":      {"internal/errs"},
		"internal/rawjson":  nil,
		"internal/render":   nil,
		"internal/demo":     with(),
		"internal/console":  with("internal/render"),
		"internal/pi":       with(),
		"internal/piext":    with(),
		"internal/worktree": with(),
		"internal/todo":     with("internal/render"),
		"fsboard":           with(),
		"inbox":             with(),
		"outbox":            with("inbox"),
		"agentdefs":         with(),
		"verify":            with(),
		"herdr":             with(),
		"internal/term":     with(),
		"internal/team":     with(append(slices.Clone(all), "internal/pi", "internal/worktree", "internal/todo")...),
		"cmd/teams":         with(append(all, "internal/term", "internal/team", "internal/render", "internal/console", "internal/demo", "internal/piext", "internal/todo")...),
	}
}

// libraries says which packages may use a module of somebody else. What is not
// listed needs a reason first.
func libraries() map[string][]string {
	return map[string][]string{
		"github.com/alecthomas/kong":                 {"cmd/teams"},
		"github.com/google/renameio/v2":              {"internal/fsx"},
		"github.com/gofrs/flock":                     {"internal/fsx"},
		"github.com/fsnotify/fsnotify":               {"internal/fsx"},
		"github.com/adrg/frontmatter":                {"agentdefs"},
		"go.yaml.in/yaml/v3":                         {"agentdefs"},
		"github.com/creack/pty":                      {"internal/term", "cmd/teams", "internal/team"},
		"charm.land/bubbletea/v2":                    {"cmd/teams", "internal/console"},
		"charm.land/lipgloss/v2":                     {"cmd/teams", "internal/console"},
		"golang.org/x/sys/unix":                      {"internal/console", "internal/term", "internal/pi", "internal/fsx", "verify", "internal/team", "internal/worktree", "cmd/teams"},
		"pgregory.net/rapid":                         {},
		"github.com/rogpeppe/go-internal/testscript": {},
	}
}

// imported is one import of a file.
type imported struct {
	file, from, path string
	test             bool
}

func imports(t *testing.T) []imported {
	var out []imported
	for _, name := range files(t) {
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), name), nil, parser.ImportsOnly)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, imported{name, path.Dir(name), p, strings.HasSuffix(name, "_test.go")})
		}
	}
	return out
}

// The packages know of each other only what the arrows allow.
func TestImports(t *testing.T) {
	allowed := arrows()
	apart := []string{"fsboard", "inbox", "agentdefs", "verify", "herdr"}
	for _, i := range imports(t) {
		to, own := strings.CutPrefix(i.path, module)
		may, known := allowed[i.from]
		switch {
		case !own || to == i.from:
		case i.test:
			// Tests may help themselves, but not join what is to stay apart.
			if slices.Contains(apart, i.from) && slices.Contains(apart, to) {
				t.Errorf("%s imports %s, these two do not know of each other", i.file, to)
			}
		case known && !slices.Contains(may, to):
			t.Errorf("%s imports %s, which package %s may not", i.file, to, i.from)
		}
	}
}

// Libraries are used where they are meant to be.
func TestLibraries(t *testing.T) {
	allowed := libraries()
	for _, i := range imports(t) {
		first, _, _ := strings.Cut(i.path, "/")
		if strings.HasPrefix(i.path, module) || !strings.Contains(first, ".") {
			continue // our own, or of the standard library
		}
		may, known := allowed[i.path]
		_, product := arrows()[i.from]
		switch {
		case !known:
			t.Errorf("%s imports %s, which is not among the chosen libraries", i.file, i.path)
		case !i.test && product && !slices.Contains(may, i.from):
			t.Errorf("%s imports %s, which package %s does not need", i.file, i.path, i.from)
		}
	}
}

// What must start fast keeps these out.
func TestNoHeavyImports(t *testing.T) {
	heavy := []string{"net/http", "text/template", "html/template", "regexp", "testing", "log"}
	light := []string{"internal/errs", "internal/fsx", "fsboard", "verify"}
	for _, i := range imports(t) {
		if !i.test && slices.Contains(light, i.from) && slices.Contains(heavy, i.path) {
			t.Errorf("%s imports %s, which package %s has to do without", i.file, i.path, i.from)
		}
	}
}
