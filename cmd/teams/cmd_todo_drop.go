package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/todo"
)

var todoDropEntry = Entry{
	Path:     "todo drop",
	Group:    groupPeople,
	Summary:  "Mark an item of the checklist as abandoned",
	Examples: []string{"teams todo drop i_3", "teams todo drop benchmarks --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoDropCmd) },
}

type todoDropCmd struct {
	Item string `arg:"" complete:"todo" help:"Its id, its content, or a part of it that no other has."`
}

func (c *todoDropCmd) Help() string {
	return "It stays in the list, and counts no more."
}

func (c *todoDropCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	ch, err := t.TodoEdit(ctx, owner, todo.OpDrop, c.Item)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.todoEdited(owner, ch, "abandoned")
	return nil
}
