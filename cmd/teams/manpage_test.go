package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// The page has every command with all its flags, every exit code and error
// code, and every setting of the manual.
func TestManPage(t *testing.T) {
	page, err := manPage()
	if err != nil {
		t.Fatal(err)
	}
	has := func(what, roff string) {
		t.Helper()
		if !strings.Contains(page, roff) {
			t.Errorf("the page lacks %s: %s", what, roff)
		}
	}
	for _, section := range strings.Split("NAME SYNOPSIS DESCRIPTION COMMANDS FILES ENVIRONMENT EXAMPLES", " ") {
		has("a section", "\n.SH "+section+"\n")
	}
	has("a section", "\n.SH \"EXIT STATUS\"\n")
	has("a section", "\n.SH \"JSON OUTPUT\"\n")
	has("a section", "\n.SH \"SEE ALSO\"\n")
	for _, entry := range children("") {
		h, err := describe(entry)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range h.Usage {
			has(entry.Path, "\n"+usageTag(u)+"\n")
		}
		for _, f := range h.Flags {
			has(entry.Path, "\n"+flagTag(f)+"\n")
		}
		for _, line := range h.Examples {
			has(entry.Path, breakLine(protect(escape(line))))
		}
	}
	for _, e := range errs.Table() {
		has("an exit code", bold(strconv.Itoa(e.Exit))+"\n")
		has("an error code", bold(string(e.Code))+"\n")
		if exitMeaning(e.Exit) == "failure" && e.Exit != 1 {
			t.Errorf("exit code %d has no meaning of its own", e.Exit)
		}
	}
	manual, err := os.ReadFile("../../docs/manual.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "\n| variable |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| `([A-Z_]+)`").FindAllStringSubmatch(table, -1)
	if len(rows) < 10 {
		t.Fatalf("the manual has only %d settings", len(rows))
	}
	for _, row := range rows {
		has("a setting of the manual", bold(row[1])+"\n")
	}
	if len(rows) != len(manSettings()) {
		t.Errorf("the manual has %d settings, and the page %d", len(rows), len(manSettings()))
	}
	for n, line := range strings.Split(page, "\n") {
		if len(line) > 200 || strings.HasSuffix(line, " ") || regexp.MustCompile(`[^\x20-\x7e]`).MatchString(line) {
			t.Errorf("line %d: %q", n+1, line)
		}
	}
}

// No text of a command can become a macro.
func TestRoffEscapes(t *testing.T) {
	p := new(roff)
	p.paragraph(".SH no 'x' \\fBno ~^`\"-\x1b\x00é")
	p.literal([]string{".TH", "'br", "  - x", strings.Repeat("long word ", 20)})
	want := ".PP\n\\&.SH no \\(aqx\\(aq \\efBno \\(ti\\(ha\\(ga\\(dq\\-\\[u00E9]\n.PP\n.nf\n\\&.TH\n\\(aqbr\n  \\- x\n"
	if !strings.HasPrefix(p.b.String(), want) {
		t.Errorf("%s", p.b.String())
	}
	for _, line := range strings.Split(p.b.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%q", line)
		}
	}
}

// Every kind of value that a flag or an argument names is completed by
// something.
func TestCompletionKinds(t *testing.T) {
	source, err := os.ReadFile("completer.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range registry {
		h, err := describe(entry)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(append(h.Arguments, h.Flags...), h.Globals...) {
			switch v.kind {
			case "", "file", "text", "dir", "command":
			default:
				if !strings.Contains(string(source), "case "+strconv.Quote(v.kind)+":") {
					t.Errorf("teams %s: nothing completes %q", entry.Path, v.kind)
				}
			}
		}
	}
}
