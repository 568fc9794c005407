package render

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func board(w *Writer) {
	t := w.Table()
	t.Right(2)
	t.Row("t_1", Symbol("completed"), "4", "parse the grammar", "", "ann")
	t.Row("t_12", Symbol("claimed"), "12", "漢字のタスクを直す", "", "bob")
	t.Row("t_3", Symbol("blocked"), "0", "a subject that goes on and on for quite a while", "", "")
	t.Flush()
}

func TestTable(t *testing.T) {
	tests := []struct {
		name string
		opt  Options
		flex int
		want string
	}{
		{"piped: never cut", Options{}, -1, `
t_1   ✓   4  parse the grammar                                ann
t_12  ●  12  漢字のタスクを直す                               bob
t_3   …   0  a subject that goes on and on for quite a while
`},
		{"terminal of 40: the widest is cut", Options{Width: 40}, -1, `
t_1   ✓   4  parse the grammar       ann
t_12  ●  12  漢字のタスクを直す      bob
t_3   …   0  a subject that goes o…
`},
		{"terminal of 40 with a flexible subject", Options{Width: 40}, 3, `
t_1   ✓   4  parse the grammar       ann
t_12  ●  12  漢字のタスクを直す      bob
t_3   …   0  a subject that goes o…
`},
		{"terminal of 12: what is left out", Options{Width: 12}, 3, `
t_1   …  ann
t_12  …  bob
t_3   …
`},
		{"terminal of 8: the end of the line is cut", Options{Width: 8}, -1, `
t_1   ✓…
t_12  ●…
t_3   ……
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(tt.opt)
			tab := w.Table()
			tab.Right(2)
			if tt.flex >= 0 {
				tab.Flex(tt.flex)
			}
			tab.Row("t_1", Symbol("completed"), "4", "parse the grammar", "", "ann")
			tab.Row("t_12", Symbol("claimed"), "12", "漢字のタスクを直す", "", "bob")
			tab.Row("t_3", Symbol("blocked"), "0", "a subject that goes on and on for quite a while", "", "")
			if tab.Len() != 3 {
				t.Errorf("Len = %d", tab.Len())
			}
			tab.Flush()
			got := "\n" + w.String()
			if tt.opt.Width > 0 {
				for _, l := range strings.Split(strings.Trim(got, "\n"), "\n") {
					if Width(l) > tt.opt.Width {
						t.Errorf("line of %d cells: %q", Width(l), l)
					}
				}
			}
			if got != tt.want {
				t.Errorf("got:%s\nwant:%s", got, tt.want)
			}
		})
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	w := New(Options{Color: true})
	w.Linef("%s %s", Symbol("failed"), "boom")
	board(w)
	if !strings.Contains(w.String(), "\x1b[31m✗\x1b[0m boom\n") {
		t.Errorf("no red sign in %q", w.String())
	}
	plain := New(Options{})
	plain.Linef("%s %s", Symbol("failed"), "boom")
	board(plain)
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("escape sequences without colour: %q", plain.String())
	}
}

func TestTextFromOthersIsMadeSafe(t *testing.T) {
	type word string
	evil := "a\x1b[2Jb\u202ec\nd"
	for _, arg := range []any{evil, word(evil), errors.New(evil), []string{evil}, []byte(evil), Styled(Red, evil), struct{ S string }{evil}} {
		for _, write := range []func(w *Writer){
			func(w *Writer) { w.Linef("x %v", arg) },
			func(w *Writer) { w.Row("x", arg) },
			func(w *Writer) { tab := w.Table(); tab.Row("x", arg); tab.Flush() },
		} {
			w := New(Options{Width: 80})
			write(w)
			if s := w.String(); strings.ContainsAny(s, "\x1b\u202e") || strings.Count(s, "\n") != 1 {
				t.Errorf("%T reached the terminal raw: %q", arg, s)
			}
		}
	}
	w := New(Options{})
	w.Block("one\n\ttwo\x1b[0m")
	if got := w.String(); got != "one\n\ttwo\ufffd[0m\n" {
		t.Errorf("Block = %q", got)
	}
	w = New(Options{SafeLine: strings.ToUpper, SafeText: strings.ToUpper})
	w.Linef("%s %d", "abc", 7)
	w.Block("x")
	w.Block("")
	w.Blank()
	w.Raw([]byte("raw\x1b"))
	if got := w.String(); got != "ABC 7\nX\n\nraw\x1b" {
		t.Errorf("got %q", got)
	}
}

func TestRowIsCutAndLinefIsNot(t *testing.T) {
	w := New(Options{Width: 20})
	w.Row("t_1", "", nil, Symbol("ready"), strings.Repeat("long ", 10))
	w.Linef("t_1 %s", strings.Repeat("x", 40))
	want := "t_1  ○  long long l…\nt_1 " + strings.Repeat("x", 40) + "\n"
	if got := w.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTimesAndLimits(t *testing.T) {
	at := testNow.Add(-3 * time.Minute)
	if got := New(Options{Now: testNow}).TimeMs(at.UnixMilli()); got != "3m ago" {
		t.Errorf("relative: %q", got)
	}
	x := New(Options{Now: testNow, Expanded: true})
	if got, want := x.TimeMs(at.UnixMilli()), AbsTime(at.Local()); got != want || !x.Expanded() {
		t.Errorf("absolute: %q, want %q", got, want)
	}
	if got := New(Options{Now: testNow}).AgoMs(testNow.Add(time.Hour).UnixMilli()); got != "just now" {
		t.Errorf("a past that lies ahead: %q", got)
	}
	if got := x.TimeMs(0); got != "never" {
		t.Errorf("zero: %q", got)
	}
	tty, pipe := New(Options{Width: 80}), New(Options{})
	for _, tt := range []struct {
		w            *Writer
		total, limit int
		want         int
	}{{tty, 1200, 0, 50}, {tty, 7, 0, 7}, {tty, 1200, 100, 100}, {pipe, 1200, 0, 1200}, {pipe, 1200, 3, 3}} {
		if got := tt.w.Shown(tt.total, tt.limit); got != tt.want {
			t.Errorf("Shown(%d, %d) = %d, want %d", tt.total, tt.limit, got, tt.want)
		}
	}
	tty.Showing(50, 1200)
	tty.Showing(7, 7)
	pipe.Showing(3, 1200)
	if tty.String() != "showing 50 of 1200\n" || pipe.String() != "" {
		t.Errorf("Showing: %q, %q", tty.String(), pipe.String())
	}
}
