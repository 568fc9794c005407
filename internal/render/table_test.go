package render

import (
	"strings"
	"testing"
)

// narrowRows are lists as they are printed: tasks of which one has much to say in
// its middle, and mail, whose ids are long.
var narrowRows = map[string][][]any{
	"tasks": {
		{"t_1", Symbol("ready"), "ready", "", "", "Parse the grammar"},
		{"t_12", Symbol("blocked"), "blocked", "waits for t_1,t_2,t_3,…", "attempt 1/3 #parser", "Write the documentation of it"},
		{"t_13", Symbol("claimed"), "claimed", "ann", "", "Fix"},
	},
	"mail": {
		{"20261130T162940.351207Z-ann-7f3a9c", "●", "just now", "ann", "completed", "Greeting is done, see USAGE."},
		{"20261130T162940.351207Z-bob-7f3a9c", "○", "3m ago", "bob", "", "Which port?"},
	},
}

func narrowText(rows [][]any, width int) string {
	w := New(Options{Width: width})
	tab := w.Table()
	for _, row := range rows {
		tab.Row(row...)
	}
	tab.Flush()
	return w.String()
}

func TestNarrowTable(t *testing.T) {
	for _, tt := range []struct {
		rows  string
		width int
		want  string
	}{
		{"tasks", 90, `
t_1   ○  ready                                                  Parse the grammar
t_12  …  blocked  waits for t_1,t_2,t_3,…  attempt 1/3 #parser  Write the documentation o…
t_13  ●  claimed  ann                                           Fix
`},
		{"tasks", 60, `
t_1   ○  ready                               Parse the gram…
t_12  …  blocked  waits for t…  attempt 1/…  Write the docu…
t_13  ●  claimed  ann                        Fix
`},
		{"tasks", 40, `
t_1   ○  ready              Parse the g…
t_12  …  bloc…  wai…  att…  Write the d…
t_13  ●  clai…  ann         Fix
`},
		{"tasks", 20, `
t_1   ○  …  Parse t…
t_12  …  …  Write t…
t_13  ●  …  Fix
`},
		{"mail", 80, `
20261130T162940.351207Z-ann-7f3a9c  ●  just …  ann  compl…  Greeting is done, s…
20261130T162940.351207Z-bob-7f3a9c  ○  3m ago  bob          Which port?
`},
		{"mail", 60, `
20261130T162940.351207Z-ann-7f3a9c  ●  ju…  …  Greeting is …
20261130T162940.351207Z-bob-7f3a9c  ○  3m…  …  Which port?
`},
		{"mail", 50, `
20261130T162940.351207Z-ann-7f3a9c  ●  …  Greetin…
20261130T162940.351207Z-bob-7f3a9c  ○  …  Which p…
`},
		{"mail", 40, `
20261130T162940.351207Z-ann-7f3a9c  ●  …
20261130T162940.351207Z-bob-7f3a9c  ○  …
`},
	} {
		if got := "\n" + narrowText(narrowRows[tt.rows], tt.width); got != tt.want {
			t.Errorf("%s at %d:%s", tt.rows, tt.width, got)
		}
	}
}

// At any width the lines fit, the ids are whole where they can be, the last column
// is there where the id leaves some room, and what is missing has left a sign.
func TestAnyWidth(t *testing.T) {
	for name, rows := range narrowRows {
		for width := 1; width < 130; width++ {
			lines := strings.Split(strings.TrimSuffix(narrowText(rows, width), "\n"), "\n")
			for i, line := range lines {
				id, last := rows[i][0].(string), rows[i][len(rows[i])-1].(string)
				if Width(line) > width {
					t.Errorf("%s at %d: %d cells: %q", name, width, Width(line), line)
				}
				if width >= Width(id) && !strings.HasPrefix(line, id) {
					t.Errorf("%s at %d: the id is cut: %q", name, width, line)
				}
				if width >= Width(id)+10 && !strings.Contains(line, "  "+last[:3]) {
					t.Errorf("%s at %d: the last column is missing: %q", name, width, line)
				}
				whole := true
				for _, c := range rows[i] {
					text, isText := c.(string)
					whole = whole && (!isText || strings.Contains(line, text))
				}
				if !whole && width >= Width(id)+2 && !strings.Contains(line[len(id):], ellipsis) {
					t.Errorf("%s at %d: nothing says that something is missing: %q", name, width, line)
				}
			}
		}
	}
}
