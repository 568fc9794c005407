package render

import (
	"strings"
	"unicode"
)

const ellipsis = "…"

// Truncate cuts s to at most cells display cells; what was cut is shown by a
// final "…", which counts. Nothing is left when cells is not positive.
func Truncate(s string, cells int) string {
	if cells <= 0 {
		return ""
	}
	if len(s) <= cells || Width(s) <= cells {
		// A character never takes more cells than bytes.
		return s
	}
	used, end := 0, 0
	for end < len(s) {
		size, w := cluster(s[end:])
		if used+w > cells-1 {
			break
		}
		used += w
		end += size
	}
	return s[:end] + ellipsis
}

// Fold joins the lines and words of s with single spaces: every run of white
// space becomes one space, and none is left at the ends.
func Fold(s string) string {
	if !strings.ContainsFunc(s, unicode.IsSpace) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Pad adds spaces on the right until s takes cells display cells. A longer s
// is left alone.
func Pad(s string, cells int) string {
	if n := cells - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// PadLeft adds the spaces on the left, for numbers.
func PadLeft(s string, cells int) string {
	if n := cells - Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

// Wrap breaks s into lines of at most cells display cells, between words where
// that is possible and inside a word that is longer than a line. The line
// breaks that s has are kept; cells below 1 wraps nothing.
func Wrap(s string, cells int) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if cells < 1 || Width(line) <= cells {
			out = append(out, strings.TrimRight(line, " "))
			continue
		}
		out = append(out, wrapLine(line, cells)...)
	}
	return out
}

func wrapLine(line string, cells int) (out []string) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	cur, used := indent, Width(indent)
	empty := true
	for _, word := range strings.Fields(line) {
		w := Width(word)
		if !empty && used+1+w > cells {
			out = append(out, cur)
			cur, used, empty = indent, Width(indent), true
		}
		if !empty {
			cur += " "
			used++
		}
		for used+w > cells && empty {
			// A word longer than a line is broken, at least one character a line.
			head := takeCells(word, cells-used)
			out = append(out, cur+head)
			word = word[len(head):]
			w -= Width(head)
			cur, used = indent, Width(indent)
		}
		cur += word
		used += w
		empty = word == ""
	}
	if !empty || len(out) == 0 {
		out = append(out, cur)
	}
	return out
}

// takeCells returns the longest start of s within cells, and at least one
// character.
func takeCells(s string, cells int) string {
	used, end := 0, 0
	for end < len(s) {
		size, w := cluster(s[end:])
		if end > 0 && used+w > cells {
			break
		}
		used += w
		end += size
	}
	return s[:end]
}
