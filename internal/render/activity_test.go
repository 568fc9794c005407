package render

import (
	"strings"
	"testing"
)

func TestActivity(t *testing.T) {
	for _, tt := range []struct {
		a    Activity
		want string
	}{
		{Activity{}, "Working..."},
		{Activity{Tool: "bash:\n  go  test", Thinking: "x", Text: "y"}, "bash: go test"},
		{Activity{Tool: " \n", Thinking: "one\ntwo\n\n  \n", Text: "y"}, "two"},
		{Activity{Thinking: " \n", Text: "one\n two\tthree "}, "two three"},
		{Activity{Thinking: "one\n... [truncated 5 lines]\n  …[truncated]", Text: "y"}, "one"},
		{Activity{Thinking: "...[truncated]", Text: "y"}, "...[truncated]"},
		{Activity{Thinking: "... [truncated]", Text: "…[truncated"}, "Working..."},
		{Activity{Text: "a\x1b[2J\u202eb"}, "a\uFFFD[2J\uFFFDb"},
	} {
		if got := tt.a.String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.a, got, tt.want)
		}
	}
}

func TestPlainMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain text, 2 * 3 * 4":          "plain text, 2 * 3 * 4",
		"## The **plan** ##":             "The plan",
		"#tag and C#":                    "#tag and C#",
		"- [x] done":                     "done",
		"> * quoted *item*":              "quoted item",
		"1. first":                       "1. first",
		"run `go test ./...` in `a_b_c`": "run go test ./... in a_b_c",
		"``a ` b`` end":                  "a ` b end",
		"a `lone quote":                  "a `lone quote",
		"some_name_here and _this_":      "some_name_here and this",
		"***both*** ~~gone~~ ~home":      "both gone ~home",
		"see [the docs](http://x/y) ok":  "see the docs ok",
		"![picture](x.png) [not a link]": "picture [not a link]",
		"a [b](c":                        "a [b](c",
		`\*not\* \_stressed\_`:           "*not* _stressed_",
		"```go\ncode x\n```":             "go code x",
		"---":                            "---",
		"* * *":                          "---",
		"one\n\n  two\tthree":            "one two three",
		"**unclosed":                     "**unclosed",
		"a\x1b[1m*b*":                    "a\uFFFD[1mb",
		"**漢字** と *か*":                   "漢字 と か",
	} {
		if got := PlainMarkdown(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := PlainMarkdown(strings.Repeat("*a [", 1<<20)); len(got) > 4096 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestActivityRow(t *testing.T) {
	for _, tt := range []struct {
		name, activity string
		columns        int
		want           string
	}{
		{"ann", "bash: go test", 80, " ⠋ ann · bash: go test"},
		{"ann", "**bash**:\n`go test`", 23, " ⠋ ann · bash: go test"},
		{"ann", "bash: go test", 22, " ⠋ ann · bash: go te…"},
		// 20 columns: 19 for the line, 13 for both texts, 5 of them for the name.
		{"a-long-name", "bash: go test", 20, " ⠋ a-lo… · bash: g…"},
		{"a-long-name", "bash: go test", 11, " ⠋ … · ba…"},
		// Never narrower than 10, one cell for each text at least.
		{"a-long-name", "bash: go test", 1, " ⠋ … · ba…"},
		{"漢字漢字", "漢字漢字漢字", 20, " ⠋ 漢字… · 漢字漢…"},
		{"ann", "", 80, " ⠋ ann · "},
	} {
		if got := ActivityRow("⠋", tt.name, tt.activity, tt.columns); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}

func TestActivityLabel(t *testing.T) {
	for cells, want := range map[int]string{-1: "⠋ bash: go test", 0: "⠋", 1: "⠋ …", 6: "⠋ bash:…", 13: "⠋ bash: go test"} {
		if got := ActivityLabel("⠋", "bash: *go* test", cells); got != want {
			t.Errorf("%d: %q, want %q", cells, got, want)
		}
	}
	for status, want := range map[string]bool{"starting": true, "working": true, "idle": false, "stopping": false, "stopped": false, "": false} {
		if Spins(status) != want {
			t.Errorf("%q: %v", status, !want)
		}
	}
	if Spinner(0) == Spinner(1) || Spinner(-1) != Spinner(9) || Width(Spinner(3)) != 1 {
		t.Error("the frames of the spinner are wrong")
	}
	if got := StartedLine("coder", "ann", "fix\nthe parser"); got != "[coder] started · @ann · fix the parser" {
		t.Errorf("%q", got)
	}
	if got := StartedLine("coder", "ann", ""); got != "[coder] started · @ann" {
		t.Errorf("%q", got)
	}
}
