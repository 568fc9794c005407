package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
	"github.com/seed6990a682/teams/internal/todo"
)

var todoWriteEntry = Entry{
	Path:    "todo write",
	Group:   groupPeople,
	Summary: "Write the whole checklist anew, from Markdown or JSON",
	Examples: []string{
		"teams todo write - < plan.md",
		"teams todo list --markdown > plan.md && edit plan.md && teams todo write @plan.md",
		`teams todo write "[>] write the parser"`,
	},
	Quick: true,
	New:   func() Command { return new(todoWriteCmd) },
}

type todoWriteCmd struct {
	Body *string `arg:"" optional:"" name:"text" complete:"text" help:"The list; - reads it from stdin, as without it, @FILE from a file."`
}

func (c *todoWriteCmd) Help() string {
	return `A Markdown checklist:

  ## a phase
  - [ ] pending
  - [>] in progress
  - [x] completed
  - [-] abandoned
  - [!] blocked — what it waits for

or JSON: a list of {"content","status","blocker","phase"}, or an object that has it as items.

What is not written is no longer in the list; a text without any item is refused, and '[]' empties the list. An item keeps its id for as long as its content is the same; in JSON an item may have its "id", and then its content may change. What a person has marked as done stays completed. In a teammate's list one item is in progress; of several the first stays so and the others become pending.`
}

func (c *todoWriteCmd) Run(ctx context.Context, e *Env) error {
	t, owner, err := e.todoOwner()
	if err != nil {
		return err
	}
	arg := "-"
	if c.Body != nil {
		arg = *c.Body
	} else if e.StdinIsTerminal() {
		return errs.New(errs.Usage, "a list is needed").WithHint("teams todo write - reads it from stdin")
	}
	text, err := e.Text(arg)
	if err != nil {
		return err
	}
	items, err := todo.Parse(text)
	if err != nil {
		return err
	}
	// A pipe whose other end failed must not cost the list.
	if bare := strings.TrimSpace(text); len(items) == 0 && !strings.HasPrefix(bare, "[") && !strings.HasPrefix(bare, "{") {
		return errs.New(errs.Usage, "the text holds no item, and the list stays as it is").WithHint("teams todo write '[]' empties it")
	}
	ch, err := t.TodoWrite(ctx, owner, items)
	e.warnProblems(ch.Problems)
	if err != nil {
		return err
	}
	e.Result(changedTodo(owner, ch), func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", ch.ID)
			return
		}
		of := "todo list"
		if owner != team.LeaderName {
			of += " of " + owner
		}
		switch n := len(ch.Snapshots); {
		case !ch.Changed:
			w.Linef("No change: todo list already matches.")
		case len(ch.Items) == 0 && n > 1:
			w.Linef("Emptied %s; teams todo rewind %s brings back what it had.", of, ch.Snapshots[n-2].ID)
		default:
			w.Linef("Updated %s: %s.", of, todoCounts(ch.Items))
		}
		say := func(label string, list []string) {
			if len(list) > 0 {
				w.Linef("%s: %s", label, strings.Join(list, " | "))
			}
		}
		say("Completed", ch.Completed)
		say("Open again", ch.Reopened)
		say("Completed still, because a person said so", ch.Kept)
		say("Normalized", ch.Normalized)
	})
	return nil
}
