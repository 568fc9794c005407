package console

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	k := func(names ...string) (out []any) {
		for _, name := range names {
			text := ""
			if utf8.RuneCountInString(name) == 1 {
				text = name
			}
			if name == "space" {
				text = " "
			}
			out = append(out, keyMsg{name, text})
		}
		return out
	}
	tests := []struct {
		in   string
		want []any
	}{
		{"aZ?", k("a", "Z", "?")},
		{"日é", k("日", "é")},
		{"\r\n\t\x7f\x08 ", k("enter", "ctrl+j", "tab", "backspace", "ctrl+h", "space")},
		{"\x01\x03\x1a\x00\x1c", k("ctrl+a", "ctrl+c", "ctrl+z", "ctrl+space")},
		{"\x1b[A\x1b[B\x1b[C\x1b[D\x1bOA\x1bOB", k("up", "down", "right", "left", "up", "down")},
		{"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1bOH\x1bOF", k("home", "end", "home", "end", "home", "end")},
		{"\x1b[5~\x1b[6~\x1b[3~\x1b[Z\x1bOP", k("pgup", "pgdown", "delete", "shift+tab", "f1")},
		{"\x1b[1;2A\x1b[1;5C\x1b[1;3D", k("shift+up", "ctrl+right", "alt+left")},
		{"\x1ba\x1b\r\x1b\x7f", k("alt+a", "alt+enter", "alt+backspace")},
		{"\x1b[<0;3;5M\x1b[<0;3;5m", []any{mouseMsg{2, 4, leftButton}}},
		{"\x1b[<64;1;1M\x1b[<65;80;24M\x1b[<69;1;1M", []any{mouseMsg{0, 0, wheelUp}, mouseMsg{79, 23, wheelDown}, mouseMsg{0, 0, wheelDown}}},
		{"\x1b[<35;1;1M\x1b[<2;1;1M\x1b[<1:2;1;1M\x1b[<0;1M", nil},
		{"\x1b[M !!x", k("x")},
		{"\x1b[200~two\nlines\x1b[Aq\x1b[201~x", append([]any{pasteMsg("two\nlines\x1b[Aq")}, k("x")...)},
		{"\x1b]11;rgb:00/00/00\x1b\\x\x1b]0;t\x07y\x1bP1$r\x1b\\z", k("x", "y", "z")},
		{"\x1b[?2026;2$yx\x1b[?1;2cy", k("x", "y")},
		{"\xff\xfea\u0085b", k("a", "b")},
	}
	for _, tt := range tests {
		var whole decoder
		got := append(whole.feed([]byte(tt.in)), whole.flush()...)
		if !reflect.DeepEqual(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%q is %v and not %v", tt.in, got, tt.want)
		}
		// The same byte by byte, as over a slow line.
		var slow decoder
		var each []any
		for i := range len(tt.in) {
			each = append(each, slow.feed([]byte{tt.in[i]})...)
		}
		each = append(each, slow.flush()...)
		if !reflect.DeepEqual(each, tt.want) && len(each)+len(tt.want) > 0 {
			t.Errorf("%q byte by byte is %v and not %v", tt.in, each, tt.want)
		}
	}
}

// An escape key is one when nothing follows in time.
func TestEscape(t *testing.T) {
	var d decoder
	if got := d.feed([]byte{esc}); got != nil || !d.waiting() {
		t.Errorf("at once: %v", got)
	}
	if got := d.flush(); !reflect.DeepEqual(got, []any{keyMsg{key: "esc"}}) || d.waiting() {
		t.Errorf("later: %v", got)
	}
	if got := d.feed([]byte("\x1b\x1b[A")); !reflect.DeepEqual(got, []any{keyMsg{key: "esc"}, keyMsg{key: "up"}}) {
		t.Errorf("before an arrow: %v", got)
	}
	d.feed([]byte("\x1b[200~" + strings.Repeat("x", 3*maxPaste)))
	if d.waiting() || d.flush() != nil {
		t.Error("a paste is no key")
	}
	if got := d.feed([]byte(pasteEnd)); len(got) != 1 || len(got[0].(pasteMsg)) != maxPaste {
		t.Errorf("the paste gave %d messages", len(got))
	}
}

// Whatever comes, the decoder takes all of it, and no key types a control
// character.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a\x1b[A", "\x1b[<0;1;1M", "\x1b[200~x\x1b[201~", "\x1b]0;x\x07", "\x1b[999999999999999999999999~", hostile} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d decoder
		list := append(d.feed(data), d.flush()...)
		if !d.pasting && len(d.buf) > 0 {
			t.Errorf("left: %q", d.buf)
		}
		for _, msg := range list {
			if k, ok := msg.(keyMsg); ok && (k.key == "" || strings.ContainsFunc(k.text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })) {
				t.Errorf("key %q types %q", k.key, k.text)
			}
		}
	})
}

// Whatever somebody is called or writes, the screen holds.
func FuzzScreen(f *testing.F) {
	f.Add(hostile, 80, 24)
	f.Add("🏳️‍🌈", 10, 5)
	f.Fuzz(func(t *testing.T, s string, width, height int) {
		snap := &Snapshot{
			Session: s, Who: s, Problems: []string{s},
			Teammates: []Teammate{{Name: s, Kind: s, Role: s, Status: "working", Task: s, Activity: s}, {Name: "b", Status: s, Awaiting: s}},
			Roles:     []Role{{File: "f", Name: s, Scope: s, Path: s, Marks: s, Tools: s, Description: s}},
			Tasks:     []Task{{ID: s, State: s, Note: s, Marks: s, Subject: s}},
			Messages:  []Message{{ID: s, Owner: s, From: s, To: s, Kind: s, Title: s}},
			Questions: []Question{{ID: s, From: s, Text: s, Options: []string{s}}},
		}
		x := newTester(t, 1+int(uint(width)%200), 1+int(uint(height)%70), snap, width%2 == 0)
		x.detail = s + "\n" + s
		for p := range pageCount {
			x.m.turn(p)
			x.check()
			x.keys("enter", "esc", "x", "n", "c", "esc", "a", "esc")
		}
		x.send(pasteMsg(s))
		x.keys("/")
		x.send(pasteMsg(s))
		x.keys("enter")
	})
}
