package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var gcEntry = Entry{
	Path:     "gc",
	Group:    groupBoard,
	Summary:  "Archive old ended tasks, and remove old logs and read mail",
	Examples: []string{"teams gc --dry-run", "teams gc --tasks --older-than 7d", "teams gc --worktrees"},
	New:      func() Command { return new(gcCmd) },
}

type gcCmd struct {
	Tasks     bool      `help:"Only tasks, their files, and read mail."`
	Worktrees bool      `help:"Only worktrees that are clean and merged."`
	OlderThan *Duration `placeholder:"DURATION" help:"What counts as old (30d)."`
	DryRun    bool      `help:"Only tell what it would do."`
}

func (c *gcCmd) Help() string {
	return "A task is archived when it ended that long ago and nothing left on the board depends on it. Archived tasks keep their ids and keys, " +
		"and come back when they are reopened, edited or depended on.\n\n" +
		"With --worktrees the directory of each worktree goes that is clean and merged and that no teammate uses. Branches stay."
}

// gcData is the data of gc.
type gcData struct {
	Archived  []string `json:"archived"`
	Removed   []string `json:"removed"`
	Worktrees []string `json:"worktrees"`
	DryRun    bool     `json:"dryRun"`
}

func (c *gcCmd) Run(ctx context.Context, e *Env) error {
	_, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	age := 30 * 24 * time.Hour
	if c.OlderThan != nil {
		age = c.OlderThan.Std()
	}
	data := gcData{Archived: []string{}, Removed: []string{}, Worktrees: []string{}, DryRun: c.DryRun}
	if c.Tasks || !c.Worktrees {
		r, err := b.Collect(ctx, age, c.DryRun)
		if err != nil {
			return err
		}
		e.after(ctx, b)
		data.Archived = append(data.Archived, r.Archived...)
		data.Removed = append(data.Removed, r.Removed...)
		mail, err := e.opened.CollectMail(age, c.DryRun)
		if err != nil {
			return err
		}
		data.Removed = append(data.Removed, mail...)
	}
	var kept []team.KeptWorktree
	if c.Worktrees {
		removed, stay, err := e.opened.CollectWorktrees(ctx, c.DryRun)
		if err != nil {
			return err
		}
		kept, data.Worktrees = stay, append(data.Worktrees, removed...)
	}
	e.Result(data, func(w *render.Writer) {
		if e.Quiet {
			for _, id := range data.Archived {
				w.Linef("%s", id)
			}
			for _, path := range data.Worktrees {
				w.Linef("%s", path)
			}
			return
		}
		verb := ""
		if c.DryRun {
			verb = "would be "
		}
		for _, id := range data.Archived {
			w.Row(id, verb+"archived")
		}
		for _, path := range data.Removed {
			w.Row(verb+"removed", path)
		}
		for _, path := range data.Worktrees {
			w.Row(verb+"removed", path)
		}
		for _, k := range kept {
			w.Row("stays", k.Path, k.Why)
		}
		switch n := len(data.Archived) + len(data.Removed); {
		case n == 0 && (c.Tasks || !c.Worktrees):
			w.Linef("nothing is old enough")
		case n+len(data.Worktrees)+len(kept) == 0:
			w.Linef("no worktrees")
		}
	})
	return nil
}
