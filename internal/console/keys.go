package console

import "github.com/seed6990a682/teams/internal/render"

const wheelRows = 3 // rows that one step of the wheel moves

// key takes one key.
func (m *model) key(msg keyMsg) command {
	key := msg.key
	switch key {
	case "ctrl+c":
		return quit
	case "ctrl+z":
		return func() any { return stopMsg{} }
	}
	switch m.mode {
	case filtering:
		m.filterKey(key, msg.text)
		return nil
	case prompting:
		return m.promptKey(key, msg.text)
	case asking:
		return m.askKey(key)
	case helping:
		m.mode = browsing
		return nil
	}
	m.note = ""
	switch key {
	case "q":
		if m.detail.open {
			m.detail = detail{}
			return nil
		}
		return quit
	case "?", "f1":
		m.mode = helping
		return nil
	case "tab", "right", "l":
		m.turn(m.page + 1)
		return nil
	case "shift+tab", "left", "h":
		m.turn(m.page - 1)
		return nil
	case "1", "2", "3", "4", "5":
		m.turn(Page(key[0] - '1'))
		return nil
	}
	if m.detail.open {
		if m.detailKey(key) {
			return nil
		}
	} else if cmd, ok := m.listKey(key); ok {
		return cmd
	}
	return m.act(key)
}

// listKey takes a key for the list.
func (m *model) listKey(key string) (command, bool) {
	p := &m.pages[m.page]
	switch key {
	case "down", "j", "ctrl+n":
		m.selectAt(p.index + 1)
	case "up", "k", "ctrl+p":
		m.selectAt(p.index - 1)
	case "pgdown", "ctrl+f", "space":
		m.selectAt(p.index + m.listHeight())
	case "pgup", "ctrl+b":
		m.selectAt(p.index - m.listHeight())
	case "home", "g":
		m.selectAt(0)
	case "end", "G":
		m.selectAt(len(m.rows) - 1)
	case "enter":
		return m.openDetail(), true
	case "/":
		m.mode = filtering
		m.prompt = prompt{editor: newEditor(p.filter)}
	case "esc":
		p.filter = ""
		m.refresh()
	default:
		return nil, false
	}
	return nil, true
}

// filterKey takes a key while the filter is typed; the list follows at once.
func (m *model) filterKey(key, typed string) {
	p := &m.pages[m.page]
	switch key {
	case "enter", "tab", "down":
		m.mode = browsing
		return
	case "esc":
		m.mode = browsing
		p.filter = ""
	default:
		if !m.prompt.editor.key(key) {
			m.prompt.editor.insert(typed)
		}
		p.filter = m.prompt.editor.String()
	}
	m.refresh()
}

// paste takes pasted text, which never is a command.
func (m *model) paste(text string) {
	switch m.mode {
	case filtering:
		m.filterKey("", line(text))
	case prompting:
		m.prompt.editor.insert(text)
	}
}

// mouse takes one event of the mouse.
func (m *model) mouse(msg mouseMsg) command {
	switch msg.button {
	case wheelUp:
		m.wheel(-wheelRows)
	case wheelDown:
		m.wheel(wheelRows)
	case leftButton:
		return m.click(msg.x, msg.y)
	}
	return nil
}

// wheel moves the list or the text.
func (m *model) wheel(step int) {
	switch {
	case m.mode == helping:
	case m.detail.open:
		m.scroll(step)
	case m.mode == browsing || m.mode == filtering:
		m.selectAt(m.pages[m.page].index + step)
	}
}

// click selects a page or a row; a click on the selected row opens it. x and y
// count from 0.
func (m *model) click(x, y int) command {
	if m.mode == helping {
		m.mode = browsing
		return nil
	}
	if m.mode != browsing {
		return nil
	}
	m.note = ""
	if y == 0 {
		for p, tab := range m.tabs() {
			w := render.Width(tab)
			if x >= 0 && x < w {
				m.turn(Page(p))
				return nil
			}
			x -= w
		}
		return nil
	}
	if m.detail.open {
		return nil
	}
	i := m.pages[m.page].top + y - listTop
	if y < listTop || y >= listTop+m.listHeight() || i >= len(m.rows) {
		return nil
	}
	if m.rows[i].id == m.selected() {
		return m.openDetail()
	}
	m.selectAt(i)
	return nil
}

func quit() any { return quitMsg{} }
