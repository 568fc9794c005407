package render

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// Every text of a generated operation has a capital Q, and no name of a member
// has one. Labels are written small: a Q in a label, or in the name of a part,
// comes from a value.
const fromValue = "Q"

// What a text from somebody else may be made of.
var pieces = []string{
	"Q", "word", " ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", "\x1b[2J", "\x1b]0;x\x07", "\x1b[1mcall\x1b[0m", "\u009b31m", "\x00", "\x7f", "\u202e", "\u2066",
	"\u200f", "\u061c", "\u2028", "\u0085", "call", "return", "\ncall\n", "\nreturn\nstatus: Q\n", "status: ", "message:", "✓ success", "· ", "漢字", "한글", "👩‍💻", "🇩🇪",
	"e\u0301", "\u0301", "\u200d", "שלום", "مرحبا", "%s", "%!d", "\xff", "…", "long-word-without-any-space-in-it-at-all",
}

// Ids of panes and workspaces, which nobody may see.
var paneIDs = []string{"w1:p2", "wZ:t1", "w6528f78e5be462:p1", "term_64f1a2"}

const workspaceID = "w7Z9K"

func drawText(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces")
	at := rapid.IntRange(0, len(parts)).Draw(t, "at")
	return strings.Join(slices.Insert(parts, at, fromValue), "")
}

// drawKey makes names of members, odd ones too.
func drawKey(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"agent", "name", "label", "placement", "id", "task", "message", "text", "output", "description", "question", "error", "status", "state",
			"reason", "ok", "pending", "settled", "completed", "agents", "tasks", "to", "target", "subject", "dependsOn", "returnCode", "createdAt",
			"verdict", "counts", "activity", "URLPath", "a_b-c", "call", "return", "", "\n", "x\ncall\n", "\x1b[1m", "漢字", "a\u202eb",
			strings.Repeat("long", 30),
		}),
		rapid.StringMatching(`[a-z]{1,9}([A-Z][a-z]{1,3})?`),
	).Filter(func(s string) bool { return !strings.Contains(s, fromValue) }).Draw(t, "key")
}

func drawValue(t *rapid.T, depth int) Value {
	kinds := 6
	if depth >= 4 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return Value{}
	case 1:
		return ValueOf(rapid.Bool().Draw(t, "bool"))
	case 2:
		return ValueOf(json.Number(rapid.SampledFrom([]string{"0", "1", "-7", "12345678901234567890123", "1.500", "1e400", "1796056180351"}).Draw(t, "number")))
	case 4:
		out := Value{kind: array, items: []Value{}}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			out.items = append(out.items, drawValue(t, depth+1))
		}
		return out
	case 5:
		return Value{kind: object, fields: drawFields(t, depth+1)}
	}
	return ValueOf(drawText(t))
}

func drawFields(t *rapid.T, depth int) Fields {
	out := Fields{}
	for range rapid.IntRange(0, 5).Draw(t, "members") {
		out = append(out, Field{drawKey(t), drawValue(t, depth)})
	}
	if rapid.Bool().Draw(t, "pane") {
		name := rapid.SampledFrom([]string{"paneId", "pane_id", "pane", "workspaceId", "workspace", "rootPane", "tabId", "terminal_id", "targetPaneId"}).Draw(t, "pane key")
		out = append(out, Field{name, ValueOf(rapid.SampledFrom(paneIDs).Draw(t, "pane id"))}, Field{"workspaceId", ValueOf(workspaceID)})
		name = rapid.SampledFrom([]string{"target", "id", "agent", "why", "error", "name", "to", "reason"}).Draw(t, "key")
		format := rapid.SampledFrom([]string{"%", "pane % is gone", "(%)", "at '%': gone", "a\nin %"}).Draw(t, "sentence")
		if strings.Contains(format, "\n") {
			name = "error" // of other texts every line stays as it is
		}
		id := rapid.SampledFrom(paneIDs).Draw(t, "pane id")
		out = append(out, Field{name, ValueOf(strings.ReplaceAll(format, "%", id))})
		if rapid.Bool().Draw(t, "in a list") {
			out = append(out, Field{"targets", ValueOf([]string{"Q", id})})
		}
	}
	return out
}

