package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var todoTitleEntry = Entry{
	Path:     "todo title",
	Group:    groupPeople,
	Summary:  "Print the checklist as one line, as the title of a pane has it",
	Examples: []string{"teams todo title", "teams todo title --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoTitleCmd) },
}

type todoTitleCmd struct{}

func (c *todoTitleCmd) Help() string {
	return `▶ in progress, ○ pending, ■ blocked, ✓ completed; then how many of those not abandoned are completed, how long the rest takes at the pace of the last ones, and what is in progress. At most 80 cells; nothing for an empty list, and "✓3 done 16h" for one that was finished more than an hour ago.`
}

func (c *todoTitleCmd) Run(_ context.Context, e *Env) error {
	owner, l, err := e.readTodo()
	if err != nil {
		return err
	}
	d := listTodo(owner, l)
	e.Result(d, func(w *render.Writer) {
		if d.Title != "" {
			w.Linef("%s", d.Title)
		}
	})
	return nil
}
