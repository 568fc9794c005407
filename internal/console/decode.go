package console

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The messages that come from the terminal.
type (
	// keyMsg is one key. key names it ("a", "enter", "ctrl+c", "shift+up"); text
	// is what it types, "" for nothing.
	keyMsg struct{ key, text string }
	// pasteMsg is text that was pasted.
	pasteMsg string
	// mouseMsg is a press of a button or a step of the wheel, in the cell x, y,
	// which count from 0.
	mouseMsg struct {
		x, y   int
		button button
	}
	// sizeMsg is the size of the screen in cells.
	sizeMsg struct{ width, height int }
)

type button int

const (
	otherButton button = iota
	leftButton
	wheelUp
	wheelDown
)

const (
	esc         = 0x1b
	maxSequence = 64      // bytes of an escape sequence
	maxPaste    = 1 << 20 // bytes of one paste that are kept
	pasteEnd    = "\x1b[201~"
)

// decoder makes messages of what a terminal sends.
type decoder struct {
	buf     []byte
	pasting bool
	paste   []byte
}

// feed takes bytes and returns the messages that are complete.
func (d *decoder) feed(data []byte) (out []any) {
	d.buf = append(d.buf, data...)
	for len(d.buf) > 0 {
		n, msg := d.next()
		if n == 0 {
			break
		}
		d.buf = d.buf[n:]
		if msg != nil {
			out = append(out, msg)
		}
	}
	return out
}

// waiting reports whether bytes are left that could be the start of something,
// such as an escape key that was pressed.
func (d *decoder) waiting() bool { return len(d.buf) > 0 && !d.pasting }

// flush takes what is left as it is: nothing followed in time.
func (d *decoder) flush() (out []any) {
	if len(d.buf) > 0 && d.buf[0] == esc && !d.pasting {
		out = append(out, keyMsg{key: "esc"})
		if d.buf = d.buf[1:]; len(d.buf) > 0 && d.buf[0] != esc {
			// The rest of a sequence that was cut off is nothing that was typed.
			d.buf = d.buf[:0]
		}
		return append(out, d.flush()...)
	}
	if !d.pasting {
		d.buf = d.buf[:0]
	}
	return out
}

// next decodes what the buffer begins with: how many bytes that is, 0 when more
// have to come, and the message, nil for none.
func (d *decoder) next() (int, any) {
	if d.pasting {
		return d.nextPaste()
	}
	b := d.buf
	switch c := b[0]; {
	case c == esc:
		return d.escape()
	case c == '\r':
		return 1, keyMsg{key: "enter"}
	case c == '\t':
		return 1, keyMsg{key: "tab"}
	case c == 0x7f:
		return 1, keyMsg{key: "backspace"}
	case c == 0:
		return 1, keyMsg{key: "ctrl+space"}
	case c <= 26:
		return 1, keyMsg{key: "ctrl+" + string(rune('a'+c-1))}
	case c < ' ':
		return 1, nil
	case c == ' ':
		return 1, keyMsg{key: "space", text: " "}
	}
	if !utf8.FullRune(b) {
		return 0, nil
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || unicode.IsControl(r) {
		return n, nil
	}
	s := string(r)
	return n, keyMsg{key: s, text: s}
}

// escape decodes what begins with an escape character.
func (d *decoder) escape() (int, any) {
	b := d.buf
	if len(b) == 1 {
		return 0, nil
	}
	switch b[1] {
	case '[':
		return d.csi()
	case 'O':
		if len(b) < 3 {
			return 0, nil
		}
		return 3, named(finalKey(b[2]), 0)
	case ']', 'P', '_', '^', 'X':
		return skipString(b)
	case esc:
		return 1, keyMsg{key: "esc"}
	}
	// Alt and a key.
	sub := decoder{buf: b[1:]}
	n, msg := sub.next()
	if n == 0 {
		return 0, nil
	}
	if k, ok := msg.(keyMsg); ok {
		return 1 + n, keyMsg{key: "alt+" + k.key}
	}
	return 1 + n, nil
}

// csi decodes a control sequence: ESC [ parameters final.
func (d *decoder) csi() (int, any) {
	b := d.buf
	if len(b) > 2 && b[2] == 'M' { // a mouse of the old kind, three bytes
		if len(b) < 6 {
			return 0, nil
		}
		return 6, nil
	}
	end := 2
	for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) {
		if b[end] < 0x20 || end > maxSequence {
			return end, nil // none, or nonsense
		}
		end++
	}
	if end == len(b) {
		return 0, nil
	}
	params, final, n := string(b[2:end]), b[end], end+1
	if strings.HasPrefix(params, "<") {
		return n, mouse(params[1:], final)
	}
	first, second, _ := strings.Cut(params, ";")
	mod := 0
	if m, err := strconv.Atoi(second); err == nil {
		mod = m - 1
	}
	switch final {
	case '~':
		if first == "200" {
			d.pasting, d.paste = true, nil
			return n, nil
		}
		return n, named(tildeKey(first), mod)
	case 'Z':
		return n, keyMsg{key: "shift+tab"}
	}
	return n, named(finalKey(final), mod)
}

