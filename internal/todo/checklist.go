package todo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Parse reads a written list: a Markdown checklist, or JSON where the text
// begins with [ and a JSON value, or with {. The error is of code usage and names
// the line or the item. An empty text is an empty list.
func Parse(text string) ([]Item, error) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") && !isMark(trimmed) {
		return parseJSON([]byte(trimmed))
	}
	return parseChecklist(text)
}

// isMark says whether a text begins with a mark of a checklist.
func isMark(s string) bool {
	_, _, ok := cutMark(s)
	return ok
}

// written is an item as JSON has it. What a list says of its items can be
// written back as it is.
type written struct {
	ID          string `json:"id"`
	Content     string `json:"content"`
	Status      Status `json:"status"`
	Blocker     string `json:"blocker"`
	Phase       string `json:"phase"`
	CompletedAt int64  `json:"completedAt"` // ignored, as DoneBy is
	DoneBy      string `json:"doneBy"`
}

// parseJSON reads [item, …], {"items":[…]} or {"todos":[…]}.
func parseJSON(data []byte) ([]Item, error) {
	var list []written
	if data[0] == '[' {
		if err := decode(data, &list); err != nil {
			return nil, err
		}
	} else {
		var in struct {
			Items *[]written `json:"items"`
			Todos *[]written `json:"todos"`
		}
		if err := decode(data, &in); err != nil {
			return nil, err
		}
		switch {
		case in.Items != nil && in.Todos != nil:
			return nil, invalid("it has both items and todos")
		case in.Items != nil:
			list = *in.Items
		case in.Todos != nil:
			list = *in.Todos
		default:
			return nil, invalid("the object has no items")
		}
	}
	items := make([]Item, len(list))
	for i, w := range list {
		items[i] = Item{ID: w.ID, Content: w.Content, Status: w.Status, Blocker: w.Blocker, Phase: w.Phase}
		if w.Status == "" {
			items[i].Status = Pending
		}
	}
	return tidy(items)
}

// decode reads one JSON value and refuses members that are not known.
func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return invalid("the JSON cannot be read, %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return invalid("more text follows the JSON value")
	}
	return nil
}

// parseChecklist reads lines such as "- [ ] content", with "## phase" above
// those that belong to a phase. A heading of the first level is a title, which
// lists do not have.
func parseChecklist(text string) ([]Item, error) {
	var items []Item
	phase := ""
	for n, line := range strings.Split(text, "\n") {
		s := strings.TrimSpace(line)
		if s == "" || s == "---" {
			continue
		}
		if level := len(s) - len(strings.TrimLeft(s, "#")); level > 0 && (len(s) == level || s[level] == ' ') {
			if level > 1 {
				phase = strings.TrimSpace(strings.TrimRight(s[level:], "# "))
			}
			continue
		}
		mark, content, ok := cutMark(cutBullet(s))
		if !ok {
			return nil, invalid("line %d is neither an item nor a heading: %s", n+1, cut(s)).
				WithHint("an item is [ ], [>], [x], [-] or [!] and its content")
		}
		it := Item{Content: content, Status: mark, Phase: phase}
		if mark == Blocked {
			it.Content, it.Blocker = cutBlocker(content)
		}
		items = append(items, it)
	}
	return tidy(items)
}

// cutBullet takes the bullet or the number of a list off a line.
func cutBullet(s string) string {
	for _, bullet := range []string{"- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(s, bullet); ok {
			return strings.TrimSpace(rest)
		}
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && digits < 5 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') {
		return strings.TrimSpace(s[digits+1:])
	}
	return s
}

// cutMark takes the mark off an item.
func cutMark(s string) (mark Status, content string, ok bool) {
	if len(s) < 3 || s[0] != '[' || s[2] != ']' || len(s) > 3 && s[3] != ' ' && s[3] != '\t' {
		return "", "", false
	}
	switch s[1] {
	case ' ':
		mark = Pending
	case '>':
		mark = InProgress
	case 'x', 'X':
		mark = Completed
	case '-':
		mark = Abandoned
	case '!':
		mark = Blocked
	default:
		return "", "", false
	}
	return mark, s[3:], true
}

// dash stands between the content of a blocked item and its blocker.
const dash = " — "

// cutBlocker takes the blocker off a blocked item: what follows the last dash.
func cutBlocker(s string) (content, blocker string) {
	for _, sep := range []string{dash, " -- ", " – "} {
		if i := strings.LastIndex(s, sep); i >= 0 {
			return s[:i], s[i+len(sep):]
		}
	}
	return s, ""
}

// Mark returns the mark of a state in a checklist.
func Mark(s Status) string {
	switch s {
	case InProgress:
		return "[>]"
	case Completed:
		return "[x]"
	case Abandoned:
		return "[-]"
	case Blocked:
		return "[!]"
	}
	return "[ ]"
}

// Markdown writes a list as a checklist, which Parse reads back.
func Markdown(items []Item) string {
	var b strings.Builder
	phase := ""
	for _, it := range items {
		if it.Phase != phase {
			phase = it.Phase
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "##%s\n", strings.TrimRight(" "+phase, " "))
		}
		fmt.Fprintf(&b, "- %s %s", Mark(it.Status), it.Content)
		if it.Blocker != "" {
			b.WriteString(dash + strings.ReplaceAll(it.Blocker, dash, " - "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cut shortens a line that is quoted in an error.
func cut(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
