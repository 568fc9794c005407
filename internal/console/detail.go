package console

import (
	"strings"

	"github.com/seed6990a682/teams/internal/render"
)

// detail is everything about one row, as a text that can be scrolled.
type detail struct {
	open bool
	page Page
	id   string
	text string // harmless; "" while it is being read
	bad  bool   // the text says why there is none
	top  int
}

// openDetail shows everything about the selected row.
func (m *model) openDetail() command {
	id := m.selected()
	if id == "" {
		return nil
	}
	m.detail = detail{open: true, page: m.page, id: id}
	return m.fetch(m.page, id)
}

// fetch reads the text of a detail.
func (m *model) fetch(page Page, id string) command {
	ctx, src := m.ctx, m.o.Source
	return func() any {
		text, err := src.Detail(ctx, page, id)
		return detailMsg{page, id, text, err}
	}
}

func (m *model) takeDetail(msg detailMsg) {
	d := &m.detail
	if !d.open || d.page != msg.page || d.id != msg.id {
		return // it was closed meanwhile
	}
	d.bad = msg.err != nil
	if d.text = strings.TrimRight(block(msg.text), "\n"); d.bad {
		d.text = errorText(msg.err)
	}
	m.scroll(0)
}

// detailKey takes a key for the text and says whether it was one.
func (m *model) detailKey(key string) bool {
	n := m.listHeight()
	switch key {
	case "down", "j", "ctrl+n":
		m.scroll(1)
	case "up", "k", "ctrl+p":
		m.scroll(-1)
	case "pgdown", "ctrl+f", "space":
		m.scroll(n)
	case "pgup", "ctrl+b":
		m.scroll(-n)
	case "home", "g":
		m.detail.top = 0
	case "end", "G":
		m.scroll(1 << 30)
	case "esc", "enter", "backspace":
		m.detail = detail{}
	default:
		return false
	}
	return true
}

func (m *model) scroll(by int) {
	last := max(len(m.detailLines())-m.textHeight(), 0)
	m.detail.top = min(max(m.detail.top+by, 0), last)
}

// detailLines are the lines of the text, broken at the width of the screen.
func (m *model) detailLines() []string {
	return render.Wrap(m.detail.text, max(m.width-2, 1))
}
