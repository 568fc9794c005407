package render

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWidth(t *testing.T) {
	tests := []struct {
		name, s string
		want    int
	}{
		{"empty", "", 0},
		{"ascii", "claim t_12", 10},
		{"control characters", "a\x1b\tb\x7f", 2},
		{"latin", "naïve café", 10},
		{"combining mark", "e\u0301a", 2},
		{"combining mark on its own", "\u0301", 0},
		{"mark on ascii at the end", "cafe\u0301", 4},
		{"chinese", "漢字", 4},
		{"japanese mixed", "タスクt_1", 9},
		{"halfwidth kana", "ｱｲｳ", 3},
		{"fullwidth letters", "ＡＢ", 4},
		{"korean", "한국어", 6},
		{"korean in parts", "\u1112\u1161\u11ab", 2},
		{"emoji", "🚀", 2},
		{"emoji with skin tone", "👍🏽", 2},
		{"family of three joined", "👩‍👩‍👧", 2},
		{"joined with a narrow sign", "🤷‍♀️", 2},
		{"heart as text", "❤", 1},
		{"heart as emoji", "❤\ufe0f", 2},
		{"keycap", "1\ufe0f\u20e3", 2},
		{"flag", "🇩🇪", 2},
		{"two flags", "🇩🇪🇫🇷", 4},
		{"hebrew with points", "שָׁלוֹם", 4},
		{"arabic", "مرحبا", 5},
		{"arabic number sign is visible", "\u0600", 1},
		{"joiner between letters", "a\u200db", 2},
		{"zero width space", "a\u200bb", 2},
		{"devanagari with a spacing vowel", "नि", 2},
		{"thai", "กำ", 2},
		{"our symbols", "✓✗○●◐…·", 7},
		{"soft hyphen", "a\u00adb", 3},
		{"not utf-8", "a\xffb", 3},
		{"cjk beyond the basic plane", "𠀀", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Width(tt.s); got != tt.want {
				t.Errorf("Width(%q) = %d, want %d", tt.s, got, tt.want)
			}
		})
	}
}

func TestTableOfWideCharactersIsSorted(t *testing.T) {
	for i, r := range wide {
		if r.first > r.last {
			t.Errorf("range %d is empty: %#x > %#x", i, r.first, r.last)
		}
		if i > 0 && r.first <= wide[i-1].last {
			t.Errorf("range %d (%#x) begins before the end of the one before", i, r.first)
		}
	}
}

func TestTruncate(t *testing.T) {
	tests := []struct {
		s     string
		cells int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"exactly ten", 10, "exactly t…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -3, ""},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字漢…"},
		{"漢字漢字", 6, "漢字…"}, // three do not fit beside the sign
		{"漢字", 2, "…"},
		{"👩‍👩‍👧 family", 5, "👩‍👩‍👧 f…"},
		{"🇩🇪🇫🇷🇮🇹", 5, "🇩🇪🇫🇷…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"שלום עולם", 6, "שלום …"},
	}
	for _, tt := range tests {
		got := Truncate(tt.s, tt.cells)
		if got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.s, tt.cells, got, tt.want)
		}
		if w := Width(got); w > max(tt.cells, 0) {
			t.Errorf("Truncate(%q, %d) takes %d cells", tt.s, tt.cells, w)
		}
	}
}

func TestFoldAndPad(t *testing.T) {
	if got := Fold("  two\n\n lines\tand\u00a0more \r\n"); got != "two lines and more" {
		t.Errorf("Fold = %q", got)
	}
	if got := Fold("plain"); got != "plain" {
		t.Errorf("Fold = %q", got)
	}
	if got := Pad("漢", 4) + "|"; got != "漢  |" {
		t.Errorf("Pad = %q", got)
	}
	if got := PadLeft("7", 3); got != "  7" {
		t.Errorf("PadLeft = %q", got)
	}
	if got := Pad("longer", 3); got != "longer" {
		t.Errorf("Pad = %q", got)
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		s     string
		cells int
		want  string
	}{
		{"one two three", 8, "one two|three"},
		{"one two three", 0, "one two three"},
		{"  indented text here", 10, "  indented|  text|  here"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"a abcdefgh b", 4, "a|abcd|efgh|b"},
		{"漢字漢字", 5, "漢字|漢字"},
		{"漢", 1, "漢"}, // wider than the line, and still shown
		{"keep\n\nbreaks", 20, "keep||breaks"},
	}
	for _, tt := range tests {
		if got := strings.Join(Wrap(tt.s, tt.cells), "|"); got != tt.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.s, tt.cells, got, tt.want)
		}
	}
}

// Cutting never makes text longer than allowed, never splits a character and
// never invalidates UTF-8.
func FuzzTruncate(f *testing.F) {
	for _, s := range []string{"plain", "漢字", "👩‍👩‍👧👍🏽", "🇩🇪🇫", "e\u0301\u0301", "a\u200d\ufe0f", "\xff\xfe漢"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cells int) {
		cells %= 100
		got := Truncate(s, cells)
		if w := Width(got); w > max(cells, 0) {
			t.Errorf("Truncate(%q, %d) = %q takes %d cells", s, cells, got, w)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("Truncate(%q, %d) = %q is not UTF-8", s, cells, got)
		}
		if cells > 0 && Width(s) <= cells && got != s {
			t.Errorf("Truncate(%q, %d) = %q cuts what fits", s, cells, got)
		}
		for _, line := range Wrap(s, cells) {
			if w := Width(line); cells >= 2 && w > max(cells, 2) && !strings.HasPrefix(line, "  ") {
				t.Errorf("Wrap(%q, %d) has a line of %d cells: %q", s, cells, w, line)
			}
		}
	})
}
