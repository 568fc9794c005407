package meta

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fieldsMark stands before each table of fields in docs/formats.md, with the Go
// type whose JSON names the table lists.
const fieldsMark = "<!-- fields of "

// declarations reads the types and constants of a package.
func declarations(t *testing.T, dir string) (structs map[string]*ast.StructType, strs map[string]string) {
	t.Helper()
	structs, strs = map[string]*ast.StructType{}, map[string]string{}
	for _, name := range files(t) {
		if path.Dir(name) != dir || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					structs[n.Name.Name] = s
				}
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if i < len(n.Values) {
						if lit, ok := n.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
							strs[id.Name], _ = strconv.Unquote(lit.Value)
						}
					}
				}
			}
			return true
		})
	}
	return structs, strs
}

// jsonNames lists the JSON names of a type such as fsboard.Task, those of an
// embedded one of another package included.
func jsonNames(t *testing.T, typ string) []string {
	t.Helper()
	pkg, name, _ := strings.Cut(typ, ".")
	dirs := map[string]string{"herdr": "herdr", "term": "internal/term", "fsboard": "fsboard", "inbox": "inbox", "team": "internal/team", "fsx": "internal/fsx", "todo": "internal/todo"}
	structs, _ := declarations(t, dirs[pkg])
	s := structs[name]
	if s == nil {
		t.Fatalf("there is no type %s", typ)
	}
	var out []string
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			if sel, ok := f.Type.(*ast.SelectorExpr); ok {
				out = append(out, jsonNames(t, sel.X.(*ast.Ident).Name+"."+sel.Sel.Name)...)
			}
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		_, tag, _ = strings.Cut(tag, `json:"`)
		tag, _, _ = strings.Cut(tag, `"`)
		if tag, _, _ = strings.Cut(tag, ","); tag != "" && tag != "-" {
			out = append(out, tag)
		}
	}
	return out
}

// tables returns the names in the first column of the tables of
// docs/formats.md, by what their mark says.
func tables(t *testing.T, mark string) map[string][]string {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]+)`")
	out := map[string][]string{}
	for _, part := range strings.Split(read(t, "docs/formats.md"), mark)[1:] {
		what, rest, _ := strings.Cut(part, " -->\n")
		out[what] = nil
		inTable := false
		for _, row := range strings.Split(rest, "\n") {
			if !strings.HasPrefix(row, "|") {
				if inTable {
					break
				}
				continue
			}
			inTable = true
			first, _, _ := strings.Cut(row[1:], " |")
			for _, m := range quoted.FindAllStringSubmatch(first, -1) {
				out[what] = append(out[what], m[1])
			}
		}
	}
	return out
}

// Every field that a file of the state may have is described, and no other.
func TestFormatFields(t *testing.T) {
	have := tables(t, fieldsMark)
	for _, typ := range []string{
		"fsboard.head", "fsboard.bootDue", "fsboard.Task", "fsboard.Claim", "fsboard.Gate", "fsboard.Receipt", "fsboard.Decided",
		"fsboard.Marker", "fsboard.Event", "fsboard.Notice", "fsboard.archiveLine", "fsboard.runFile",
		"team.Session", "team.HostRecord", "team.Teammate", "team.Ask", "team.AskAnswer", "todo.line", "todo.Item", "team.Request", "team.HarnessStatus", "team.published", "team.offerRecord", "team.seenRecord", "team.Watch", "team.LedgerRow", "inbox.onceKey", "fsx.Process", "fsx.Holder", "inbox.Header",
		"herdr.Run", "herdr.Lease", "herdr.tabRecord", "term.Terminal",
	} {
		names, there := have[typ]
		if !there {
			t.Errorf("docs/formats.md has no table %s%s -->", fieldsMark, typ)
			continue
		}
		want := jsonNames(t, typ)
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("docs/formats.md does not describe %q of %s", name, typ)
			}
		}
		for _, name := range names {
			if !slices.Contains(want, name) {
				t.Errorf("docs/formats.md describes %q, which %s does not have", name, typ)
			}
		}
		delete(have, typ)
	}
	for typ := range have {
		t.Errorf("docs/formats.md has a table of %s, which this test does not know", typ)
	}
}

// Every event of the history is described, and no other; so are the states.
func TestFormatWords(t *testing.T) {
	have := tables(t, "<!-- words: ")
	_, consts := declarations(t, "fsboard")
	for what, prefix := range map[string]string{"events": "Event", "states": "State", "verdicts": "Verdict", "outcomes": "Outcome"} {
		var want []string
		for name, value := range consts {
			if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
				want = append(want, value)
			}
		}
		if len(want) < 3 {
			t.Fatalf("only %v found for %s", want, what)
		}
		slices.Sort(want)
		got := slices.Clone(have[what])
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("docs/formats.md, %s:\n has %v\nwant %v", what, got, want)
		}
	}
}

// Every file that the code has a name for is in the overview.
func TestFormatNames(t *testing.T) {
	text := read(t, "docs/formats.md")
	literal := regexp.MustCompile(`"([a-z][a-z-]*\.(?:json|jsonl|lock)|last-id)"`)
	found := 0
	for _, name := range files(t) {
		dir := path.Dir(name)
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || !slices.Contains([]string{"fsboard", "inbox", "outbox", "internal/team"}, dir) {
			continue
		}
		for _, m := range literal.FindAllStringSubmatch(read(t, name), -1) {
			found++
			if !strings.Contains(text, m[1]) {
				t.Errorf("%s names the file %s, which docs/formats.md does not", name, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d names were found", found)
	}
}
