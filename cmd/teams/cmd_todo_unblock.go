package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/todo"
)

var todoUnblockEntry = Entry{
	Path:     "todo unblock",
	Group:    groupPeople,
	Summary:  "Make a blocked item of the checklist pending again",
	Examples: []string{"teams todo unblock i_3", "teams todo unblock deploy --as ann"},
	Quick:    true,
	New:      func() Command { return new(todoUnblockCmd) },
}

type todoUnblockCmd struct {
	Item string `arg:"" complete:"todo" help:"Its id, its content, or a part of it that no other has."`
}

func (c *todoUnblockCmd) Help() string {
	return "Its blocker is gone then."
}

func (c *todoUnblockCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	ch, err := t.TodoEdit(ctx, owner, todo.OpUnblock, c.Item)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.todoEdited(owner, ch, "unblocked")
	return nil
}
