package term

import (
	"unicode/utf8"
)

// screen is what has to be known of the output before a place in it.
type screen struct {
	Alt bool `json:"alt,omitempty"` // a program draws on the alternate screen
	Mid bool `json:"mid,omitempty"` // the place is within a line
}

// maxSequence is the longest escape sequence that is waited for.
const maxSequence = 64 << 10

// clean makes text of raw output: without escape sequences and control
// characters, without what was drawn on the alternate screen, and with one kind
// of line break. It stops before limit characters more would be too many, and
// before what is not complete yet: a sequence, a character, a line break. It
// returns how many bytes it has used; called again with what follows, and with
// the same screen, it goes on as if it had had all at once.
func clean(raw []byte, s *screen, limit int) (text []byte, used int) {
	chars, lineAt := 0, 0
	put := func(b ...byte) {
		if s.Alt {
			return
		}
		text = append(text, b...)
		chars++
		if s.Mid = b[len(b)-1] != '\n'; !s.Mid {
			lineAt = len(text)
		}
	}
	for used < len(raw) && chars < limit {
		rest := raw[used:]
		switch c := rest[0]; {
		case c == 0x1b:
			n, mode := escape(rest)
			if n == 0 {
				return text, used // the rest of it is to come
			}
			used += n
			switch mode {
			case 'h':
				s.Alt = true
			case 'l':
				s.Alt = false
			}
		case c == '\r':
			n := 1
			for n < len(rest) && rest[n] == '\r' {
				n++
			}
			if n == len(rest) {
				return text, used
			}
			used += n
			if rest[n] != '\n' && s.Mid {
				put('\n') // the line is written over: both are shown
			}
		case c == ' ':
			n, erased, known := erasure(rest)
			if !known {
				return text, used
			}
			if !erased {
				used++
				put(' ')
				break
			}
			used += n
			if s.Mid {
				put('\n')
			}
		case c == '\n', c == '\v', c == '\f':
			used++
			put('\n')
		case c == '\b':
			used++
			if !s.Alt && len(text) > lineAt {
				_, n := utf8.DecodeLastRune(text)
				text = text[:len(text)-n]
			}
		case c == '\t':
			used++
			put('\t')
		case c < ' ', c == 0x7f:
			used++
		case c < utf8.RuneSelf:
			used++
			put(c)
		default:
			if !utf8.FullRune(rest) {
				return text, used
			}
			r, n := utf8.DecodeRune(rest)
			used += n
			if r >= 0xa0 {
				put(utf8.AppendRune(nil, r)...)
			}
		}
	}
	return text, used
}

// erasure looks at spaces that fill a line and are written over, by which zsh
// makes sure that its prompt begins a line: n is how long that is. It is not
// known while more of it may come.
func erasure(raw []byte) (n int, erased, known bool) {
	for n < len(raw) && raw[n] == ' ' {
		n++
	}
	if n < 20 {
		return 0, false, true
	}
	returns := 0
	for n < len(raw) && (raw[n] == '\r' || raw[n] == ' ' && returns > 0 && n+1 < len(raw) && raw[n+1] == '\r') {
		returns++
		n++
	}
	switch {
	case n == len(raw), raw[n] == ' ' && returns > 0 && n+1 == len(raw):
		return 0, false, false
	case returns == 0, raw[n] == '\n':
		return 0, false, true
	}
	return n, true, true
}

// escape returns the length of the escape sequence that raw begins with, 0 when
// more of it is to come, and 'h' or 'l' when it switches to the alternate screen
// or back.
func escape(raw []byte) (n int, mode byte) {
	if len(raw) < 2 {
		return 0, 0
	}
	switch raw[1] {
	case '[':
		for i := 2; i < len(raw); i++ {
			if c := raw[i]; c >= 0x40 && c <= 0x7e {
				if (c == 'h' || c == 'l') && isAltMode(raw[2:i]) {
					mode = c
				}
				return i + 1, mode
			} else if c < 0x20 || c > 0x7e {
				return i, 0 // broken off
			}
		}
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(raw); i++ {
			switch {
			case raw[i] == 0x07:
				return i + 1, 0
			case raw[i] == 0x1b && i+1 < len(raw):
				if raw[i+1] == '\\' {
					return i + 2, 0
				}
				return i, 0 // broken off by another one
			case raw[i] == '\n' || raw[i] == 0x18 || raw[i] == 0x1a:
				return i, 0
			}
		}
	case '(', ')', '*', '+', '-', '.', '/', '#', '%', ' ':
		if len(raw) > 2 {
			return 3, 0
		}
	default:
		if c := raw[1]; c < 0x20 || c > 0x7e {
			return 1, 0
		}
		return 2, 0
	}
	if len(raw) > maxSequence {
		return len(raw), 0
	}
	return 0, 0
}

// isAltMode reports whether the parameters of a mode name the alternate screen.
func isAltMode(params []byte) bool {
	if len(params) == 0 || params[0] != '?' {
		return false
	}
	number := 0
	for _, c := range append(params[1:len(params):len(params)], ';') {
		switch {
		case c >= '0' && c <= '9' && number < 1<<20:
			number = number*10 + int(c-'0')
		case c == ';':
			if number == 47 || number == 1047 || number == 1049 {
				return true
			}
			number = 0
		}
	}
	return false
}
