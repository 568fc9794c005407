package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/team"
)

var runStopEntry = Entry{
	Path:     "run stop",
	Group:    groupRuns,
	Summary:  "Give a run up: it fails, its pane closes and its worktree goes",
	Examples: []string{"teams run stop research_topic-1"},
	New:      func() Command { return new(runStopCmd) },
}

type runStopCmd struct {
	ID string `arg:"" complete:"run" help:"The run."`
}

func (c *runStopCmd) Help() string {
	return "Changes in the worktree that are not committed are committed on its branch first; the branch goes only when all of it is merged. Of a run that is over already only pane and worktree go."
}

func (c *runStopCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	_, after, err := runs.Update(ctx, c.ID, func(r *herdr.Run) error {
		if !r.Status.Ended() {
			r.Status, r.Reason, r.Paused = herdr.Failed, "stopped", false
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err = e.endRun(ctx, t.Place, runs, after)
	// Whoever stops a run needs no notification of that.
	e.showRun(ctx, t.Place, after, after)
	if err != nil {
		return e.Fail(err, runData{after}, nil)
	}
	e.resultRun(after)
	return nil
}

// endRun takes away what a run has: its own pane, and its worktree.
func (e *Env) endRun(ctx context.Context, p team.Place, runs *herdr.Runs, r *herdr.Run) (*herdr.Run, error) {
	if st := e.stage(p, r); st != nil && r.Own {
		err := st.Stop(ctx, r)
		st.Leases.Note(st.Client.Path, err)
		if err == nil {
			_, now, uerr := runs.Update(ctx, r.ID, func(r *herdr.Run) error {
				r.Pane, r.Terminal, r.Own, r.SpawnID, r.Socket, r.Host = "", "", false, "", "", ""
				return nil
			})
			if uerr != nil {
				return r, uerr
			}
			r = now
		}
	}
	if r.Worktree == "" {
		return r, nil
	}
	if err := herdr.RemoveRunWorktree(ctx, r); err != nil {
		return r, err
	}
	_, now, err := runs.Update(ctx, r.ID, func(r *herdr.Run) error { r.Worktree = ""; return nil })
	if err != nil {
		return r, err
	}
	return now, nil
}
