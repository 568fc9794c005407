package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// Every command can be explained: it has a summary, examples that parse, a
// group, and help in both forms; and a grammar that is right.
func TestEveryCommandIsComplete(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	seen := make(map[string]bool)
	for _, entry := range registry {
		t.Run(strings.ReplaceAll(entry.Path, " ", "_"), func(t *testing.T) {
			if seen[entry.Path] {
				t.Error("the path is registered twice")
			}
			seen[entry.Path] = true
			if entry.Path == "" || entry.Path != strings.Join(strings.Fields(entry.Path), " ") {
				t.Errorf("path %q", entry.Path)
			}
			if entry.Summary == "" || strings.HasSuffix(entry.Summary, ".") || strings.Contains(entry.Summary, "\n") || len(entry.Summary) > 80 {
				t.Errorf("the summary is one line of at most 80 without a full stop: %q", entry.Summary)
			}
			if entry.Group == "" {
				t.Error("no group")
			}
			for _, u := range entry.Usage {
				if !strings.HasPrefix(u, "teams "+entry.Path) {
					t.Errorf("usage %q does not begin with teams %s", u, entry.Path)
				}
			}
			if len(entry.Examples) == 0 {
				t.Error("no example")
			}
			for _, line := range entry.Examples {
				checkExample(t, entry, line)
			}
			text, code := runMain(t, append(strings.Fields(entry.Path), "--help")...)
			if code != 0 || !strings.HasPrefix(text, "Usage: teams "+entry.Path) || !strings.Contains(text, entry.Examples[0]) {
				t.Errorf("--help: exit %d\n%s", code, text)
			}
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "  ") && strings.HasSuffix(line, "  ") {
					t.Errorf("a flag or argument without help: %q", line)
				}
			}
			text, code = runMain(t, append(strings.Fields(entry.Path), "--help", "--json")...)
			var v struct {
				OK   bool
				Data verbHelp
			}
			if err := json.Unmarshal([]byte(text), &v); err != nil || code != 0 || !v.OK || v.Data.Command != entry.Path {
				t.Errorf("--help --json: exit %d, %v\n%s", code, err, text)
			}
			for _, f := range append(v.Data.Flags, v.Data.Arguments...) {
				if f.Help == "" {
					t.Errorf("%s has no help", f.Name)
				}
			}
			if entry.Bare && len(v.Data.Flags)+len(v.Data.Arguments) > 0 {
				t.Error("a bare command has flags or arguments")
			}
			if _, takes := entry.New().(commandTaker); entry.Bare && takes {
				t.Error("a bare command takes CMD")
			}
		})
	}
}

// Every cmd_*.go describes a command that is in the registry.
func TestEveryCommandFileIsRegistered(t *testing.T) {
	files, err := filepath.Glob("cmd_*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	listed, err := os.ReadFile("registry.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			name, isEntry := strings.CutSuffix(line, " = Entry{")
			if name, isVar := strings.CutPrefix(name, "var "); isEntry && isVar && !strings.Contains(string(listed), "&"+name+",") {
				t.Errorf("%s: %s is not in the registry", file, name)
			}
		}
	}
}

// checkExample parses the parts of a shell line that call teams.
func checkExample(t *testing.T, entry *Entry, line string) {
	t.Helper()
	own := false
	for _, words := range shellCommands(line) {
		if words[0] != "teams" {
			continue
		}
		cl := splitArgs(words[1:])
		inv := find(cl.head)
		if inv.entry == nil {
			t.Errorf("example %q: %q is no command", line, strings.Join(words, " "))
			continue
		}
		own = own || inv.entry == entry
		e := newEnv(strings.NewReader(""), io.Discard, io.Discard)
		if err := e.parse(inv.entry, inv.entry.New(), inv.args, cl); err != nil {
			t.Errorf("example %q: %v", line, err)
		}
	}
	if !own {
		t.Errorf("example %q does not call teams %s", line, entry.Path)
	}
}

