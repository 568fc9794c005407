package herdr

import (
	"strings"
	"unicode"
)

// Cut folds white space in s, drops what is not printable, and cuts it to at
// most cells columns of a terminal, between characters as a person sees them;
// what was cut is shown by a final "…", which counts.
func Cut(s string, cells int) string {
	s = strings.Join(strings.Fields(strings.Map(printable, s)), " ")
	if len(s) <= cells {
		return s // a character never takes more columns than bytes
	}
	used, fits, rest := 0, 0, []rune(s)
	var out strings.Builder
	for i := 0; i < len(rest); {
		n, w := grapheme(rest[i:])
		used += w
		if used <= cells-1 {
			fits = i + n
		}
		i += n
	}
	if used <= cells {
		return s
	}
	for _, r := range rest[:fits] {
		out.WriteRune(r)
	}
	return out.String() + "…"
}

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == joiner || unicode.IsGraphic(r):
		return r
	}
	return -1
}

const joiner = '\u200d'

// grapheme returns how many runes the first character of s has, and its columns.
func grapheme(s []rune) (n, width int) {
	width = runeWidth(s[0])
	for n = 1; n < len(s); n++ {
		switch r := s[n]; {
		case r == joiner && n+1 < len(s):
			n++ // joins the next one too
			width = max(width, runeWidth(s[n]))
		case r == '\ufe0f': // shown as a picture
			width = 2
		case unicode.In(r, unicode.Mn, unicode.Me), 0x1f3fb <= r && r <= 0x1f3ff:
		case isFlagLetter(r) && isFlagLetter(s[0]) && n == 1:
			width = 2
		default:
			return n, width
		}
	}
	return n, width
}

func isFlagLetter(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, 0x2e80 <= r && r <= 0xa4cf, 0xac00 <= r && r <= 0xd7a3, 0xf900 <= r && r <= 0xfaff,
		0xfe30 <= r && r <= 0xfe6f, 0xff00 <= r && r <= 0xff60, 0xffe0 <= r && r <= 0xffe6,
		0x1f300 <= r && r <= 0x1f64f, 0x1f680 <= r && r <= 0x1f6ff, 0x1f900 <= r && r <= 0x1faff, 0x20000 <= r && r <= 0x3fffd:
		return 2
	}
	return 1
}