func drawOperation(t *rapid.T) Operation {
	return Operation{
		Tool: rapid.SampledFrom([]string{
			"spawn", "delegate", "message", "watch", "status", "close", "read", "herd", "agents", "shutdown", "interrupt", "resume", "handoff", "task_create",
			"task_list", "task_claim", "task_submit", "teammate_spawn", "send_message", "shepherd_herd", "unknown", "odd\x1b[1m\ntool", "",
		}).Draw(t, "tool"),
		Call:       drawFields(t, 0),
		Return:     rapid.SampledFrom([]Fields{nil, {}, drawFields(t, 0)}).Draw(t, "return"),
		ReturnCode: rapid.SampledFrom([]int{0, 0, 0, 1, 124}).Draw(t, "code"),
		Partial:    rapid.Bool().Draw(t, "partial"),
		Error:      rapid.SampledFrom([]string{"", "", drawText(t)}).Draw(t, "error"),
	}
}

// plain takes our own escape sequences off a text.
func plain(s string) string {
	for _, style := range []Style{Bold, Dim, Red, Green, Yellow, Blue, Cyan} {
		s = strings.ReplaceAll(s, style.sgr(), "")
	}
	return strings.ReplaceAll(s, resetSGR, "")
}

// checkHarmless looks for what a terminal would obey.
func checkHarmless(t *rapid.T, s string, tabs bool) {
	for _, r := range plain(s) {
		if r == '\n' || r == '\t' && tabs {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			t.Fatalf("%U reaches the terminal: %q", r, s)
		}
	}
}

func checkNoPanes(t *rapid.T, s string) {
	for _, id := range append(paneIDs, workspaceID) {
		if strings.Contains(s, id) {
			t.Fatalf("the id of a pane is shown: %q", s)
		}
	}
}

// styled returns the texts in a style.
func styled(s string, style Style) (out []string) {
	for _, part := range strings.Split(s, style.sgr())[1:] {
		text, _, _ := strings.Cut(part, resetSGR)
		out = append(out, text)
	}
	return out
}

// Rows are one line each, whatever is in them; no failure has the sign of a
// success; lines fit.
func TestRowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := drawOperation(t)
		width := rapid.IntRange(0, 100).Draw(t, "width")
		for _, color := range []bool{false, true} {
			for i, write := range []func(*Writer, Operation){(*Writer).CallRow, (*Writer).ResultRow} {
				w := New(Options{Width: width, Color: color})
				write(w, op)
				s := w.String()
				if n := strings.Count(s, "\n"); n != 1 && (n != 0 || i == 0 || op.started()) {
					t.Fatalf("%d lines: %q", n, s)
				}
				checkHarmless(t, s, false)
				checkNoPanes(t, s)
				if n := Width(strings.TrimSuffix(plain(s), "\n")); width > 0 && n > width {
					t.Fatalf("%d cells of %d: %q", n, width, s)
				}
				failed := op.Error != "" || op.ReturnCode != 0 || op.Return.text("error") != "" && op.Return.text("error") != "no" && op.Return.text("error") != "0"
				if failed && (!op.Failed() || i == 1 && !strings.HasPrefix(plain(s), Failure+" ") && width > 2) {
					t.Fatalf("a failure looks like %q", s)
				}
				if i == 1 && op.Failed() && strings.HasPrefix(plain(s), Success) {
					t.Fatalf("a failure looks like %q", s)
				}
			}
		}
	})
}

// In the long form the styles of labels and of the names of the two parts come
// from the structure alone.
func TestExpandedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := drawOperation(t)
		width := rapid.SampledFrom([]int{0, 6, 7, 11, 24, 60}).Draw(t, "width")
		opt := Options{Width: width, Wrap: rapid.Bool().Draw(t, "wrap"), Color: true, Expanded: true}
		w := New(opt)
		w.Outcome(op)
		s := w.String()
		sections := styled(s, Bold)
		want := []string{"call", "return"}
		if !op.started() {
			want = want[:1]
		}
		if !slices.Equal(sections, want) {
			t.Fatalf("the parts are %q: %q", sections, s)
		}
		for _, label := range styled(s, Cyan) {
			if strings.Contains(label, fromValue) || strings.Contains(label, "\n") {
				t.Fatalf("a value became the label %q: %q", label, s)
			}
		}
		checkHarmless(t, s, !opt.Wrap || width == 0)
		checkNoPanes(t, s)
		for line := range strings.Lines(plain(s)) {
			if n := Width(strings.TrimSuffix(line, "\n")); opt.Wrap && width > 0 && n > width {
				t.Fatalf("%d cells of %d: %q", n, width, line)
			}
		}
		if op.Failed() != strings.Contains(plain(s), "status: failed\n") && width == 0 && op.started() && op.Return.text("state", "status") == "" {
			t.Fatalf("failed %v: %q", op.Failed(), s)
		}
	})
}

