package console

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

// maxCell is how many bytes of one text are looked at for a row.
const maxCell = 4096

// line makes one harmless line of any text.
func line(s string) string {
	if len(s) > maxCell {
		s = s[:maxCell]
	}
	return render.Fold(apart(fsx.SafeLine(s)))
}

// block makes harmless lines of any text; tabs become spaces.
func block(s string) string {
	return apart(strings.ReplaceAll(fsx.SafeText(s), "\t", "    "))
}

// apart takes apart what terminals join, or not, into pictures of another
// width: joiners, selectors and skin tones go, and the letters of a flag become
// letters. What is left has one width everywhere.
func apart(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x300:
			return r
		case r >= 0x1F1E6 && r <= 0x1F1FF:
			return 'A' + r - 0x1F1E6
		case r >= 0x1F3FB && r <= 0x1F3FF, r == 0x20E3, unicode.Is(unicode.Variation_Selector, r):
			return -1
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point):
			return -1
		case r >= 0x1160 && r <= 0x11FF, r >= 0xD7B0 && r <= 0xD7FB:
			return -1 // parts of a Korean syllable: blocks of their own on some terminals
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// age says how long ago something was, in at most five cells.
func age(now time.Time, ms int64) string {
	if ms <= 0 {
		return ""
	}
	d := max(now.Sub(time.UnixMilli(ms)), 0)
	switch {
	case d < time.Minute:
		return "now"
	case d > 90*24*time.Hour:
		return ">90d"
	}
	return strings.TrimSuffix(render.Ago(now, time.UnixMilli(ms)), " ago")
}

func itoa(n int) string { return strconv.Itoa(n) }

func safeLine(s string) string { return fsx.SafeLine(s) }

// count writes a number and what it counts.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(n) + " " + many
}

// look is how a piece of text looks; without colours all are plain.
type look uint8

const (
	plain look = iota
	bold
	dim
	red
	green
	yellow
	cyan
	inverse
)

func (l look) sgr() string {
	switch l {
	case bold:
		return "\x1b[1m"
	case dim:
		return "\x1b[2m"
	case red:
		return "\x1b[31m"
	case green:
		return "\x1b[32m"
	case yellow:
		return "\x1b[33m"
	case cyan:
		return "\x1b[36m"
	case inverse:
		return "\x1b[7m"
	}
	return ""
}

// lookOf is the look of a style of render.
func lookOf(s render.Style) look {
	switch s {
	case render.Bold:
		return bold
	case render.Dim:
		return dim
	case render.Red:
		return red
	case render.Green:
		return green
	case render.Yellow:
		return yellow
	case render.Blue, render.Cyan:
		return cyan
	}
	return plain
}

// paint gives text a look. The text is harmless already.
func (m *model) paint(l look, s string) string {
	if !m.o.Color || l == plain || s == "" {
		return s
	}
	return l.sgr() + s + "\x1b[0m"
}
