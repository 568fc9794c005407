package console

import (
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/render"
)

// column says how one column of a page is laid out.
type column struct {
	title string
	most  int  // cells that it takes at most
	flex  bool // it takes what is left; one of a page does
	drop  int  // columns of the lowest number above 0 go first when there is no room
	age   bool // its cells are points in time
}

// cell is one field of a row. Its text is harmless.
type cell struct {
	text string
	look look
	at   int64 // of an age column, epoch ms
}

// row is one row of a page.
type row struct {
	id    string
	cells []cell
	dim   bool // it is over
}

const (
	gap     = 2  // cells between columns
	minFlex = 36 // columns are dropped before the flexible one gets less
	ageCell = 5
)

// natural returns the cells that the widest entry of each column takes, its
// limit at most. A column that is empty takes none.
func natural(columns []column, rows []row) []int {
	width := make([]int, len(columns))
	for i, c := range columns {
		if c.age {
			for _, r := range rows {
				if r.cells[i].at > 0 {
					width[i] = ageCell
					break
				}
			}
			continue
		}
		for _, r := range rows {
			if width[i] >= c.most {
				break
			}
			width[i] = max(width[i], min(render.Width(r.cells[i].text), c.most))
		}
	}
	return width
}

// fit makes the columns fit into a line: some are dropped, and the flexible one
// gets the rest. A width of 0 means that the column is not shown.
func fit(columns []column, want []int, line int) []int {
	width := make([]int, len(want))
	copy(width, want)
	flex := 0
	for i, c := range columns {
		if c.flex {
			flex = i
		}
		if width[i] > 0 && !c.flex {
			width[i] = max(width[i], min(render.Width(c.title), c.most))
		}
	}
	used := func() (n int) {
		for i, w := range width {
			if i != flex && w > 0 {
				n += w + gap
			}
		}
		return n
	}
	for line-used() < min(minFlex, max(want[flex], 1)) {
		next := -1
		for i, c := range columns {
			if width[i] > 0 && c.drop > 0 && (next < 0 || c.drop < columns[next].drop) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		width[next] = 0
	}
	width[flex] = max(line-used(), 0)
	return width
}

// line lays one row out in exactly cells cells. A row that does not fit, since
// the screen is very narrow, is cut at its end.
func (m *model) line(columns []column, width []int, r row, now time.Time, cells int, selected bool) string {
	var b strings.Builder
	room := cells
	mark := "  "
	if selected {
		mark = "> "
	}
	put := func(l look, s string, w int) {
		w = min(w, room)
		if w <= 0 {
			return
		}
		s = render.Pad(render.Truncate(s, w), w)
		room -= w
		switch {
		case selected:
			l = plain
		case r.dim:
			l = dim
		}
		b.WriteString(m.paint(l, s))
	}
	put(plain, mark, 2)
	for i, c := range columns {
		if width[i] == 0 {
			continue
		}
		text := r.cells[i].text
		if c.age {
			text = age(now, r.cells[i].at)
		}
		put(r.cells[i].look, text, width[i])
		put(plain, "", gap)
	}
	put(plain, "", room)
	if selected {
		return m.paint(inverse, b.String())
	}
	return b.String()
}
