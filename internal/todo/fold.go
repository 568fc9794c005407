package todo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// The kinds of lines.
const (
	kindSnapshot = "snapshot"
	kindEdit     = "edit"
	kindRewind   = "rewind"
)

// What an edit does to its item.
const (
	OpDone    = "done"    // it is completed
	OpDrop    = "drop"    // it is abandoned
	OpRemove  = "rm"      // it is no longer in the list
	OpUnblock = "unblock" // it is pending, without its blocker
)

// line is one line of the file.
type line struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"` // s_1, s_2, …: of the state that the line leaves
	At    int64  `json:"at"` // epoch ms
	By    string `json:"by"`
	Human bool   `json:"human,omitempty"` // a person did it
	Items []Item `json:"items,omitempty"` // of a snapshot
	Op    string `json:"op,omitempty"`    // of an edit
	Item  string `json:"item,omitempty"`  // of an edit: the id
	To    string `json:"to,omitempty"`    // of a rewind: the id of an earlier line
}

// Snapshot tells of one state that the list has had.
type Snapshot struct {
	ID    string         `json:"id"`
	Kind  string         `json:"kind"` // snapshot, edit or rewind
	At    int64          `json:"at"`   // epoch ms
	By    string         `json:"by"`
	Human bool           `json:"human,omitempty"`
	Items int            `json:"items"`
	Count map[Status]int `json:"counts"`
	What  string         `json:"what,omitempty"` // of an edit and a rewind
}

// state is the list after a line. It is not changed any more once it is there.
type state struct {
	items []Item
	kept  map[string]bool // ids that a person has marked as done
}

// folded is what a file holds.
type folded struct {
	state
	id       string           // of the last line; "" for none
	states   map[string]state // by the ids of the lines
	all      []Snapshot
	contents map[string]string // content -> the id that it has or had
	names    map[string]string // id -> the content that it has or had
	nextItem int
	nextLine int
	skipped  []int // numbers of the lines that are no lines of ours
}

// fold reads a file. A line that cannot be parsed spoils only itself.
func fold(data []byte) *folded {
	f := &folded{states: map[string]state{}, contents: map[string]string{}, names: map[string]string{}, nextItem: 1, nextLine: 1}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		text = bytes.Trim(text, "\x00 \t\r\n") // a power cut may leave zeros
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			// One cut short is no problem: whoever wrote it was never told that it
			// is there.
			var syntax *json.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < int64(len(text)) {
				f.skipped = append(f.skipped, n)
			}
			continue
		}
		if !f.apply(&l) {
			f.skipped = append(f.skipped, n)
		}
	}
	return f
}

// apply adds a line; false for one that makes no sense.
func (f *folded) apply(l *line) bool {
	what := ""
	next := f.state
	switch l.Kind {
	case kindSnapshot:
		ids, contents := map[string]bool{}, map[string]bool{}
		for _, it := range l.Items {
			if it.ID == "" || it.Content == "" || !known(it.Status) || ids[it.ID] || contents[it.Content] {
				return false
			}
			ids[it.ID], contents[it.Content] = true, true
		}
		next.items = l.Items
		for _, it := range l.Items {
			if old, had := f.names[it.ID]; had && old != it.Content && f.contents[old] == it.ID {
				delete(f.contents, old) // it was worded anew
			}
			f.contents[it.Content], f.names[it.ID] = it.ID, it.Content
			f.nextItem = max(f.nextItem, number(it.ID, "i_")+1)
		}
	case kindEdit:
		i := slices.IndexFunc(f.items, func(it Item) bool { return it.ID == l.Item })
		if i < 0 {
			return false
		}
		what = l.Op + " " + f.items[i].Content
		var ok bool
		if next, ok = f.edit(i, l); !ok {
			return false
		}
	case kindRewind:
		to, ok := f.states[l.To]
		if !ok {
			return false
		}
		what = "to " + l.To
		next = f.rewound(to, l)
	default:
		return false
	}
	f.state, f.id = next, l.ID
	f.states[l.ID] = next
	f.nextLine = max(f.nextLine, number(l.ID, "s_")+1)
	f.all = append(f.all, Snapshot{ID: l.ID, Kind: l.Kind, At: l.At, By: l.By, Human: l.Human, Items: len(next.items), Count: Count(next.items), What: what})
	return true
}