// shellCommands cuts a simple shell line into commands and these into words.
// Redirections and assignments are dropped.
func shellCommands(line string) (out [][]string) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		for i := 0; i < len(words); i++ {
			switch w := words[i]; {
			case w == "<", w == ">", w == ">>", w == "2>":
				words = append(words[:i], words[min(i+2, len(words)):]...)
				i--
			case i == 0 && (w == "while" || w == "do" || w == "if" || w == "then" || w == "!" || w == "exec" || strings.Contains(w, "=") && !strings.HasPrefix(w, "-")):
				words = words[1:]
				i--
			}
		}
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != '\'' && c == '$' && i+1 < len(line) && line[i+1] == '(':
			end := i + 2
			for depth := 1; end < len(line) && depth > 0; end++ {
				switch line[end] {
				case '(':
					depth++
				case ')':
					depth--
				}
			}
			out = append(out, shellCommands(line[i+2:end-1])...)
			word.WriteByte('x')
			inWord, i = true, end-1
		case quote != '\'' && c == '$' && i+1 < len(line) && line[i+1] == '$':
			word.WriteByte('1') // a process id
			inWord = true
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '#' && !inWord:
			i = len(line)
		case c == '|' || c == ';' || c == '&' || c == '(' || c == ')':
			endCommand()
		case c == ' ':
			endWord()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand()
	return out
}

func TestShellCommands(t *testing.T) {
	got := shellCommands(`id=$(teams claim -q) && X=1 teams submit "$id" --result 'a b' < in > out | cat; cat "$(teams w)/b"; teams x ""`)
	want := [][]string{{"teams", "claim", "-q"}, {"teams", "submit", "$id", "--result", "a b"}, {"cat"}, {"teams", "w"}, {"cat", "x/b"}, {"teams", "x", ""}}
	if g, w := strings.Join(flatten(got), "/"), strings.Join(flatten(want), "/"); g != w {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

func flatten(list [][]string) (out []string) {
	for _, l := range list {
		out = append(out, strings.Join(l, "|"))
	}
	return out
}

// runMain runs a command line in this process and returns its standard output.
func runMain(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	var out, stderr bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &stderr)
	return out.String(), code
}

// Whatever the arguments are, the exit code is one of the table, nothing
// panics, and with --json stdout is one JSON value. Commands are not run.
func FuzzCommandLine(f *testing.F) {
	for _, line := range []string{
		"", "version", "--json nosuch", "t echo -- a", "t echo --lease 2d -j 3 x", "t echo --state --json",
		"- a|version", "t echo -d|- text", "help t echo --json", "-xqC|version", "t echo --tag|--x y|literal0000",
		"t echo -\xff", "--session=|version", "t cmd --|--json|--", "completion --json bash", "t echo --ids=a,,b",
	} {
		f.Add(strings.ReplaceAll(line, " ", "|"))
		f.Add(line)
	}
	withTestCommands()
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "|")
		cl := splitArgs(args)
		inv := find(cl.head)
		if inv.entry == nil || wantsHelp(cl.head) || inv.path == "t echo" || inv.path == "version" || inv.path == "__complete" {
			if len(inv.args) > 0 && strings.Contains(line, "C") || strings.Contains(line, "dir") {
				return // -C is for the whole process
			}
			out, code := runMain(t, args...)
			known := code == 0
			for _, row := range errs.Table() {
				known = known || code == row.Exit
			}
			if !known || code == 70 {
				t.Fatalf("%q: exit %d\n%s", args, code, out)
			}
			if wantsJSON(cl.head) {
				d := json.NewDecoder(strings.NewReader(out))
				var v struct {
					Schema int
					OK     *bool
				}
				if err := d.Decode(&v); err != nil || v.Schema != 1 || v.OK == nil || *v.OK != (code == 0) {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				if _, err := d.Token(); err != io.EOF {
					t.Fatalf("%q: more than one value\n%s", args, out)
				}
			}
			return
		}
		e := newEnv(strings.NewReader(""), io.Discard, io.Discard)
		if err := e.parse(inv.entry, inv.entry.New(), inv.args, cl); err != nil && errs.CodeOf(err) != errs.Usage {
			t.Fatalf("%q: %v", args, err)
		}
	})
}
