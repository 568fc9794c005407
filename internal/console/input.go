package console

import (
	"strings"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/render"
)

// editor is a line that is being typed.
type editor struct {
	text []rune
	at   int // the cursor, an index of text
}

func newEditor(text string) editor {
	r := []rune(text)
	return editor{text: r, at: len(r)}
}

func (e *editor) String() string { return string(e.text) }

// insert puts text at the cursor. What is no text is left out; line breaks stay.
func (e *editor) insert(s string) {
	add := make([]rune, 0, len(s))
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\r':
			r = '\n'
		case r == '\t':
			r = ' '
		case r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			continue
		}
		add = append(add, r)
	}
	e.text = append(e.text[:e.at], append(add, e.text[e.at:]...)...)
	e.at += len(add)
}

// key takes one key and says whether it was one for editing.
func (e *editor) key(key string) bool {
	switch key {
	case "left", "ctrl+b":
		e.at = max(e.at-1, 0)
	case "right", "ctrl+f":
		e.at = min(e.at+1, len(e.text))
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.text)
	case "backspace", "ctrl+h":
		e.cut(e.at-1, e.at)
	case "delete", "ctrl+d":
		e.cut(e.at, e.at+1)
	case "ctrl+u":
		e.cut(0, e.at)
	case "ctrl+k":
		e.cut(e.at, len(e.text))
	case "ctrl+w", "alt+backspace":
		from := e.at
		for from > 0 && e.text[from-1] == ' ' {
			from--
		}
		for from > 0 && e.text[from-1] != ' ' {
			from--
		}
		e.cut(from, e.at)
	default:
		return false
	}
	return true
}

// cut removes what stands from one place to another.
func (e *editor) cut(from, to int) {
	from, to = max(from, 0), min(to, len(e.text))
	if from >= to {
		return
	}
	e.text = append(e.text[:from], e.text[to:]...)
	if e.at > from {
		e.at = max(from, e.at-(to-from))
	}
}

// view is the line in at most cells cells, scrolled so that the cursor is on it,
// and the cell of the cursor. Line breaks are shown as signs. What it costs does
// not grow with the line.
func (e *editor) view(cells int) (text string, cursor int) {
	if cells < 2 {
		return "", 0
	}
	shown := func(r rune) string {
		if r == '\n' {
			return "⏎"
		}
		return apart(safeLine(string(r)))
	}
	from := e.at
	for from > 0 {
		w := render.Width(shown(e.text[from-1]))
		if cursor+w > cells-1 {
			break
		}
		cursor += w
		from--
	}
	var b strings.Builder
	for _, r := range e.text[from:min(e.at+4*cells, len(e.text))] {
		b.WriteString(shown(r))
	}
	return render.Truncate(b.String(), cells), cursor
}
