package herdr

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

var (
	update = flag.Bool("update", false, "write the golden files anew")
	long   = flag.Bool("long", false, "run the storms in full")
)

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// The table of statuses, as it stands in the design.
func TestMappingTable(t *testing.T) {
	var b strings.Builder
	for _, s := range append(Statuses(), "of-another-version") {
		m := MappingOf(s)
		r := Run{Status: s, Phase: "<phase>", Done: 1, Total: 2, Tokens: 3200}
		effects := ""
		if m.Release {
			effects += " release"
		}
		if m.ClosePane {
			effects += " close"
		}
		if m.Sound != "" {
			effects += " notify:" + m.Sound
		}
		fmt.Fprintf(&b, "%s | %s | %s | %s | %s | %s |%s\n", s, m.Icon, m.Label, m.Set, m.State, r.StatusLine(), effects)
	}
	golden(t, "mapping.golden", b.String())
}

// Every form of a line.
func TestLines(t *testing.T) {
	var b strings.Builder
	row := func(what string, runs ...Run) { fmt.Fprintf(&b, "%-22s %q\n", what, Line(runs)) }
	seed := Run{Name: "research_topic", Status: Running, Phase: "Synthesize", Done: 12, Total: 40, Tokens: 3200}
	with := func(change func(*Run)) Run { r := seed; change(&r); return r }
	row("nothing")
	row("one", seed)
	row("no phase", with(func(r *Run) { r.Phase = "" }))
	row("no agents", with(func(r *Run) { r.Total, r.Done = 0, 0 }))
	row("no tokens", with(func(r *Run) { r.Tokens = 0 }))
	row("bare", Run{Name: "wf", Status: Spawned})
	row("no name", Run{Status: Running})
	row("paused", with(func(r *Run) { r.Paused = true }))
	for _, s := range Statuses() {
		row(string(s), with(func(r *Run) { r.Status = s }))
	}
	row("paused and failed", with(func(r *Run) { r.Paused, r.Status = true, Failed }))
	row("white space", with(func(r *Run) { r.Name, r.Phase = " a\n b\t", "c  d" }))
	row("long", with(func(r *Run) { r.Name = strings.Repeat("x", 200) }))
	row("wide", with(func(r *Run) { r.Name = strings.Repeat("界", 100) }))
	row("family", with(func(r *Run) { r.Name = strings.Repeat("👩‍👩‍👧‍👦", 70) }))
	a := Run{Status: Running, Done: 1, Total: 2, Tokens: 200}
	c := Run{Status: NeedsHuman, Done: 2, Total: 2, Tokens: 300}
	row("two", a, c)
	row("two, quiet", a, a)
	row("failed counts", a, c, Run{Status: Failed})
	row("nothing known", Run{}, Run{})
	row("a million", a, Run{Status: Running, Tokens: 1_400_000})
	b.WriteString("\n")
	for _, n := range []int64{-1, 0, 1, 812, 999, 1000, 1049, 3200, 999_949, 999_950, 1_000_000, 1_400_000, 12_345_678} {
		fmt.Fprintf(&b, "%d %q\n", n, Tokens(n))
	}
	b.WriteString("\n")
	for _, r := range []Run{{Status: Running}, {Status: Running, Phase: "Plan"}, {Status: Running, Total: 3}, {Status: Running, Tokens: 5}, {Status: Running, Phase: "Plan", Tokens: 5}} {
		fmt.Fprintf(&b, "%q\n", r.StatusLine())
	}
	golden(t, "lines.golden", b.String())
}

func TestVisible(t *testing.T) {
	run := func(s ...Status) (out []Run) {
		for _, st := range s {
			out = append(out, Run{Status: st})
		}
		return out
	}
	for _, c := range []struct {
		in   []Run
		want int
	}{
		{nil, 0}, {run(Completed), 0}, {run(Failed), 0}, {run(Failed, Completed), 0}, {run(Running, Completed), 1},
		{run(Running, Failed), 2}, {run(NeedsHuman), 1}, {run(Spawned, Finalizing, NeedsFinalize), 3},
	} {
		if got := Visible(c.in); len(got) != c.want {
			t.Errorf("%v: %v", c.in, got)
		}
	}
}

// Every pair of statuses, with and without reopening.
func TestTransitions(t *testing.T) {
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			terminal := from == Completed || from == Failed
			for _, reopen := range []bool{false, true} {
				ok := from == to || !terminal || reopen && to != Completed
				err := CheckTransition(from, to, reopen)
				if (err == nil) != ok || err != nil && errs.CodeOf(err) != errs.Conflict {
					t.Errorf("%s -> %s, reopen %v: %v", from, to, reopen, err)
				}
			}
		}
	}
	if _, err := ParseStatus("done"); errs.CodeOf(err) != errs.Usage || !strings.Contains(err.Error(), "needs-human") {
		t.Error(err)
	}
}

func TestNotices(t *testing.T) {
	var b strings.Builder
	row := func(from, to Run) {
		n := NoticeOf(&from, &to)
		fmt.Fprintf(&b, "%s -> %s: %q %q %q\n", from.Status, to.Status, n.Title, n.Body, n.Sound)
	}
	for _, s := range Statuses() {
		row(Run{Status: Running}, Run{Status: s, Name: "wf", Reason: "the reason"})
	}
	row(Run{Status: Failed}, Run{Status: Failed, Name: "wf"})
	row(Run{Status: Running}, Run{Status: Running, Name: "wf", Paused: true, Reason: "usage_limit"})
	row(Run{Status: Running}, Run{Status: Running, Name: "wf", Paused: true, Reason: "lunch"})
	row(Run{Status: Running}, Run{Status: Completed, Name: strings.Repeat("long ", 40), Reason: strings.Repeat("x", 300)})
	golden(t, "notices.golden", b.String())
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"a\x1b[31mb", 80, "a[31mb"}, {" a  b\nc ", 80, "a b c"}, {"界界界", 6, "界界界"}, {"界界界界", 6, "界界…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301…"}, {"👩‍👧👩‍👧👩‍👧", 5, "👩‍👧👩‍👧…"},
		{"🇩🇪🇫🇷🇮🇹", 6, "🇩🇪🇫🇷🇮🇹"}, {"🇩🇪🇫🇷🇮🇹", 4, "🇩🇪…"}, {"", 5, ""}, {"\xff\xfe", 9, "\ufffd\ufffd"}, {"a\u202eb", 9, "ab"},
	} {
		if got := Cut(c.in, c.cells); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.cells, got, c.want)
		}
	}
}
