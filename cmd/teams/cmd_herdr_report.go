package main

import (
	"context"
	"path/filepath"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrReportEntry = Entry{
	Path:     "herdr report",
	Group:    groupRuns,
	Summary:  "Show the runs, or else the board, on this pane once",
	Examples: []string{"teams herdr report", "teams herdr report --pane w1:p2 --applies-to herdr:pi"},
	New:      func() Command { return new(herdrReportCmd) },
}

// herdrPaneFlags name the pane that a line is shown on.
type herdrPaneFlags struct {
	herdrFlags
	Pane      string `placeholder:"ID" help:"The pane; else the one that this runs in."`
	AppliesTo string `placeholder:"SOURCE" default:"auto" help:"Bind the line to the agent of this source; auto: to Pi where its integration owns the pane."`
}

type herdrReportCmd struct{ herdrPaneFlags }

func (c *herdrReportCmd) Help() string {
	return "The line stays for a day, or until teams herdr clear; teams harness keeps one up. The state of the cell is never touched."
}

// pane is the stage for a line.
func (c *herdrPaneFlags) stage(e *Env) (*herdr.Stage, error) {
	client, err := e.herdrClient(c.herdrFlags)
	if err != nil {
		return nil, err
	}
	p, err := e.place()
	if err != nil {
		return nil, err
	}
	here := herdr.FindHere(e.getenv)
	if c.Pane != "" {
		here = herdr.Here{Pane: c.Pane}
	}
	if !here.Inside() {
		return nil, errs.New(errs.HerdrUnavailable, "this runs in no pane of herdr, %s is not set", herdr.EnvPane).WithHint("name one with --pane")
	}
	leases, err := e.leases(p)
	return &herdr.Stage{Client: client, Leases: leases, Here: here, AppliesTo: c.AppliesTo}, err
}

func (c *herdrReportCmd) Run(ctx context.Context, e *Env) error {
	st, err := c.stage(e)
	if err != nil {
		return err
	}
	line, err := e.herdrLine()
	if err != nil {
		return err
	}
	if err := st.Mirror(ctx, line); err != nil {
		return err
	}
	e.Result(lineData{line}, func(w *render.Writer) {
		if line == "" {
			w.Linef("nothing runs, the pane is cleared")
			return
		}
		w.Linef("%s", line)
	})
	return nil
}

// herdrLine is the line of the session: that of its runs, else of its board as
// one run, "" when there is nothing to do.
func (e *Env) herdrLine() (string, error) {
	p, err := e.place()
	if err != nil {
		return "", err
	}
	list, _, err := e.runs(p).List()
	if err != nil {
		return "", err
	}
	if line := herdr.Line(herdr.Visible(list)); line != "" {
		return line, nil
	}
	_, b, err := e.open()
	if err != nil {
		return "", err
	}
	tasks, err := b.Tasks()
	if err != nil {
		return "", err
	}
	run := herdr.Run{Name: filepath.Base(p.Project), Status: herdr.Running}
	open := false
	var oldest int64
	for _, t := range tasks {
		run.Total++
		switch {
		case t.State == fsboard.StateCompleted:
			run.Done++
		case t.State == fsboard.StateFailed:
			run.Status = herdr.NeedsHuman
		case t.State == fsboard.StateCancelled:
			run.Total--
		default:
			open = true
		}
		if t.Claim != nil && (oldest == 0 || t.Claim.ClaimedAt < oldest) {
			oldest, run.Phase = t.Claim.ClaimedAt, t.Subject
		}
	}
	if !open {
		return "", nil
	}
	return herdr.Line([]herdr.Run{run}), nil
}
