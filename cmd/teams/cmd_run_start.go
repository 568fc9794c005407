package main

import (
	"context"
	"errors"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var runStartEntry = Entry{
	Path:    "run start",
	Group:   groupRuns,
	Summary: "Begin a run: a named piece of work with a status that herdr shows",
	Examples: []string{
		"id=$(teams run start research_topic --total 40 -q)",
		"teams run start nightly --background --worktree --pid $$",
	},
	New: func() Command { return new(runStartCmd) },
}

type runStartCmd struct {
	Name       string `arg:"" help:"What it is called."`
	Pane       string `placeholder:"ID" help:"The pane of herdr that shows it."`
	Teammate   string `placeholder:"NAME" complete:"name" help:"The teammate that does it, whose pane shows it."`
	Background bool   `help:"Nobody watches it: its end is worth a notification."`
	Worktree   bool   `help:"Give it a git worktree, .pi/worktrees/run-ID, on branch pi/wf/run-ID."`
	Phase      string `placeholder:"TEXT" complete:"text" help:"What it is at."`
	Total      int    `placeholder:"N" help:"How many parts it has."`
	PID        int    `name:"pid" placeholder:"PID" help:"The process that does it: when that is gone, run reconcile fails the run."`
}

func (c *runStartCmd) Help() string {
	return "Without --pane or --teammate it is only mirrored on the cell that this runs in. Its state is reported, and its pane closed at the end, only where the pane was made by teams."
}

func (c *runStartCmd) Check() error {
	switch {
	case c.Pane != "" && c.Teammate != "":
		return errs.New(errs.Usage, "--pane and --teammate are two ways to say one thing, give one of them")
	case c.Total < 0:
		return errs.New(errs.Usage, "--total must not be negative")
	}
	return nil
}

func (c *runStartCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	run := &herdr.Run{Name: c.Name, Status: herdr.Spawned, Background: c.Background, Phase: c.Phase, Total: c.Total}
	if c.PID != 0 {
		p, err := fsx.ProcessOf(c.PID)
		if err != nil {
			return err
		}
		run.Process = &p
	}
	if err := c.place(ctx, e, t, run); err != nil {
		return err
	}
	if _, err := t.EnsureSession(); err != nil {
		return err
	}
	var free func(string) error
	if c.Worktree {
		run.Repo = t.Project
		free = func(id string) error { return herdr.FreeRunWorktree(ctx, t.Project, id) }
	}
	if err := runs.Create(run, free); err != nil {
		return err
	}
	if c.Worktree {
		if run, err = c.addWorktree(ctx, runs, run); err != nil {
			return err
		}
	}
	e.showRun(ctx, t.Place, &herdr.Run{}, run)
	e.Result(runData{run}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", run.ID)
			return
		}
		writeRun(w, run)
	})
	return nil
}

// addWorktree gives the run its worktree. Without it there is no run.
func (c *runStartCmd) addWorktree(ctx context.Context, runs *herdr.Runs, run *herdr.Run) (*herdr.Run, error) {
	undo := context.WithoutCancel(ctx)
	path, branch, err := herdr.AddRunWorktree(ctx, run.Repo, run.ID)
	if err == nil {
		var now *herdr.Run
		if _, now, err = runs.Update(ctx, run.ID, func(r *herdr.Run) error { r.Worktree, r.Branch = path, branch; return nil }); err == nil {
			return now, nil
		}
		err = errors.Join(err, herdr.RemoveRunWorktree(undo, &herdr.Run{ID: run.ID, Repo: run.Repo, Worktree: path, Branch: branch}))
	}
	_ = runs.Remove(undo, run.ID)
	return nil, err
}

// place finds the pane of the run, and the process of the teammate that does it.
func (c *runStartCmd) place(ctx context.Context, e *Env, t *team.Team, run *herdr.Run) error {
	if c.Teammate != "" {
		tm, err := t.Find(c.Teammate)
		if err != nil {
			return err
		}
		run.Teammate = tm.Name
		if p := tm.Process(); p.PID != 0 && run.Process == nil {
			run.Process = &p
		}
		leases, err := e.leases(t.Place)
		if err != nil {
			return err
		}
		if l, err := leases.Find(tm.SpawnID); err == nil && l != nil && l.Pane != "" {
			run.FromLease(l)
		}
		return nil
	}
	if c.Pane == "" {
		return nil
	}
	client, err := e.herdrClient(herdrFlags{})
	if err != nil {
		return err
	}
	p, err := client.Pane(ctx, c.Pane)
	if err != nil {
		return err
	}
	run.Pane, run.Terminal, run.Socket, run.Host = p.ID, p.Terminal, client.Path, fsx.Host()
	leases, err := e.leases(t.Place)
	if err != nil {
		return err
	}
	list, _, err := leases.List()
	if err != nil {
		return err
	}
	for i := range list {
		// Only what was made by us is ours to report on and to close, and never
		// the caller's own cell.
		if list[i].Of(client) && list[i].Terminal == p.Terminal && p.ID != herdr.FindHere(e.getenv).Pane {
			run.FromLease(&list[i])
			run.Pane = p.ID
		}
	}
	return nil
}

// writeRun writes a run for people.
func writeRun(w *render.Writer, r *herdr.Run) {
	status := string(r.Status)
	if r.Paused {
		status += ", paused"
	}
	w.Row(r.ID, herdr.MappingOf(r.Status).Icon+" "+status, r.Name, runProgress(r), r.Reason)
	if w.Expanded() {
		w.Linef("  started %s, changed %s", w.AgoMs(r.StartedAt), w.AgoMs(r.UpdatedAt))
		if r.Worktree != "" {
			w.Linef("  worktree %s on %s", r.Worktree, r.Branch)
		}
		if r.Teammate != "" {
			w.Linef("  teammate @%s", r.Teammate)
		}
	}
}
