package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/todo"
)

var todoDoneEntry = Entry{
	Path:     "todo done",
	Group:    groupPeople,
	Summary:  "Mark an item of the checklist as completed",
	Examples: []string{"teams todo done i_3", "teams todo done parser --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoDoneCmd) },
}

type todoDoneCmd struct {
	Item string `arg:"" complete:"todo" help:"Its id, its content, or a part of it that no other has."`
}

func (c *todoDoneCmd) Help() string {
	return "What a person marks as done stays done, whatever its owner writes later; --as NAME does it in a teammate's list."
}

func (c *todoDoneCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	ch, err := t.TodoEdit(ctx, owner, todo.OpDone, c.Item)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.todoEdited(owner, ch, "done")
	return nil
}
