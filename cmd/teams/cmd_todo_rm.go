package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/todo"
)

var todoRmEntry = Entry{
	Path:     "todo rm",
	Group:    groupPeople,
	Summary:  "Take an item out of the checklist",
	Examples: []string{"teams todo rm i_3", "teams todo rm benchmarks --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoRmCmd) },
}

type todoRmCmd struct {
	Item string `arg:"" complete:"todo" help:"Its id, its content, or a part of it that no other has."`
}

func (c *todoRmCmd) Help() string {
	return "If its owner writes it again it gets the same id back."
}

func (c *todoRmCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	ch, err := t.TodoEdit(ctx, owner, todo.OpRemove, c.Item)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.todoEdited(owner, ch, "removed")
	return nil
}
