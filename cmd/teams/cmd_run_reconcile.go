package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
)

var runReconcileEntry = Entry{
	Path:     "run reconcile",
	Group:    groupRuns,
	Summary:  "Fail the runs whose process or pane is gone, as after a crash",
	Examples: []string{"teams run reconcile"},
	New:      func() Command { return new(runReconcileCmd) },
}

type runReconcileCmd struct{}

func (c *runReconcileCmd) Help() string {
	return "Runs that need attention or are over stay as they are, and so does a run of which nobody knows the process (run start --pid)."
}

func (c *runReconcileCmd) Run(ctx context.Context, e *Env) error {
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	list, _, err := runs.List()
	if err != nil {
		return err
	}
	owned := make([]*herdr.Run, 0, len(list))
	for i := range list {
		if list[i].Own {
			owned = append(owned, &list[i])
		}
	}
	var gone func(*herdr.Run) bool
	if st := e.stage(t.Place, owned...); st != nil && len(owned) > 0 {
		gone = st.Gone(ctx)
	}
	changed, problems, err := runs.Reconcile(ctx, gone)
	if err != nil {
		return err
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	for i := range changed {
		e.showRun(ctx, t.Place, &herdr.Run{Status: herdr.Running}, &changed[i])
	}
	e.resultRuns(changed, "nothing to reconcile")
	return nil
}
