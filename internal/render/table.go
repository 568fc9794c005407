package render

import (
	"slices"
	"strings"
)

const (
	columnGap   = 2
	minFlexible = 8  // cells below which a flexible column is not squeezed
	minLast     = 12 // cells that the last column keeps while others can be left out
	minMiddle   = 3  // cells below which a column tells nothing
	minText     = 4  // the same for the last one, when the others are left out
)

// Table lays rows out in columns: two spaces between them, no borders and no
// heading, the id first. A column that is empty in every row vanishes. On a
// terminal a line that is too long is cut: the column that Flex names, then the
// last one down to a quarter of the line, then those between, the widest first; then
// those before the last are left out for one "…". The id is cut only where it is
// wider than the terminal.
type Table struct {
	w     *Writer
	rows  [][]Cell
	right map[int]bool
	flex  int
}

// Table returns an empty table. Nothing is written before Flush.
func (w *Writer) Table() *Table { return &Table{w: w, flex: -1} }

// Row adds a row of strings, Cells or anything else that Linef takes.
func (t *Table) Row(cells ...any) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		row[i] = t.w.cell(c)
	}
	t.rows = append(t.rows, row)
}

// Right aligns the columns (from 0) to the right, for numbers.
func (t *Table) Right(columns ...int) {
	if t.right == nil {
		t.right = make(map[int]bool, len(columns))
	}
	for _, c := range columns {
		t.right[c] = true
	}
}

// Flex names the column (from 0) that is cut first.
func (t *Table) Flex(column int) { t.flex = column }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Flush writes the table and empties it.
func (t *Table) Flush() {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c.Text))
		}
	}
	out := t.w.squeeze(widths, t.flex)
	for _, row := range t.rows {
		t.w.line(out.mark(row), widths, t.right)
	}
	t.rows = nil
}

// omitted is a range of columns, from one to before another.
type omitted struct{ from, to int }

// mark puts "…" in the place of the cells that are left out.
func (o omitted) mark(cells []Cell) []Cell {
	for i := o.from; i < min(o.to, len(cells)); i++ {
		if cells[i].Text != "" {
			cells = slices.Clone(cells)
			cells[o.from] = Cell{ellipsis, Dim}
			break
		}
	}
	return cells
}

// squeeze makes columns as narrow as the terminal asks; flex is the one to begin
// with, negative for none. It returns which ones are left out. When nothing helps
// it changes nothing, and the lines are cut at their end.
func (w *Writer) squeeze(widths []int, flex int) omitted {
	if !w.Terminal() || total(widths) <= w.opt.Width {
		return omitted{}
	}
	last := len(widths) - 1
	for widths[last] == 0 {
		last--
	}
	for _, least := range []int{minLast, minText} {
		for from := last; from > 0; from-- {
			try := slices.Clone(widths)
			out := omitted{from, last}
			if from < last {
				clear(try[from:last])
				try[from] = Width(ellipsis)
			}
			if w.narrow(try, flex, last, least) {
				copy(widths, try)
				return out
			}
		}
	}
	return omitted{}
}

// narrow makes the columns narrower until they fit, the last one no narrower than
// least. It reports whether they do.
func (w *Writer) narrow(widths []int, flex, last, least int) bool {
	over := total(widths) - w.opt.Width
	cut := func(i, least int) {
		if i > 0 && i <= last && over > 0 {
			n := max(min(widths[i], least), widths[i]-over)
			over -= widths[i] - n
			widths[i] = n
		}
	}
	cut(flex, minFlexible)
	cut(last, max(least, w.opt.Width/4))
	for over > 0 {
		// One cell of the widest at a time, so that they end up alike.
		widest := 0
		for i := 1; i < last; i++ {
			if widths[i] > minMiddle && (widest == 0 || widths[i] >= widths[widest]) {
				widest = i
			}
		}
		if widest == 0 {
			break
		}
		cut(widest, widths[widest]-1)
	}
	cut(last, least)
	return over <= 0
}

// total is the width of a line of columns.
func total(widths []int) int {
	n := 0
	for _, width := range widths {
		if width > 0 {
			n += width + columnGap
		}
	}
	return max(0, n-columnGap)
}

// segment is a text in its place on a line.
type segment struct {
	at   int
	cell Cell
}

// line writes cells padded to the widths of their columns, without spaces at
// the end, cut to the terminal.
func (w *Writer) line(cells []Cell, widths []int, right map[int]bool) {
	room := w.opt.Width
	if room <= 0 {
		room = 1 << 30
	}
	var list []segment
	at := 0
	for i, c := range cells {
		if widths[i] == 0 {
			continue
		}
		if c.Text = Truncate(c.Text, widths[i]); c.Text != "" {
			start := at
			if right[i] {
				start += widths[i] - Width(c.Text)
			}
			list = append(list, segment{start, c})
		}
		at += widths[i] + columnGap
	}
	used := 0
	for i, s := range list {
		text, more := Truncate(s.cell.Text, room-s.at), ""
		ends := i+1 < len(list) && list[i+1].at >= room
		if ends {
			text, more = endOfLine(s.cell.Text, room-s.at, i == 0)
		}
		w.buf.WriteString(strings.Repeat(" ", s.at-used))
		w.buf.WriteString(w.style(s.cell.Style, text))
		w.buf.WriteString(more)
		if used = s.at + Width(text); ends {
			break
		}
	}
	w.buf.WriteByte('\n')
}

// endOfLine makes the text that ends a line of which more was to come, in room
// cells, and the sign for what is missing. An id is rather without that sign
// than cut.
func endOfLine(text string, room int, id bool) (cut, sign string) {
	switch n := Width(text); {
	case n+2 <= room:
		return text, " " + ellipsis
	case id:
		return Truncate(text, room), ""
	case n+1 <= room:
		return text, ellipsis
	}
	return Truncate(text+"  ", room), ""
}
