package render

import "strings"

const (
	columnGap   = 2
	minFlexible = 8 // cells below which a flexible column is not squeezed
)

// Table lays rows out in columns: two spaces between them, no borders and no
// heading, the id first. A column that is empty in every row vanishes. On a
// terminal a line that is too long is cut: first the flexible column, the last
// one unless Flex names another, then the end of the line.
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
	t.squeeze(widths)
	for _, row := range t.rows {
		t.w.line(row, widths, t.right)
	}
	t.rows = nil
}

// squeeze makes the flexible column as narrow as the terminal asks.
func (t *Table) squeeze(widths []int) {
	if !t.w.Terminal() || t.flex < 0 || t.flex >= len(widths) {
		return
	}
	total := -columnGap
	for _, n := range widths {
		if n > 0 {
			total += n + columnGap
		}
	}
	if over := total - t.w.opt.Width; over > 0 {
		widths[t.flex] = max(min(widths[t.flex], minFlexible), widths[t.flex]-over)
	}
}

// line writes cells padded to the widths of their columns, without spaces at
// the end, cut to the terminal.
func (w *Writer) line(cells []Cell, widths []int, right map[int]bool) {
	room := w.opt.Width
	if room <= 0 {
		room = 1 << 30
	}
	gap := 0 // spaces owed before the next text
	first := true
	for i, c := range cells {
		if widths[i] == 0 {
			continue
		}
		if !first {
			gap += columnGap
		}
		first = false
		text := Truncate(c.Text, widths[i])
		n := Width(text)
		if right[i] {
			gap += widths[i] - n
		}
		if n > 0 {
			if gap >= room {
				break
			}
			w.buf.WriteString(strings.Repeat(" ", gap))
			room -= gap
			gap = 0
			text = Truncate(text, room)
			w.buf.WriteString(w.style(c.Style, text))
			used := Width(text)
			room -= used
			if used < n {
				break
			}
		}
		if !right[i] {
			gap += widths[i] - n
		}
	}
	w.buf.WriteByte('\n')
}
