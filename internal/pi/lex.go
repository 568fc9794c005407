package pi

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// errLine says that the line at hand is no JSON, or ends too early.
var errLine = errors.New("malformed line")

// errEnough ends the reading of a line of which everything needed is known.
var errEnough = errors.New("enough of this line")

const (
	lexBuffer = 64 << 10
	maxKey    = 256
	maxScalar = 64
)

// lexer reads JSON values from a stream of lines in pieces: what it holds does
// not depend on the length of a line, nor on how deep its values are nested. No
// function goes past the end of the line; a line feed inside a value is
// errLine, because JSON has none there.
type lexer struct {
	src io.Reader
	buf []byte
	pos int
	end int
	err error // of src, final
}

func newLexer(src io.Reader) *lexer { return &lexer{src: src, buf: make([]byte, lexBuffer)} }

// fill makes at least one byte available; false at the end of the stream.
func (l *lexer) fill() bool {
	for l.pos == l.end && l.err == nil {
		l.pos = 0
		l.end, l.err = l.src.Read(l.buf)
	}
	return l.pos < l.end
}

// more is fill for the inside of a line.
func (l *lexer) more() error {
	if !l.fill() {
		return errLine
	}
	return nil
}

// head returns up to n bytes of what is to be read next, without a line feed.
func (l *lexer) head(n int) string {
	if !l.fill() {
		return ""
	}
	b := l.buf[l.pos:min(l.end, l.pos+n)]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// endLine goes behind the next line feed; false when the stream ends first.
func (l *lexer) endLine() bool {
	for l.fill() {
		if i := bytes.IndexByte(l.buf[l.pos:l.end], '\n'); i >= 0 {
			l.pos += i + 1
			return true
		}
		l.pos = l.end
	}
	return false
}

// kind returns the first byte of the next value, white space passed.
func (l *lexer) kind() (byte, error) {
	for {
		if err := l.more(); err != nil {
			return 0, err
		}
		switch c := l.buf[l.pos]; c {
		case ' ', '\t', '\r':
			l.pos++
		case '\n':
			return 0, errLine
		default:
			return c, nil
		}
	}
}

// take passes the byte c, which has to come next.
func (l *lexer) take(c byte) error {
	k, err := l.kind()
	if err != nil {
		return err
	}
	if k != c {
		return errLine
	}
	l.pos++
	return nil
}

// object reads an object and calls f for each key, which has to read or skip
// the value. A value of another kind is skipped.
func (l *lexer) object(f func(key string) error) error {
	k, err := l.kind()
	if err != nil {
		return err
	}
	if k != '{' {
		return l.skip()
	}
	l.pos++
	for first := true; ; first = false {
		if k, err = l.kind(); err != nil {
			return err
		}
		switch {
		case k == '}':
			l.pos++
			return nil
		case !first:
			if err := l.take(','); err != nil {
				return err
			}
		}
		key, err := l.text(maxKey)
		if err != nil {
			return err
		}
		if err := l.take(':'); err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
}

// array reads an array and calls f for each element, which has to read or skip
// it. A value of another kind is skipped.
func (l *lexer) array(f func() error) error {
	k, err := l.kind()
	if err != nil {
		return err
	}
	if k != '[' {
		return l.skip()
	}
	l.pos++
	for first := true; ; first = false {
		if k, err = l.kind(); err != nil {
			return err
		}
		switch {
		case k == ']':
			l.pos++
			return nil
		case !first:
			if err := l.take(','); err != nil {
				return err
			}
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// text reads a string and returns its first limit bytes, cut at a character.
// A number, true or false is returned as it stands, null as "", and of another
// value nothing.
func (l *lexer) text(limit int) (string, error) {
	k, err := l.kind()
	if err != nil {
		return "", err
	}
	switch k {
	case '"':
	case '{', '[':
		return "", l.skip()
	default:
		s, err := l.scalar()
		if s == "null" {
			s = ""
		}
		return s, err
	}
	var b strings.Builder
	full := false
	err = l.decode(func(piece []byte) {
		if full {
			return
		}
		if b.Len()+len(piece) > limit {
			full = true
			piece = piece[:limit-b.Len()]
		}
		b.Write(piece)
	})
	s := b.String()
	if full {
		s = cut(s)
	}
	return s, err
}

// cut takes a character off the end of s that is not whole.
func cut(s string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// scalar reads a number or a word.
func (l *lexer) scalar() (string, error) {
	var b [maxScalar]byte
	n := 0
	for {
		if !l.fill() {
			break
		}
		c := l.buf[l.pos]
		if c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			break
		}
		if c == '"' || c == '{' || c == '[' || c == ':' {
			return "", errLine
		}
		if n < len(b) {
			b[n] = c
			n++
		}
		l.pos++
	}
	if n == 0 {
		return "", errLine
	}
	return string(b[:n]), nil
}

// decode reads a string and gives its bytes to put in pieces that are valid
// until put returns.
func (l *lexer) decode(put func([]byte)) error {
	if err := l.take('"'); err != nil {
		return err
	}
	var half uint16 // first half of a surrogate pair
	var room [2 * utf8.UTFMax]byte
	flush := func() {
		if half != 0 {
			half = 0
			put(utf8.AppendRune(room[:0], utf8.RuneError))
		}
	}
	for {
		if err := l.more(); err != nil {
			return err
		}
		b := l.buf[l.pos:l.end]
		i := 0
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] != '\n' {
			i++
		}
		if i > 0 {
			flush()
			put(b[:i])
			l.pos += i
			continue
		}
		switch b[0] {
		case '\n':
			return errLine
		case '"':
			flush()
			l.pos++
			return nil
		}
		l.pos++
		c, err := l.byte()
		if err != nil {
			return err
		}
		if c != 'u' {
			flush()
			if c, err = unescape(c); err != nil {
				return err
			}
			put(append(room[:0], c))
			continue
		}
		u, err := l.hex4()
		if err != nil {
			return err
		}
		switch {
		case half != 0 && u >= 0xDC00 && u < 0xE000:
			r := utf16.DecodeRune(rune(half), rune(u))
			half = 0
			put(utf8.AppendRune(room[:0], r))
		case u >= 0xD800 && u < 0xDC00:
			flush()
			half = u
		default:
			flush()
			put(utf8.AppendRune(room[:0], rune(u))) // a lone second half becomes U+FFFD
		}
	}
}

func unescape(c byte) (byte, error) {
	switch c {
	case '"', '\\', '/':
		return c, nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	return 0, errLine
}

// byte reads one byte of a line.
func (l *lexer) byte() (byte, error) {
	if err := l.more(); err != nil {
		return 0, err
	}
	c := l.buf[l.pos]
	if c == '\n' {
		return 0, errLine
	}
	l.pos++
	return c, nil
}

func (l *lexer) hex4() (uint16, error) {
	var u uint16
	for range 4 {
		c, err := l.byte()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errLine
		}
		u = u<<4 | uint16(c)
	}
	return u, nil
}

// skip passes a value of any kind. Whether its brackets match in kind is not
// looked at.
func (l *lexer) skip() error {
	for depth := 0; ; {
		k, err := l.kind()
		if err != nil {
			return err
		}
		switch k {
		case '"':
			if err := l.skipText(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			l.pos++
		case '}', ']':
			if depth--; depth < 0 {
				return errLine
			}
			l.pos++
		case ',', ':':
			if depth == 0 {
				return errLine
			}
			l.pos++
			continue
		default:
			if _, err := l.scalar(); err != nil {
				return err
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// skipText passes a string.
func (l *lexer) skipText() error {
	l.pos++ // the quote
	for escaped := false; ; {
		if err := l.more(); err != nil {
			return err
		}
		b := l.buf[l.pos:l.end]
		for i, c := range b {
			switch {
			case c == '\n':
				l.pos += i
				return errLine
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				l.pos += i + 1
				return nil
			}
		}
		l.pos = l.end
	}
}