// edit returns the state after an edit of item i.
func (f *folded) edit(i int, l *line) (state, bool) {
	next := state{items: slices.Clone(f.items), kept: f.kept}
	it := &next.items[i]
	keep := func(yes bool) {
		if next.kept[it.ID] == yes {
			return
		}
		next.kept = maps.Clone(next.kept)
		if next.kept == nil {
			next.kept = map[string]bool{}
		}
		next.kept[it.ID] = yes
	}
	switch l.Op {
	case OpDone:
		if it.Status != Completed {
			it.CompletedAt = l.At
		}
		it.Status, it.Blocker, it.DoneBy = Completed, "", l.By
		if l.Human {
			it.DoneBy = Human
			keep(true)
		}
	case OpDrop:
		it.Status, it.Blocker = Abandoned, ""
		if l.Human {
			keep(false)
		}
	case OpUnblock:
		it.Status, it.Blocker = Pending, ""
	case OpRemove:
		if l.Human {
			keep(false)
		}
		next.items = slices.Delete(next.items, i, i+1)
	default:
		return state{}, false
	}
	return next, true
}

// rewound returns an earlier state as it becomes current. What a person has
// marked as done since stays done, unless it is a person who goes back.
func (f *folded) rewound(to state, l *line) state {
	if l.Human {
		return to
	}
	next := state{items: slices.Clone(to.items), kept: f.kept}
	for i := range next.items {
		f.keepDone(&next.items[i], l.At)
	}
	return next
}

// keepDone makes an item completed that a person has marked as done, and says
// whether it was not.
func (f *folded) keepDone(it *Item, now int64) bool {
	if !f.kept[it.ID] {
		return false
	}
	undone := it.Status != Completed
	it.Status, it.Blocker, it.DoneBy = Completed, "", Human
	if it.CompletedAt == 0 {
		it.CompletedAt = now
	}
	return undone
}

// number returns N of prefix N, 0 for anything else.
func number(id, prefix string) int {
	digits, ok := strings.CutPrefix(id, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// Count counts the items by their states. Every state is there.
func Count(items []Item) map[Status]int {
	out := make(map[Status]int, 5)
	for _, s := range Statuses() {
		out[s] = 0
	}
	for _, it := range items {
		out[it.Status]++
	}
	return out
}

// merge gives the items of a write their ids, and what the list knows of them.
func (f *folded) merge(items []Item, w Writing, now int64) (Change, error) {
	var ch Change
	before := make(map[string]Item, len(f.items))
	for _, it := range f.items {
		before[it.ID] = it
	}
	used := map[string]bool{}
	for _, it := range items {
		if it.ID == "" {
			continue
		}
		if _, had := f.names[it.ID]; !had {
			return ch, errs.New(errs.Usage, "%s is no item of this list; a new one has no id", it.ID).WithHint("teams todo list")
		}
		used[it.ID] = true
	}
	next, current := f.nextItem, ""
	ch.Items = make([]Item, 0, len(items))
	for _, it := range items {
		if it.ID == "" {
			if it.ID = f.contents[it.Content]; it.ID == "" || used[it.ID] {
				it.ID = "i_" + strconv.Itoa(next)
				next++
			}
			used[it.ID] = true
		}
		old, had := before[it.ID]
		if f.keepDone(&it, now) {
			ch.Kept = append(ch.Kept, it.Content)
		}
		if w.Strict && it.Status == InProgress {
			if current != "" {
				it.Status = Pending
				ch.Normalized = append(ch.Normalized, fmt.Sprintf("%q is pending, because %q is in progress", it.Content, current))
			} else {
				current = it.Content
			}
		}
		switch {
		case it.Status == Completed && had && old.Status == Completed:
			it.CompletedAt, it.DoneBy = old.CompletedAt, old.DoneBy
		case it.Status == Completed:
			if it.CompletedAt, it.DoneBy = now, w.By; f.kept[it.ID] {
				it.DoneBy = Human
			}
			if had {
				ch.Completed = append(ch.Completed, it.Content)
			}
		case had && old.Status == Completed:
			ch.Reopened = append(ch.Reopened, it.Content)
		}
		ch.Items = append(ch.Items, it)
	}
	return ch, nil
}
