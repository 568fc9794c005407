package render

import (
	"errors"
	"fmt"
)

// lineCells is how much of its message a collapsed notification shows.
const lineCells = 160

// Notification is something that was told to a person or a model: a reply, a
// settled task, a request that waits too long.
type Notification struct {
	// Title says what happened, such as "Reply from worker: code review".
	Title string
	// IDs identify what it is about, in their order; empty ones are left out.
	IDs Fields
	// Fields are what else it tells, "message" among them.
	Fields Fields
	// Collapsed asks for two lines: the title, and the start of the message. The
	// long form shows all of it nevertheless.
	Collapsed bool
}

// newNotification reads a notification from a decoded object.
func newNotification(v Value) (*Notification, error) {
	if v.kind != object {
		return nil, errors.New(`"notification" is no object`)
	}
	n := new(Notification)
	for _, f := range v.fields {
		ok := true
		switch f.Name {
		case "title":
			ok = f.Value.kind == text
			n.Title = f.Value.text
		case "ids":
			ok = f.Value.kind == object || f.Value.kind == null
			n.IDs = f.Value.fields
		case "collapsed":
			ok = f.Value.kind == boolean
			n.Collapsed = f.Value.yes
		default:
			n.Fields = append(n.Fields, f)
		}
		if !ok {
			return nil, fmt.Errorf("%q of the notification has a value of the wrong kind", f.Name)
		}
	}
	if Fold(n.Title) == "" {
		return nil, errors.New(`the notification has no "title"`)
	}
	return n, nil
}

// Notification writes a notification: its title, the ids, and the message as it
// is.
func (w *Writer) Notification(n Notification) {
	w.spans([]Cell{{w.message(withoutPaneIDs(n.Title)), Bold}})
	if n.Collapsed && !w.opt.Expanded {
		if s := w.message(n.Fields.text("message", "text", "output", "summary")); s != "" {
			w.spans([]Cell{{Truncate(s, lineCells), Plain}})
		}
		return
	}
	blank := false
	for i, group := range []Fields{n.IDs, n.Fields} {
		first := true
		for _, f := range group {
			if isHidden(f) || isInternal(f.Name) || f.Value.isEmpty() && (i == 0 || f.Name != "message") {
				continue
			}
			if first && !blank {
				w.Blank()
			}
			first = false
			blank = w.field(0, label(f.Name), f)
		}
	}
}