// named is a key with its modifiers; nil when there is no such key.
func named(key string, mod int) any {
	if key == "" {
		return nil
	}
	if mod&4 != 0 {
		key = "ctrl+" + key
	}
	if mod&2 != 0 {
		key = "alt+" + key
	}
	if mod&1 != 0 {
		key = "shift+" + key
	}
	return keyMsg{key: key}
}

func finalKey(c byte) string {
	switch c {
	case 'A':
		return "up"
	case 'B':
		return "down"
	case 'C':
		return "right"
	case 'D':
		return "left"
	case 'H':
		return "home"
	case 'F':
		return "end"
	case 'M':
		return "enter"
	case 'P':
		return "f1"
	}
	return ""
}

func tildeKey(number string) string {
	switch number {
	case "1", "7":
		return "home"
	case "4", "8":
		return "end"
	case "3":
		return "delete"
	case "5":
		return "pgup"
	case "6":
		return "pgdown"
	case "11":
		return "f1"
	}
	return ""
}

// mouse decodes button;column;row of the SGR form. Releases and motions are no
// messages.
func mouse(params string, final byte) any {
	var n [3]int
	parts := strings.Split(params, ";")
	if len(parts) != 3 || final != 'M' {
		return nil
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return nil
		}
		n[i] = v
	}
	msg := mouseMsg{x: n[1] - 1, y: n[2] - 1}
	if n[0]&32 != 0 {
		return nil
	}
	switch n[0] &^ (4 | 8 | 16) { // whatever is held with it
	case 0:
		msg.button = leftButton
	case 64:
		msg.button = wheelUp
	case 65:
		msg.button = wheelDown
	default:
		return nil
	}
	return msg
}

// skipString passes over the answer of a terminal to a question that somebody
// asked: up to BEL or ESC \.
func skipString(b []byte) (int, any) {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == 0x07:
			return i + 1, nil
		case b[i] == esc && i+1 < len(b) && b[i+1] == '\\':
			return i + 2, nil
		case i > 4096:
			return i, nil
		}
	}
	return 0, nil
}

// nextPaste collects pasted text up to its end.
func (d *decoder) nextPaste() (int, any) {
	n, done := len(d.buf), false
	if i := bytes.Index(d.buf, []byte(pasteEnd)); i >= 0 {
		n, done = i, true
	} else {
		n = max(n-len(pasteEnd)+1, 0) // the end may be coming
	}
	d.paste = append(d.paste, d.buf[:min(n, max(maxPaste-len(d.paste), 0))]...)
	if !done {
		return n, nil
	}
	text := strings.ToValidUTF8(string(d.paste), "")
	d.pasting, d.paste = false, nil
	return n + len(pasteEnd), pasteMsg(text)
}
