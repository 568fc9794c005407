package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/todo"
)

var todoListEntry = Entry{
	Path:     "todo list",
	Group:    groupPeople,
	Summary:  "Show the checklist",
	Examples: []string{"teams todo list", "teams todo list --as ann", "teams todo list --snapshots"},
	Quick:    true,
	New:      func() Command { return new(todoListCmd) },
}

type todoListCmd struct {
	Markdown  bool `help:"As a Markdown checklist, which todo write reads."`
	Snapshots bool `help:"Also the states that the list has had, oldest first; todo rewind takes their ids."`
}

func (c *todoListCmd) Help() string {
	return "Without --as it is the list of the caller. -x also tells who completed an item, and when."
}

func (c *todoListCmd) Run(_ context.Context, e *Env) error {
	owner, l, err := e.readTodo()
	if err != nil {
		return err
	}
	d := listTodo(owner, l)
	if c.Snapshots {
		d.Snapshots = l.Snapshots
	}
	e.Result(d, func(w *render.Writer) {
		switch {
		case c.Snapshots:
			writeSnapshots(w, l.Snapshots, e.Quiet)
		case c.Markdown:
			w.Block(todo.Markdown(l.Items))
		case e.Quiet:
			for _, it := range l.Items {
				w.Linef("%s", it.ID)
			}
		default:
			writeTodo(w, l.Items)
		}
	})
	return nil
}

// writeSnapshots prints the states of a list, one a line.
func writeSnapshots(w *render.Writer, list []todo.Snapshot, quiet bool) {
	table := w.Table()
	for _, s := range list {
		if quiet {
			w.Linef("%s", s.ID)
			continue
		}
		by := s.By
		if s.Human {
			by = "a person"
		}
		what := s.What
		if s.Kind == "snapshot" {
			what = "written"
		}
		if s.Kind == "rewind" {
			what = "rewind " + what
		}
		table.Row(s.ID, w.AgoMs(s.At), by, countsOf(s), what)
	}
	table.Flush()
	if len(list) == 0 && !quiet {
		w.Linef("nothing was written yet")
	}
}

func countsOf(s todo.Snapshot) string {
	items := make([]todo.Item, 0, s.Items)
	for _, status := range todo.Statuses() {
		for range s.Count[status] {
			items = append(items, todo.Item{Status: status})
		}
	}
	return todoCounts(items)
}
