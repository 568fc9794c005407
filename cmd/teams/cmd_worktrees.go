package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var worktreesEntry = Entry{
	Path:     "worktrees",
	Group:    groupTeam,
	Summary:  "List the git worktrees of teammates",
	Examples: []string{"teams worktrees", "teams worktrees -q"},
	New:      func() Command { return new(worktreesCmd) },
}

type worktreesCmd struct{}

func (c *worktreesCmd) Help() string {
	return "A worktree is clean when nothing in it is left to be committed; ignored files do not count. " +
		"It is merged when the HEAD of the main checkout has all its commits. " +
		"Those that are both, and that no teammate uses, are removed by teams gc --worktrees; the branches stay."
}

func (c *worktreesCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	list, err := t.Worktrees(ctx)
	if err != nil {
		return err
	}
	e.Result(struct {
		Worktrees []team.Worktree `json:"worktrees"`
	}{list}, func(w *render.Writer) {
		if e.Quiet {
			for _, tree := range list {
				w.Linef("%s", tree.Path)
			}
			return
		}
		table := w.Table()
		table.Right(2)
		for _, tree := range list {
			name := ""
			if tree.Teammate != "" {
				name = "@" + tree.Teammate
			}
			table.Row(name, tree.Branch, render.Bytes(tree.Bytes), worktreeState(tree), tree.Path)
		}
		table.Flush()
		if len(list) == 0 {
			w.Linef("no worktrees in %s", t.Project)
		}
	})
	return nil
}

// worktreeState says in words how a worktree stands.
func worktreeState(tree team.Worktree) string {
	if tree.Problem != "" {
		return tree.Problem
	}
	state := "clean"
	if tree.Dirty {
		state = "dirty"
	}
	if tree.Merged {
		state += ", merged"
	} else {
		state += ", not merged"
	}
	if tree.InUse {
		state += ", in use"
	}
	return state
}
