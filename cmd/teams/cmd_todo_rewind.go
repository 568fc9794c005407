package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var todoRewindEntry = Entry{
	Path:     "todo rewind",
	Group:    groupPeople,
	Summary:  "Make an earlier state of the checklist the present one",
	Examples: []string{"teams todo rewind s_4", "teams todo rewind s_4 --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoRewindCmd) },
}

type todoRewindCmd struct {
	ID string `arg:"" complete:"snapshot" help:"The id of the state, from todo list --snapshots or the snapshot of a write."`
}

func (c *todoRewindCmd) Help() string {
	return "For a switch to another branch. Nothing is lost: the states in between can be gone to in the same way. " +
		"What a person has marked as done stays done, unless it is a person who goes back."
}

func (c *todoRewindCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	ch, err := t.TodoRewind(ctx, owner, c.ID)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.Result(changedTodo(owner, ch), func(w *render.Writer) {
		switch {
		case e.Quiet:
			w.Linef("%s", ch.ID)
		case ch.Changed:
			w.Linef("%s is %s again: %s", ch.ID, c.ID, todoCounts(ch.Items))
		default:
			w.Linef("No change: the list is that of %s.", c.ID)
		}
	})
	return nil
}