// A text of several lines stands in the long form as it is.
func TestRawBlockProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Trim(rapid.StringMatching(`([A-Za-z:漢 ]{0,12}\n){0,6}[a-z]`).Draw(t, "body"), "\n")
		w := New(Options{Width: rapid.SampledFrom([]int{0, 8, 20}).Draw(t, "width"), Expanded: true})
		w.Operation(Operation{Tool: "message", Call: Pairs("message", body), Return: Fields{}})
		if !strings.Contains(w.String(), "\nmessage:\n"+body+"\n\nreturn\nstatus:") {
			t.Fatalf("%q is not whole in %q", body, w.String())
		}
	})
}

func TestNotificationProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 60).Draw(t, "width")
		w := New(Options{Width: width, Wrap: true, Color: true})
		title := drawText(t)
		w.Notification(Notification{Title: title, IDs: drawFields(t, 2), Fields: append(Pairs("message", drawText(t)), drawFields(t, 2)...), Collapsed: rapid.Bool().Draw(t, "collapsed")})
		s := w.String()
		if bold := styled(s, Bold); len(bold) != 1 || strings.Contains(bold[0], "\n") {
			t.Fatalf("titles %q: %q", bold, s)
		}
		for _, label := range styled(s, Cyan) {
			if strings.Contains(label, fromValue) {
				t.Fatalf("a value became the label %q: %q", label, s)
			}
		}
		checkHarmless(t, s, false)
		checkNoPanes(t, s)
		for line := range strings.Lines(plain(s)) {
			if n := Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d cells of %d: %q", n, width, line)
			}
		}
	})
}

// Broken pieces are the whole line again.
func TestBreakLineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{}).opt.SafeLine(strings.ToValidUTF8(drawText(t), ""))
		first, rest := rapid.IntRange(2, 30).Draw(t, "first"), rapid.IntRange(2, 30).Draw(t, "rest")
		got := breakLine(s, first, rest, false)
		if strings.Join(got, "") != s {
			t.Fatalf("%q became %q", s, got)
		}
		for i, piece := range got {
			room := rest
			if i == 0 {
				room = first
			}
			if Width(piece) > room {
				t.Fatalf("%q has more than %d cells", piece, room)
			}
		}
	})
}

// Rows of activities fit and are one harmless line.
func TestActivityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(-1, 120).Draw(t, "columns")
		name, activity := drawText(t), drawText(t)
		row := ActivityRow(Spinner(columns), name, activity, columns)
		checkHarmless(t, row, false)
		if n := Width(row); n > max(10, columns-1) || strings.Contains(row, "\n") {
			t.Fatalf("%d cells of %d: %q", n, columns, row)
		}
		label := ActivityLabel("⠋", activity, columns)
		checkHarmless(t, label, false)
		if n := Width(label); columns >= 0 && n > columns+2 {
			t.Fatalf("%d cells of %d: %q", n, columns, label)
		}
		checkHarmless(t, Activity{activity, name, name}.String()+StartedLine(name, name, activity), false)
	})
}

// FuzzDecode: whatever the input is, it is refused or shown.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"tool":"spawn","call":{"agent":"a"},"return":{"error":{}},"returnCode":1}`, `{"schema":1,"ok":true,"data":{"task":{}}}`,
		`{"schema":1,"ok":false,"error":{"code":"x","details":{"data":[]}}}`, `{"notification":{"title":"t","ids":{"a":[]},"message":null}}`,
		`{"tool":"watch","return":{"settled":[1,{"returnCode":{}}],"pending":{}}}`, `{"tool":"herd","return":{"agents":[null,[],{"id":{}}]}}`, `[[[`, `{"tool":1}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode(data, nil)
		if err != nil {
			return
		}
		for _, width := range []int{0, 1, 40} {
			w := New(Options{Width: width, Wrap: true, Expanded: width != 1})
			if d.Notification != nil {
				w.Notification(*d.Notification)
			} else {
				w.Operation(d.Operation)
			}
			for line := range strings.Lines(w.String()) {
				if n := Width(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
					t.Fatalf("%d cells of %d: %q", n, width, line)
				}
			}
		}
	})
}
