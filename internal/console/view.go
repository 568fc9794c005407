package console

import (
	"strings"

	"github.com/seed6990a682/teams/internal/render"
)

// The screen: tabs, headings, the list, the note or what is asked for, hints.
const (
	listTop = 2 // the first line of the list
	below   = 2 // lines under the list
)

// listHeight is the number of rows of the list, at least one.
func (m *model) listHeight() int { return max(m.height-listTop-below, 1) }

// textHeight is the number of lines of a detail, which has no headings.
func (m *model) textHeight() int { return max(m.height-1-below, 1) }

// shown is the text of the screen, a line for each of its rows.
func (m *model) shown() string {
	lines, _, _ := m.screen()
	return strings.Join(lines, "\n")
}

// screen returns the lines of the screen, each as wide as it is, and the cell of
// the cursor, whose column is -1 when there is none.
func (m *model) screen() (lines []string, column, row int) {
	if m.width < 1 || m.height < 1 {
		return nil, -1, 0
	}
	lines = append(lines, m.tabLine())
	switch {
	case m.mode == helping:
		lines = append(lines, m.textLines(m.help(), 0)...)
	case m.detail.open:
		lines = append(lines, m.detailView()...)
	default:
		lines = append(lines, m.listView()...)
	}
	note, at := m.noteLine()
	lines = append(lines, note, m.hintLine())
	if over := len(lines) - m.height; over > 0 {
		// A very low screen: what is asked for stays longest.
		lines = append(lines[:0:0], lines[over:]...)
	}
	return lines, at, max(len(lines)-2, 0)
}

// pad cuts or fills harmless text to the width of the screen.
func (m *model) pad(s string) string {
	return render.Pad(render.Truncate(s, m.width), m.width)
}

// tabLine is the line of the pages, with the session where there is room.
func (m *model) tabLine() string {
	var b strings.Builder
	room := m.width
	for p, tab := range m.tabs() {
		whole := tab
		tab = render.Truncate(tab, room)
		room -= render.Width(tab)
		switch {
		case Page(p) == m.page && m.o.Color:
			tab = m.paint(inverse, tab)
		case Page(p) == m.page && tab == whole:
			// Without colours the page that is shown is in brackets.
			tab = "[" + strings.Trim(tab, " ") + "]"
		case Page(p) == Questions && m.snap != nil && len(m.snap.Questions) > 0:
			tab = m.paint(yellow, tab)
		}
		b.WriteString(tab)
	}
	if m.snap != nil && room > 4 {
		where := line(m.snap.Who + " · " + m.snap.Session)
		where = " " + render.Truncate(where, room-2) + " "
		b.WriteString(m.paint(dim, render.PadLeft(where, room)))
	} else {
		b.WriteString(strings.Repeat(" ", room))
	}
	return b.String()
}

// listView is the headings and the list.
func (m *model) listView() []string {
	columns, p, n := columnsOf(m.page), m.pages[m.page], m.listHeight()
	want := natural(columns, m.rows)
	width := fit(columns, want, m.width-2)
	head := row{}
	for _, c := range columns {
		head.cells = append(head.cells, cell{text: c.title})
	}
	plainColumns := append([]column(nil), columns...)
	for i := range plainColumns {
		plainColumns[i].age = false
	}
	lines := make([]string, 0, n+1)
	now := m.o.Now()
	if len(m.rows) == 0 {
		lines = append(lines, m.pad(""))
	} else {
		head.dim = true
		lines = append(lines, m.line(plainColumns, width, head, now, m.width, false))
	}
	for i := p.top; i < len(m.rows) && len(lines) <= n; i++ {
		r := m.rows[i]
		if m.page == Roster && r.cells[0].text == spinner {
			r.cells = append([]cell(nil), r.cells...)
			r.cells[0].text = render.Spinner(m.frame)
		}
		lines = append(lines, m.line(columns, width, r, now, m.width, i == p.index))
	}
	if len(m.rows) == 0 {
		lines = append(lines, m.pad("  "+m.nothing()))
	}
	for len(lines) <= n {
		lines = append(lines, m.pad(""))
	}
	return lines
}

// nothing says why the list is empty.
func (m *model) nothing() string {
	switch {
	case m.snap == nil && m.stale == "":
		return "looking…"
	case m.snap == nil:
		return ""
	case m.all > 0:
		return "none of " + itoa(m.all) + " matches " + line(m.pages[m.page].filter) + "; esc shows all"
	}
	return empty(m.page)
}

func (m *model) detailView() []string {
	d := m.detail
	if d.text == "" {
		return m.textLines([]string{"reading…"}, 0)
	}
	return m.textLines(m.detailLines(), d.top)
}

// textLines are lines of a text, filled up to the height of the screen.
func (m *model) textLines(text []string, top int) []string {
	n := m.textHeight()
	lines := make([]string, 0, n)
	for i := top; i < len(text) && len(lines) < n; i++ {
		lines = append(lines, m.pad(" "+text[i]))
	}
	for len(lines) < n {
		lines = append(lines, m.pad(""))
	}
	return lines
}

