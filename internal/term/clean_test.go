package term

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\ntext\r\n":                                   "plain\ntext\n",
		"\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[m":              "red bold",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link":         "alink",
		"\x1b[?2004h$ ls\x1b[?2004l\r\r\nx":                   "$ ls\nx",
		"10%\r20%\r30%\r\n":                                   "10%\n20%\n30%\n",
		"abc\b\b\x1b[Kx":                                      "ax",
		"a\b\b\b\bx\r\n\bz":                                   "x\nz",
		"a\x00b\x07c\x0e\x7f":                                 "abc",
		"\x1b(B\x1b)0\x1b=\x1b>\x1b7x\x1b8":                   "x",
		"\x1bPdcs stuff\x1b\\y\x1b_apc\x1b\\z":                "yz",
		"before\x1b[?1049hdrawn\x1b[2J~\r\n~\x1b[?1049lafter": "beforeafter",
		"a\x1b[?1;47hx\x1b[?47;25lb":                          "ab",
		"\xff\xc3(é界👍\u0085":                                  "\ufffd\ufffd(é界👍",
		"tab\there":                                           "tab\there",
		"\x1b[31\x18x":                                        "x",
		"\x1b]unclosed\nnext":                                 "\nnext",
		"a\vb\fc":                                             "a\nb\nc",
		strings.Repeat(" ", 79) + "\r \r\r\x1b[0mvm# ":        "vm# ",
		"abc" + strings.Repeat(" ", 79) + "\r\r\rvm# ":        "abc\nvm# ",
		"a" + strings.Repeat(" ", 30) + "b":                   "a" + strings.Repeat(" ", 30) + "b",
		strings.Repeat(" ", 30) + "\r\n":                      strings.Repeat(" ", 30) + "\n",
		"\rstart":                                             "start",
	} {
		var s screen
		text, used := clean([]byte(in), &s, 1000)
		if string(text) != want || used != len(in) {
			t.Errorf("%q: %q, %d of %d used; want %q", in, text, used, len(in), want)
		}
	}
	// What is not complete is left.
	for in, want := range map[string]int{"a\x1b": 1, "a\x1b[3": 1, "a\x1b]0;ti": 1, "a\xe7\x95": 1, "a\r": 1, "a\r\r": 1, "a\x1b(": 1, "a\x1b]x\x1b": 1} {
		var s screen
		if text, used := clean([]byte(in), &s, 1000); used != want || string(text) != "a" {
			t.Errorf("%q: %q, %d used", in, text, used)
		}
	}
	var s screen
	if text, used := clean([]byte("\x1b[31mabc"), &s, 2); string(text) != "ab" || used != 7 {
		t.Errorf("%q %d", text, used)
	}
}

// In whatever pieces output comes and is asked for, the text is the same.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\r\nb\x1b[31mc\x1b]0;x\x07d", "\x1b[?1049hxx\x1b[?1049l", "é界\xff\r\r\n", "\x1b\x1b\x1b", "\x1b[\x1b[0m\r\rx", "10%\r20%"} {
		f.Add([]byte(s), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, step, limit uint8) {
		if strings.Contains(string(raw), "\b") || strings.Contains(string(raw), "                    ") {
			return // they take back what was not delivered yet
		}
		var whole screen
		want, used := clean(raw, &whole, 1<<30)
		var got []byte
		var s screen
		for at, seen := 0, 0; at < used; {
			seen = min(len(raw), max(seen, at)+int(step)+1)
			text, n := clean(raw[at:seen], &s, int(limit)+1)
			got = append(got, text...)
			at += n
			if n == 0 && seen == len(raw) {
				break
			}
		}
		if string(got) != string(want) || s != whole {
			t.Errorf("%q: %q in pieces, %q as a whole", raw, got, want)
		}
	})
}
