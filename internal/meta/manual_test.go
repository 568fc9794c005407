package meta

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// value is one argument or flag, as help --json has it.
type value struct {
	Name, Short, Value, Help, Default string
	Choices                           []string
}

// command is the help of one command.
type command struct {
	Command, Group, Summary, Detail string
	Usage, Examples                 []string
	Arguments, Flags, GlobalFlags   []value
}

// The commands of the program, in the order of its overview; read once.
var (
	commandsOnce sync.Once
	commandsRead []command
)

// commandList returns the commands of the program.
func commandList(t testing.TB) []command {
	t.Helper()
	commandsOnce.Do(func() {
		var list struct {
			Commands []struct{ Command, Group string }
		}
		ask(t, &list, "help")
		for _, c := range list.Commands {
			one := command{Group: c.Group}
			ask(t, &one, append(strings.Fields(c.Command), "--help")...)
			commandsRead = append(commandsRead, one)
		}
	})
	if len(commandsRead) == 0 {
		t.Fatal("the program has no commands")
	}
	return commandsRead
}

// isCommand reports whether words name a command.
func isCommand(t testing.TB, words string) bool {
	return slices.ContainsFunc(commandList(t), func(c command) bool { return c.Command == words })
}

// reference is what the manual takes from the program about a command.
func (c *command) reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n```text\n%s\n```\n", c.Summary, strings.Join(c.Usage, "\n"))
	rows(&b, "argument", c.Arguments, func(v value) string { return "`" + v.Value + "`" })
	rows(&b, "flag", c.Flags, value.flag)
	if c.Detail != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Detail)
	}
	fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.Join(c.Examples, "\n"))
	return b.String()
}

// flag is a flag with what stands for its value.
func (v value) flag() string {
	s := "`--" + v.Name
	if v.Value != "" {
		s += " " + v.Value
	}
	s += "`"
	if v.Short != "" {
		s = "`-" + v.Short + "`, " + s
	}
	return s
}

func rows(b *strings.Builder, title string, list []value, name func(value) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", title)
	for _, v := range list {
		help := v.Help
		if v.Default != "" {
			help = strings.TrimSuffix(help, ".") + " (default " + v.Default + ")."
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(name(v)), cell(help))
	}
}

// cell is text in a table of Markdown.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s)
}

// codeTable is the table of error codes.
func codeTable() string {
	s := "| code | exit | meaning |\n|---|---|---|\n"
	for _, e := range errs.Table() {
		s += fmt.Sprintf("| `%s` | %d | %s |\n", e.Code, e.Exit, cell(e.Meaning))
	}
	return s
}

// exitTable is the table of exit codes with the error codes of each.
func exitTable() string {
	codes := map[int][]string{}
	for _, e := range errs.Table() {
		codes[e.Exit] = append(codes[e.Exit], "`"+string(e.Code)+"`")
	}
	var exits []int
	for n := range codes {
		exits = append(exits, n)
	}
	sort.Ints(exits)
	s := "| exit | codes |\n|---|---|\n| 0 | success |\n"
	for _, n := range exits {
		s += "| " + strconv.Itoa(n) + " | " + strings.Join(codes[n], ", ") + " |\n"
	}
	return s
}

// begin and finish mark what a document takes from the program.
const (
	begin  = "<!-- from the program: "
	finish = "<!-- end -->"
)

// generated returns the parts of a document between the marks, by their names.
func generated(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	rest := read(t, name)
	for {
		_, after, found := strings.Cut(rest, begin)
		if !found {
			return out
		}
		what, after, ok := strings.Cut(after, " -->\n")
		text, after, ended := strings.Cut(after, finish)
		if !ok || !ended || strings.Contains(text, begin) {
			t.Fatalf("%s: the part %q does not end", name, what)
		}
		out[what] = text
		rest = after
	}
}