// noteLine is what is asked for, or what was done, or what is wrong. at is the
// cell of the cursor, -1 for none.
func (m *model) noteLine() (s string, at int) {
	switch m.mode {
	case filtering:
		return m.editLine("/")
	case prompting:
		label := m.prompt.label
		if m.note != "" {
			label = m.note + " · " + label
		}
		return m.editLine(render.Truncate(label, m.width/2) + ": ")
	case asking:
		return m.paint(yellow, m.pad(" "+m.prompt.question)), -1
	}
	switch {
	case m.note != "" && m.noteBad:
		return m.paint(red, m.pad(" "+m.note)), -1
	case m.note != "":
		return m.pad(" " + m.note), -1
	case m.stale != "":
		return m.paint(red, m.pad(" "+m.stale)), -1
	case m.snap != nil && len(m.snap.Problems) > 0:
		text := line(m.snap.Problems[0])
		if n := len(m.snap.Problems); n > 1 {
			text += " (and " + itoa(n-1) + " more: teams doctor)"
		}
		return m.paint(yellow, m.pad(" "+text)), -1
	}
	return m.paint(dim, m.pad(" "+m.position())), -1
}

func (m *model) editLine(label string) (string, int) {
	label = " " + label
	room := m.width - render.Width(label)
	text, cursor := m.prompt.editor.view(room)
	return m.pad(label + text), min(render.Width(label)+cursor, m.width-1)
}

// position says where in the list or the text the screen is.
func (m *model) position() string {
	if m.mode == helping {
		return ""
	}
	if d := m.detail; d.open {
		n, h := len(m.detailLines()), m.textHeight()
		if n <= h {
			return ""
		}
		return "lines " + itoa(d.top+1) + " to " + itoa(min(d.top+h, n)) + " of " + itoa(n)
	}
	p := m.pages[m.page]
	var parts []string
	if n := len(m.rows); n > m.listHeight() {
		parts = append(parts, itoa(p.index+1)+" of "+itoa(n))
	}
	if p.filter != "" {
		parts = append(parts, "only what matches "+line(p.filter)+", of "+itoa(m.all))
	}
	if m.page == Mail && m.snap != nil && m.snap.Earlier > 0 {
		parts = append(parts, count(m.snap.Earlier, "earlier message is", "earlier messages are")+" not shown")
	}
	return strings.Join(parts, " · ")
}

// hintLine names the keys that do something now.
func (m *model) hintLine() string {
	var s string
	switch m.mode {
	case filtering:
		s = "type to filter · enter keep · esc show all"
	case prompting:
		s = "enter do it · alt+enter new line · esc leave it"
	case asking:
		s = "any other key: no"
	case helping:
		s = "any key goes back"
	default:
		s = m.browseHints()
	}
	return m.paint(dim, m.pad(" "+s))
}

func (m *model) browseHints() string {
	parts := []string{"tab page"}
	if m.detail.open {
		parts = []string{"esc back"}
	}
	for _, k := range m.actKeys(m.page) {
		parts = append(parts, k[0]+" "+k[1])
	}
	parts = append(parts, "? help")
	if m.detail.open {
		return strings.Join(append(parts, "j/k scroll"), " · ")
	}
	return strings.Join(append(parts, "enter more", "/ filter", "q quit"), " · ")
}

// actKeys are the keys of a page that act, and what they do.
func (m *model) actKeys(p Page) (out [][2]string) {
	a := m.o.Acts
	add := func(there bool, key, what string) {
		if there {
			out = append(out, [2]string{key, what})
		}
	}
	switch p {
	case Roster:
		add(a.Send != nil, "s", "send")
		add(a.Shutdown != nil, "x", "shut down")
	case Board:
		add(a.Claim != nil, "c", "claim")
		add(a.Release != nil, "r", "release")
		add(a.Cancel != nil, "x", "cancel")
		add(a.Reopen != nil, "o", "reopen")
	case Mail:
		add(a.Send != nil, "s", "send")
		add(a.Send != nil, "r", "reply")
	case Questions:
		add(a.Answer != nil, "a", "answer")
		add(a.Decline != nil, "x", "decline")
	}
	return out
}

// help is the text behind "?".
func (m *model) help() []string {
	lines := []string{
		"",
		"tab, →, l     next page          shift+tab, ←, h   page before",
		"1 … 5         that page          q                 quit, or back from a text",
		"j, ↓   k, ↑   move               pgdn, pgup        a screen",
		"g, home       first              G, end            last",
		"enter         everything about   esc               back, or show all again",
		"/             filter             mouse             wheel, click, click again",
		"",
	}
	for p := range pageCount {
		var keys []string
		for _, k := range m.actKeys(p) {
			keys = append(keys, k[0]+" "+k[1])
		}
		if len(keys) > 0 {
			lines = append(lines, render.Pad(p.title(), 14)+strings.Join(keys, ", "))
		}
	}
	return append(lines, "",
		"What stands here changes as the files do. Acts are those of the verbs, and",
		"every one that ends something asks first. teams console --help says more.")
}
