package render

import (
	"unicode"
	"unicode/utf8"
)

const (
	zwj              = 0x200D // joins two characters into one picture
	emojiSelector    = 0xFE0F // asks for the emoji picture of the character before it
	firstSkinTone    = 0x1F3FB
	lastSkinTone     = 0x1F3FF
	firstRegional    = 0x1F1E6
	lastRegional     = 0x1F1FF
	firstHangulVowel = 0x1160
	lastHangulFinal  = 0x11FF
)

// Width returns the number of terminal cells that s takes. Control characters
// count as nothing: make text safe before it is measured.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		size, w := cluster(s[i:])
		i += size
		n += w
	}
	return n
}

// cluster returns the bytes and the cells of the first character that a reader
// sees in s: a base with the marks on it, a flag of two letters, or pictures
// joined into one. s is not empty.
func cluster(s string) (size, width int) {
	if s[0] < utf8.RuneSelf {
		size = 1
		if s[0] >= ' ' && s[0] != 0x7F {
			width = 1
		}
		if len(s) == 1 || s[1] < utf8.RuneSelf {
			return size, width
		}
		return extend(s, size, width)
	}
	r, size := utf8.DecodeRuneInString(s)
	width = runeWidth(r)
	if isRegional(r) {
		if next, n := utf8.DecodeRuneInString(s[size:]); isRegional(next) {
			size += n
		}
		width = 2
	}
	return extend(s, size, width)
}

// extend adds to a cluster of size bytes what follows and belongs to it.
func extend(s string, size, width int) (int, int) {
	for size < len(s) && s[size] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(s[size:])
		switch {
		case r == zwj:
			size += n
			// What is joined to a picture takes no room of its own.
			if next, m := utf8.DecodeRuneInString(s[size:]); width == 2 && m > 0 && isPicture(next) {
				size += m
			}
		case r == emojiSelector:
			size += n
			if width == 1 {
				width = 2
			}
		case r >= firstSkinTone && r <= lastSkinTone && width == 2:
			size += n
		case r != utf8.RuneError && runeWidth(r) == 0:
			size += n
		default:
			return size, width
		}
	}
	return size, width
}

func isRegional(r rune) bool { return r >= firstRegional && r <= lastRegional }

// isPicture reports whether r can be the later part of a joined emoji: the
// wide pictures, and the narrow signs (heart, gender signs, ...) of the blocks
// of symbols.
func isPicture(r rune) bool {
	return r >= 0x2190 && r <= 0x2BFF || r >= 0x1F000 && r <= 0x1FAFF
}

// runeWidth returns the cells of r on its own: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case r < ' ' || r >= 0x7F && r < 0xA0:
		return 0
	case r < 0x300:
		return 1 // the soft hyphen among them: terminals show it
	case r >= firstHangulVowel && r <= lastHangulFinal, r >= 0xD7B0 && r <= 0xD7FB:
		return 0 // these complete the syllable block before them
	case isPrepended(r):
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isWide(r):
		return 2
	}
	return 1
}

// isPrepended names the format characters that are visible signs.
func isPrepended(r rune) bool {
	return r >= 0x600 && r <= 0x605 || r == 0x6DD || r == 0x70F || r == 0x890 || r == 0x891 || r == 0x8E2 || r == 0x110BD || r == 0x110CD
}

// isWide looks r up in the table of wide characters.
func isWide(r rune) bool {
	if r < wide[0].first {
		return false
	}
	lo, hi := 0, len(wide)
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < wide[mid].first:
			hi = mid
		case r > wide[mid].last:
			lo = mid + 1
		default:
			return true
		}
	}
	return false
}
