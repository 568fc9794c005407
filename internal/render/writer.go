package render

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// ListLimit is how many entries a list shows on a terminal unless asked for
// another number.
const ListLimit = 50

// Options are what a Writer must know about the place its text goes to.
type Options struct {
	// Width is the number of cells of a terminal's line. 0 means that the
	// text does not go to a terminal: then nothing is ever cut.
	Width int
	// Color allows escape sequences for styles.
	Color bool
	// Expanded asks for absolute times, and for the long form of operations.
	Expanded bool
	// Wrap breaks the lines of expanded operations at Width, for a place that
	// does not break lines itself. Without it a long line stays one line, so
	// that it can be copied.
	Wrap bool
	// Now is what relative times are relative to; zero: the wall clock.
	Now time.Time
	// SafeLine and SafeText make text from others harmless, the first for one
	// line, the second keeping line breaks and tabs. nil: a strict filter that
	// replaces whatever is not printable.
	SafeLine, SafeText func(string) string
}

// Writer collects the text of one result. The zero value is not usable; call
// New. A Writer is for one goroutine.
type Writer struct {
	opt Options
	buf strings.Builder
}

// New returns an empty Writer.
func New(opt Options) *Writer {
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	if opt.SafeLine == nil {
		opt.SafeLine = strictLine
	}
	if opt.SafeText == nil {
		opt.SafeText = func(s string) string {
			return strings.Map(func(r rune) rune {
				if r == '\n' || r == '\t' {
					return r
				}
				return strictRune(r)
			}, s)
		}
	}
	return &Writer{opt: opt}
}

func strictLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return strictRune(r)
	}, s)
}

func strictRune(r rune) rune {
	if unicode.IsPrint(r) || r == zwj {
		return r
	}
	return unicode.ReplacementChar
}

// String returns what was written so far.
func (w *Writer) String() string { return w.buf.String() }

// Terminal reports whether the text goes to a terminal.
func (w *Writer) Terminal() bool { return w.opt.Width > 0 }

// Width returns the cells of a line of the terminal, 0 when there is none.
func (w *Writer) Width() int { return w.opt.Width }

// Expanded reports whether the reader asked for the long form (-x).
func (w *Writer) Expanded() bool { return w.opt.Expanded }

// Now returns the time that relative times are relative to.
func (w *Writer) Now() time.Time { return w.opt.Now }

// Linef writes one line, which is never cut. Arguments that are text (strings,
// errors, Stringers, lists of strings, types made from string) are made safe
// first; a Cell is shown in its style. The format itself is trusted.
func (w *Writer) Linef(format string, args ...any) {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = w.arg(a)
	}
	fmt.Fprintf(&w.buf, format, safe...)
	w.buf.WriteByte('\n')
}

// Row writes one line of cells (strings, Cells or anything Linef takes) with
// two spaces between them, cut to the width of the terminal as those of a Table.
// Empty cells are left out.
func (w *Writer) Row(cells ...any) {
	line := make([]Cell, 0, len(cells))
	for _, c := range cells {
		if cell := w.cell(c); cell.Text != "" {
			line = append(line, cell)
		}
	}
	widths := make([]int, len(line))
	for i, c := range line {
		widths[i] = Width(c.Text)
	}
	out := w.squeeze(widths, -1)
	w.line(out.mark(line), widths, nil)
}

// Blank writes an empty line.
func (w *Writer) Blank() { w.buf.WriteByte('\n') }

// Block writes text of several lines as it is, made safe, uncut, with a line
// break at its end. An empty s writes nothing.
func (w *Writer) Block(s string) {
	if s == "" {
		return
	}
	s = w.opt.SafeText(s)
	w.buf.WriteString(s)
	if !strings.HasSuffix(s, "\n") {
		w.buf.WriteByte('\n')
	}
}

// Raw writes bytes without any change: for content that the reader asked for
// byte by byte, and for nothing else.
func (w *Writer) Raw(b []byte) { w.buf.Write(b) }

// Time names t: relative to now, or absolute in the expanded form.
func (w *Writer) Time(t time.Time) string {
	if w.opt.Expanded {
		return AbsTime(t.Local())
	}
	return RelTime(w.opt.Now, t)
}

// TimeMs is Time for epoch milliseconds; 0 is "never".
func (w *Writer) TimeMs(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return w.Time(time.UnixMilli(ms))
}

// AgoMs is TimeMs for what has happened already: a time stamp that lies ahead
// of now counts as now.
func (w *Writer) AgoMs(ms int64) string { return w.TimeMs(min(ms, w.opt.Now.UnixMilli())) }

// Shown returns how many of total entries a list shows: limit when it is
// positive, else ListLimit on a terminal and all of them elsewhere.
func (w *Writer) Shown(total, limit int) int {
	if limit <= 0 {
		if !w.Terminal() {
			return total
		}
		limit = ListLimit
	}
	return min(limit, total)
}

// Showing writes "showing 50 of 1200" when fewer than total entries are shown
// on a terminal.
func (w *Writer) Showing(shown, total int) {
	if shown < total && w.Terminal() {
		w.Row(Styled(Dim, fmt.Sprintf("showing %d of %d", shown, total)))
	}
}

// style wraps text that is safe already.
func (w *Writer) style(s Style, text string) string {
	if !w.opt.Color || s == Plain || text == "" {
		return text
	}
	return s.sgr() + text + resetSGR
}

// cell makes a safe Cell of anything.
func (w *Writer) cell(a any) Cell {
	switch v := a.(type) {
	case Cell:
		return Cell{w.opt.SafeLine(v.Text), v.Style}
	case string:
		return Cell{Text: w.opt.SafeLine(v)}
	case nil:
		return Cell{}
	}
	return Cell{Text: fmt.Sprint(w.arg(a))}
}

// arg makes an argument of Linef safe.
func (w *Writer) arg(a any) any {
	switch v := a.(type) {
	case string:
		return w.opt.SafeLine(v)
	case Cell:
		return w.style(v.Style, w.opt.SafeLine(v.Text))
	case error:
		return w.opt.SafeLine(v.Error())
	case fmt.Stringer:
		return w.opt.SafeLine(v.String())
	case []string:
		return w.opt.SafeLine(strings.Join(v, ", "))
	case []byte:
		return w.opt.SafeLine(string(v))
	}
	switch reflect.ValueOf(a).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return a
	}
	return w.opt.SafeLine(fmt.Sprint(a))
}
