package fsx

import (
	"strings"
	"unicode/utf8"
)

// SafeLine makes s harmless on one line of a terminal: newlines, carriage
// returns and tabs become blanks, other control characters (ESC among them)
// become visible signs, and C1 controls, bidirectional controls and bytes that
// are not UTF-8 become U+FFFD. The result is valid UTF-8.
func SafeLine(s string) string {
	if i := unsafeAt(s, false); i >= 0 {
		return sanitize(s, i, false)
	}
	return s
}

// SafeText is SafeLine for text of several lines: newlines and tabs stay, and
// a carriage return before a newline is dropped.
func SafeText(s string) string {
	if i := unsafeAt(s, true); i >= 0 {
		return sanitize(s, i, true)
	}
	return s
}

// unsafeAt returns the index of the first byte that needs a closer look, -1
// when all of s is printable ASCII.
func unsafeAt(s string, text bool) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c-' ' < 0x7f-' ' || text && (c == '\n' || c == '\t') {
			continue
		}
		return i
	}
	return -1
}

// sanitize copies s, from byte i on with replacements.
func sanitize(s string, i int, text bool) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '\n' || r == '\t':
			if text {
				b.WriteByte(byte(r))
			} else {
				b.WriteByte(' ')
			}
		case r == '\r' && text:
			// A lone one would let the line overwrite itself.
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteRune(picture(r))
			}
		case r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case r < ' ' || r == 0x7f:
			b.WriteRune(picture(r))
		case r < 0x7f:
			b.WriteByte(byte(r))
		case r < 0xa0 || isBidi(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r) // U+FFFD for a byte that is not UTF-8
		}
		i += n
	}
	return b.String()
}

// picture returns the visible sign of a C0 control or DEL.
func picture(r rune) rune {
	if r == 0x7f {
		return '\u2421'
	}
	return '\u2400' + r
}

// isBidi reports whether r changes the direction of the text around it.
func isBidi(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' ||
		r == '\u200e' || r == '\u200f' || r == '\u061c'
}
