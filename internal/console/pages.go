package console

import (
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
)

// columnsOf says which columns a page has.
func columnsOf(p Page) []column {
	switch p {
	case Roster:
		return []column{
			{most: 1}, {title: "name", most: 24}, {title: "role", most: 16, drop: 2}, {title: "kind", most: 8, drop: 1},
			{title: "status", most: 10}, {title: "task", most: 20, drop: 4}, {title: "last", age: true, drop: 3}, {title: "activity", most: 200, flex: true},
		}
	case Roles:
		return []column{
			{title: "name", most: 24}, {title: "scope", most: 13}, {title: "git", most: 11}, {title: "use", most: 9},
			{title: "sets", most: 13, drop: 2}, {title: "tools", most: 24, drop: 1}, {title: "path", most: 200, flex: true}, {title: "what for", most: 60, drop: 3},
		}
	case Board:
		return []column{
			{title: "id", most: 10}, {most: 1}, {title: "state", most: 10}, {title: "who", most: 24, drop: 3}, {title: "marks", most: 24, drop: 1},
			{title: "age", age: true, drop: 2}, {title: "subject", most: 200, flex: true},
		}
	case Mail:
		return []column{
			{most: 1}, {title: "from", most: 20}, {title: "to", most: 20}, {title: "kind", most: 12, drop: 1}, {title: "sent", age: true, drop: 2},
			{title: "title", most: 200, flex: true},
		}
	case Questions:
		return []column{
			{title: "from", most: 20}, {title: "since", age: true, drop: 2}, {title: "answer", most: 12, drop: 1}, {title: "question", most: 200, flex: true},
		}
	}
	return nil
}

// empty is what a page without rows says.
func empty(p Page) string {
	switch p {
	case Roster:
		return "no teammates; teams spawn NAME ROLE or teams join NAME makes one"
	case Roles:
		return "no roles; teams agents new NAME makes one"
	case Board:
		return "no tasks; teams task add SUBJECT makes one"
	case Mail:
		return "no mail"
	case Questions:
		return "no open questions"
	}
	return ""
}

// rowsOf makes the rows of a page. All texts become harmless here.
func rowsOf(p Page, s *Snapshot) []row {
	if s == nil {
		return nil
	}
	var rows []row
	switch p {
	case Roster:
		rows = rosterRows(s)
	case Roles:
		rows = roleRows(s)
	case Board:
		rows = boardRows(s)
	case Mail:
		rows = mailRows(s)
	case Questions:
		rows = questionRows(s)
	}
	return rows
}

func text(s string) cell           { return cell{text: line(s)} }
func styled(l look, s string) cell { return cell{text: line(s), look: l} }

func symbol(state string) cell {
	c := render.Symbol(state)
	return cell{text: c.Text, look: lookOf(c.Style)}
}

func rosterRows(s *Snapshot) []row {
	rows := make([]row, 0, len(s.Teammates))
	for _, tm := range s.Teammates {
		over := tm.Status == "stopped" || tm.Status == "dead"
		r := row{id: tm.Name, dim: over}
		sign, what := symbol(tm.Status), styled(plain, render.PlainMarkdown(tm.Activity))
		switch {
		case over:
			sign = symbol("stopped")
		case tm.Awaiting != "":
			sign, what = cell{text: "?", look: yellow}, styled(yellow, "blocked · "+tm.Awaiting)
		case render.Spins(tm.Status):
			sign = cell{text: spinner, look: cyan}
		}
		r.cells = []cell{sign, styled(bold, "@"+tm.Name), text(tm.Role), text(tm.Kind), text(tm.Status), text(tm.Task), {at: tm.ActiveAt}, what}
		rows = append(rows, r)
	}
	// Who lives comes first.
	slices.SortStableFunc(rows, func(a, b row) int { return after(a.dim) - after(b.dim) })
	return rows
}

// spinner stands in a cell for the picture of the present frame.
const spinner = "\x00"

func after(b bool) int {
	if b {
		return 1
	}
	return 0
}

func roleRows(s *Snapshot) []row {
	rows := make([]row, 0, len(s.Roles))
	for _, a := range s.Roles {
		git, use := "local", ""
		if a.GitManaged {
			git = "git-managed"
		}
		switch {
		case a.Shadowed:
			use = "shadowed"
		case a.Shadows > 0:
			use = "shadows " + itoa(a.Shadows)
		}
		rows = append(rows, row{id: a.File, dim: a.Shadowed, cells: []cell{
			styled(bold, a.Name), text(a.Scope), text(git), text(use), text(a.Marks), text(a.Tools), text(a.Path), text(a.Description),
		}})
	}
	return rows
}

func boardRows(s *Snapshot) []row {
	rows := make([]row, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		rows = append(rows, row{id: t.ID, dim: t.Ended, cells: []cell{
			styled(bold, t.ID), symbol(t.State), text(t.State), text(t.Note), styled(yellow, t.Marks), {at: t.Changed}, text(t.Subject),
		}})
	}
	return rows
}

func mailRows(s *Snapshot) []row {
	rows := make([]row, 0, len(s.Messages))
	for _, msg := range s.Messages {
		mark, title := cell{text: "○", look: dim}, text(msg.Title)
		if msg.Unread {
			mark, title.look = cell{text: "●", look: cyan}, bold
		}
		kind := text(msg.Kind)
		if msg.Kind == "failed" {
			kind.look = red
		}
		rows = append(rows, row{id: MessageID(msg.Owner, msg.ID), cells: []cell{
			mark, text(msg.From), text(msg.To), kind, {at: msg.Sent}, title,
		}})
	}
	return rows
}

func questionRows(s *Snapshot) []row {
	rows := make([]row, 0, len(s.Questions))
	for _, q := range s.Questions {
		how := "text"
		switch n := len(q.Options); {
		case n > 0 && q.Multi:
			how = "some of " + itoa(n)
		case n > 0:
			how = "1 of " + itoa(n)
		}
		rows = append(rows, row{id: q.ID, cells: []cell{styled(bold, q.From), {at: q.Asked}, text(how), text(q.Text)}})
	}
	return rows
}

// filter keeps the rows that have all words of a filter, in any case of letters.
func filter(rows []row, words string) []row {
	want := strings.Fields(strings.ToLower(words))
	if len(want) == 0 {
		return rows
	}
	var out []row
	for _, r := range rows {
		var b strings.Builder
		for _, c := range r.cells {
			b.WriteString(strings.ToLower(c.text))
			b.WriteByte(' ')
		}
		all := b.String()
		if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(all, w) }) {
			out = append(out, r)
		}
	}
	return out
}

// tabs returns the tab of each page.
func (m *model) tabs() []string {
	var out []string
	for p := range pageCount {
		out = append(out, " "+itoa(int(p)+1)+" "+p.title()+m.badge(p)+" ")
	}
	return out
}

// badge is the number beside the title of a page.
func (m *model) badge(p Page) string {
	s := m.snap
	if s == nil {
		return ""
	}
	n := 0
	switch p {
	case Roster:
		for _, tm := range s.Teammates {
			if tm.Status != "stopped" && tm.Status != "dead" {
				n++
			}
		}
	case Roles:
		for _, r := range s.Roles {
			if !r.Shadowed {
				n++
			}
		}
	case Board:
		for _, t := range s.Tasks {
			if !t.Ended {
				n++
			}
		}
	case Mail:
		for _, msg := range s.Messages {
			if msg.Unread && msg.To == s.Who {
				n++
			}
		}
	case Questions:
		n = len(s.Questions)
	}
	if n == 0 {
		return ""
	}
	return " " + itoa(n)
}
