package main

import (
	"fmt"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
	"github.com/seed6990a682/teams/internal/todo"
)

// todoData is the data of the todo verbs.
type todoData struct {
	Owner    string      `json:"owner"`
	Items    []todo.Item `json:"items"`
	Title    string      `json:"title"`
	Snapshot string      `json:"snapshot"` // of the present state; "" before the first write

	Snapshots []todo.Snapshot `json:"snapshots,omitempty"` // of list --snapshots

	Changed    *bool      `json:"changed,omitempty"`
	Item       *todo.Item `json:"item,omitempty"` // of an edit
	Completed  []string   `json:"completed,omitempty"`
	Reopened   []string   `json:"reopened,omitempty"`
	Kept       []string   `json:"kept,omitempty"`
	Normalized []string   `json:"normalized,omitempty"`
}

func listTodo(owner string, l todo.List) todoData {
	return todoData{Owner: owner, Items: l.Items, Title: todo.Title(l.Items, fsx.Now()), Snapshot: l.ID}
}

func changedTodo(owner string, ch todo.Change) todoData {
	d := listTodo(owner, ch.List)
	d.Changed, d.Item = &ch.Changed, ch.Item
	d.Completed, d.Reopened, d.Kept, d.Normalized = ch.Completed, ch.Reopened, ch.Kept, ch.Normalized
	return d
}

// todoOwner opens the team for a verb that changes a list, and says whose.
func (e *Env) todoOwner() (*team.Team, string, error) {
	t, err := e.team()
	if err != nil {
		return nil, "", err
	}
	owner, err := t.TodoOwner()
	return t, owner, err
}

// readTodo returns the list that the caller looks at.
func (e *Env) readTodo() (string, todo.List, error) {
	t, err := e.lookAtTeam()
	if err != nil {
		return "", todo.List{}, err
	}
	owner := t.Reader().Name
	l, err := t.Todo(owner)
	e.warnProblems(l.Problems)
	return owner, l, err
}

// writeTodo prints a list, one item a line: id, state, phase, content.
func writeTodo(w *render.Writer, items []todo.Item) {
	table := w.Table()
	for _, it := range items {
		text := it.Content
		if it.Blocker != "" {
			text += " — " + it.Blocker
		}
		table.Row(it.ID, render.Symbol(string(it.Status)), string(it.Status), it.Phase, text, doneBy(w, it))
	}
	table.Flush()
	if len(items) == 0 {
		w.Linef("no items")
	}
}

// doneBy says, in the long form, who completed an item and when.
func doneBy(w *render.Writer, it todo.Item) string {
	if !w.Expanded() || it.CompletedAt == 0 {
		return ""
	}
	return strings.TrimSpace(it.DoneBy + " " + w.AgoMs(it.CompletedAt))
}

// todoCounts says how many items are in which state.
func todoCounts(items []todo.Item) string {
	n := todo.Count(items)
	s := fmt.Sprintf("%d pending, %d in progress, %d completed", n[todo.Pending], n[todo.InProgress], n[todo.Completed])
	if n[todo.Blocked] > 0 {
		s += fmt.Sprintf(", %d blocked", n[todo.Blocked])
	}
	if n[todo.Abandoned] > 0 {
		s += fmt.Sprintf(", %d abandoned", n[todo.Abandoned])
	}
	return s
}

// todoEdited hands over the result of an edit of one item.
func (e *Env) todoEdited(owner string, ch todo.Change, verb string) {
	e.Result(changedTodo(owner, ch), func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", ch.Item.ID)
			return
		}
		if !ch.Changed {
			verb = "no change, it is " + string(ch.Item.Status)
		}
		w.Row(ch.Item.ID, render.Symbol(string(ch.Item.Status)), verb, ch.Item.Content)
	})
}
