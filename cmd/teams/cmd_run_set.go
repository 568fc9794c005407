package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
)

var runSetEntry = Entry{
	Path:    "run set",
	Group:   groupRuns,
	Summary: "Change the status of a run, or how far it is",
	Examples: []string{
		"teams run set research_topic-1 workflow-running --phase Synthesize --done 12 --tokens 3200",
		`teams run set research_topic-1 needs-human --reason "which sources?"`,
		"teams run set research_topic-1 --done 13",
	},
	New: func() Command { return new(runSetCmd) },
}

type runSetCmd struct {
	ID     string   `arg:"" complete:"run" help:"The run."`
	Status string   `arg:"" optional:"" complete:"status" help:"spawned, workflow-running, workflow-complete-pane-open, needs-finalize, finalizing, completed, failed or needs-human."`
	Phase  *string  `placeholder:"TEXT" complete:"text" help:"What it is at."`
	Done   *int     `placeholder:"N" help:"How many parts are done."`
	Total  *int     `placeholder:"N" help:"How many parts it has."`
	Tokens *int64   `placeholder:"N" help:"How many tokens it has used."`
	Cost   *float64 `placeholder:"X" help:"What it has cost."`
	Reason *string  `placeholder:"TEXT" complete:"text" help:"Why."`
	Reopen bool     `help:"Take a run up again that is completed or failed."`
}

func (c *runSetCmd) Help() string {
	return "A run that is completed or failed stays so without --reopen, and only one that is active or needs attention can become completed. " +
		"What herdr shows follows: a run that is completed closes its own pane, one that needs somebody blocks its cell and notifies."
}

func (c *runSetCmd) Check() error {
	if c.Status == "" && c.Phase == nil && c.Done == nil && c.Total == nil && c.Tokens == nil && c.Cost == nil && c.Reason == nil {
		return errs.New(errs.Usage, "nothing is to be changed, give a status or a flag").WithHint("teams run set %s --done 1", c.ID)
	}
	if c.Done != nil && *c.Done < 0 || c.Total != nil && *c.Total < 0 || c.Tokens != nil && *c.Tokens < 0 || c.Cost != nil && *c.Cost < 0 {
		return errs.New(errs.Usage, "numbers of a run must not be negative")
	}
	return nil
}

func (c *runSetCmd) Run(ctx context.Context, e *Env) error {
	change := herdr.Change{Phase: c.Phase, Done: c.Done, Total: c.Total, Tokens: c.Tokens, Cost: c.Cost, Reason: c.Reason, Reopen: c.Reopen}
	if c.Status != "" {
		var err error
		if change.Status, err = herdr.ParseStatus(c.Status); err != nil {
			return err
		}
	}
	t, runs, err := e.openRuns()
	if err != nil {
		return err
	}
	before, after, err := runs.Set(ctx, c.ID, change)
	if err != nil {
		return err
	}
	e.showRun(ctx, t.Place, before, after)
	e.resultRun(after)
	return nil
}