// compareGenerated compares the parts of a document with what they should be,
// or writes them with -update.
func compareGenerated(t *testing.T, name string, want map[string]string) {
	t.Helper()
	have := generated(t, name)
	text := read(t, name)
	for what, should := range want {
		is, there := have[what]
		switch {
		case !there:
			t.Errorf("%s has no part %s%s -->", name, begin, what)
		case is == should:
		case *update:
			mark := begin + what + " -->\n"
			text = strings.Replace(text, mark+is+finish, mark+should+finish, 1)
		default:
			t.Errorf("%s, part %q: it says\n%s\nand should say\n%s\n(go test ./internal/meta -update writes it)", name, what, is, should)
		}
	}
	for what := range have {
		if _, known := want[what]; !known {
			t.Errorf("%s has the part %q, which the program does not have", name, what)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(filepath.Join(top(t), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The manual has every command with all its arguments and flags, and the table
// of exit codes is that of the code.
func TestManual(t *testing.T) {
	if *update {
		addCommands(t)
	}
	want := map[string]string{"exit codes": exitTable()}
	var globals strings.Builder
	for _, c := range commandList(t) {
		want["teams "+c.Command] = c.reference()
		if c.Command == "task add" {
			rows(&globals, "flag", c.GlobalFlags, value.flag)
		}
	}
	want["global flags"] = strings.TrimPrefix(globals.String(), "\n")
	compareGenerated(t, manual, want)
}

const manual = "docs/manual.md"

// heading is the heading of a command in the manual.
func heading(c command) string { return "### teams " + c.Command }

// addCommands gives the commands that the manual lacks a heading and an empty
// part, each behind the command before it.
func addCommands(t *testing.T) {
	t.Helper()
	list := strings.Split(read(t, manual), "\n")
	at := slices.Index(list, "## Commands")
	group := ""
	for _, c := range commandList(t) {
		if i := slices.Index(list, heading(c)); i >= 0 {
			at, group = i, c.Group
			continue
		}
		var add []string
		if g := "## " + c.Group; c.Group != group {
			if i := slices.Index(list, g); i >= 0 {
				at = i
			} else {
				add = append(add, g, "")
			}
			group = c.Group
		}
		at++
		for at < len(list) && !strings.HasPrefix(list[at], "## ") && !strings.HasPrefix(list[at], "### ") {
			at++
		}
		if at == len(list) && list[at-1] == "" {
			at--
		}
		add = append(add, heading(c), "", begin+"teams "+c.Command+" -->", finish, "")
		list = slices.Insert(list, at, add...)
		at = slices.Index(list, heading(c))
	}
	if err := os.WriteFile(filepath.Join(top(t), manual), []byte(strings.TrimRight(strings.Join(list, "\n"), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The error codes are those of the code.
func TestErrorCodes(t *testing.T) {
	compareGenerated(t, "docs/json.md", map[string]string{"error codes": codeTable()})
}

// The manual has the commands in the order of the overview, and no other.
func TestManualOrder(t *testing.T) {
	var have []string
	for _, row := range strings.Split(read(t, manual), "\n") {
		if strings.HasPrefix(row, "### teams ") {
			have = append(have, row)
		}
	}
	var want []string
	for _, c := range commandList(t) {
		want = append(want, heading(c))
	}
	if !slices.Equal(have, want) {
		t.Errorf("docs/manual.md has the headings\n%s\nand should have\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// Every variable of ours that the code names is in the manual.
func TestManualVariables(t *testing.T) {
	text := read(t, "docs/manual.md")
	name := regexp.MustCompile(`"((?:TEAMS|PI)_[A-Z_]+)=?"`)
	seen := map[string]bool{}
	for _, file := range files(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/meta/") || strings.HasPrefix(file, "internal/pi/pitest/") || strings.HasPrefix(file, "internal/bench/") {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(read(t, file), -1) {
			if !seen[m[1]] && !strings.Contains(text, "`"+m[1]+"`") {
				t.Errorf("%s uses %s, which docs/manual.md does not explain", file, m[1])
			}
			seen[m[1]] = true
		}
	}
	if !seen["TEAMS_ROOT"] {
		t.Errorf("TEAMS_ROOT was not found, only %v", seen)
	}
}

// What every command prints with --json is said.
func TestJSONCommands(t *testing.T) {
	text := read(t, "docs/json.md")
	for _, c := range commandList(t) {
		if !strings.Contains(text, "`"+c.Command+"`") && !strings.Contains(text, "`"+c.Command+" ") {
			t.Errorf("docs/json.md does not mention %s", c.Command)
		}
	}
}
