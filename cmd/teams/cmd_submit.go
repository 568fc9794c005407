package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var submitEntry = Entry{
	Path:    "submit",
	Group:   groupBoard,
	Summary: "Hand in the outcome of a task that I hold",
	Examples: []string{
		"teams submit --result - < report.md",
		"teams submit t_12",
		"teams submit t_12 --failed --result 'the API is gone'",
	},
	New:   func() Command { return new(submitCmd) },
	Quick: true,
}

type submitCmd struct {
	ID     string `arg:"" optional:"" complete:"task" help:"The task; without it the only one that I hold."`
	Status string `placeholder:"STATUS" help:"completed (as without it) or failed."`
	Failed bool   `help:"The same as --status failed."`
	Result string `placeholder:"TEXT" help:"What came of it; - reads it from stdin, @FILE from a file (preferred)."`
	NoWait bool   `help:"Return when the submission is on disk, without waiting for its verdict."`
}

// ReadPlain implements plainReader.
func (c *submitCmd) ReadPlain(args []string) bool {
	result, words, ok := cutFlag(args, "--result")
	if !ok || len(words) > 1 || hasFlag(words) {
		return false
	}
	c.Result = result
	if len(words) == 1 {
		c.ID = words[0]
	}
	return true
}

func (c *submitCmd) Help() string {
	return "Exit codes: 0 completed, or accepted as failed, or on disk with --no-wait; 1 the gate failed and the task is still mine; " +
		"3 no such task; 4 I do not hold it (any more); 75 it is on disk, and its verdict waits for another host; 124 the gate ran into its limit."
}

func (c *submitCmd) Check() error {
	switch c.Status {
	case "", "completed", "failed":
	default:
		return errs.New(errs.Usage, "--status %q is neither completed nor failed", c.Status)
	}
	if c.Failed && c.Status == "completed" {
		return errs.New(errs.Usage, "--failed and --status completed contradict each other")
	}
	if c.Failed {
		c.Status = "failed"
	}
	return nil
}

// submitData is the data of submit.
type submitData struct {
	Task    *fsboard.TaskView `json:"task"`
	Ready   []string          `json:"ready"`
	Verdict string            `json:"verdict"`
	Queued  bool              `json:"queued,omitempty"`
	Waiting string            `json:"waiting,omitempty"`
}

func (c *submitCmd) Run(ctx context.Context, e *Env) error {
	_, b, id, err := e.openAsWorker(ctx)
	if err != nil {
		return err
	}
	result, err := e.Text(c.Result)
	if err != nil {
		return err
	}
	task := taskIDArg(c.ID)
	if task == "" {
		if task, err = onlyHeld(b, id, "submit"); err != nil {
			return err
		}
	}
	live := e.Live("waiting for the verdict on " + task)
	r, err := b.Submit(ctx, fsboard.SubmitRequest{ID: task, Worker: id.Name, SpawnID: id.SpawnID, Status: c.Status, Result: result, NoWait: c.NoWait})
	live.Done()
	e.afterEnd(ctx, b, err)
	if err != nil {
		return err
	}
	data := submitData{Task: r.Task, Ready: r.Ready, Verdict: r.Verdict, Queued: r.Queued, Waiting: r.Waiting}
	if data.Ready == nil {
		data.Ready = []string{}
	}
	text := func(w *render.Writer) { e.writeSubmit(w, r) }
	if r.Waiting != "" && !c.NoWait {
		// It is on disk, but a script that goes on after this would do so too early.
		return e.Fail(errs.New(errs.Busy, "%s is submitted, and its verdict waits: %s", r.Task.ID, r.Waiting).
			WithHint("teams wait %s", r.Task.ID), data, text)
	}
	if r.Outcome == fsboard.OutcomeGateFailed {
		return e.Fail(gateError(r.Task.ID, r.Receipt), data, text)
	}
	e.Result(data, text)
	return nil
}

// gateError is the error for a gate that did not pass.
func gateError(id string, r *fsboard.Receipt) error {
	code := errs.GateFailed
	if r.Verdict == fsboard.VerdictTimedOut {
		code = errs.TimedOut
	}
	what := r.Summary()
	if id != "" {
		what = id + " stays claimed, " + what
	}
	err := errs.New(code, "%s", what)
	if id != "" {
		err = err.WithHint("see %s, mend it, then teams submit %s", r.Log, id)
	}
	return err.WithDetail("verdict", r.Verdict).WithDetail("log", r.Log)
}

// writeSubmit writes the verdict, what a failed gate printed last, and what
// became ready.
func (e *Env) writeSubmit(w *render.Writer, r *fsboard.SubmitResult) {
	if e.Quiet {
		w.Linef("%s", r.Task.ID)
		return
	}
	switch {
	case r.Waiting != "":
		w.Row(r.Task.ID, "submitted", "its verdict waits: "+r.Waiting)
	case r.Queued:
		w.Row(r.Task.ID, "submitted", r.Task.Subject)
	case r.Outcome == fsboard.OutcomeCompleted:
		w.Row(r.Task.ID, render.Symbol("completed"), "completed", gateNote(r.Receipt), r.Task.Subject)
	case r.Outcome == fsboard.OutcomeFailed:
		w.Row(r.Task.ID, "accepted as failed", string(r.Task.State), note(w, r.Task), r.Task.Subject)
	case r.Outcome == fsboard.OutcomeGateFailed:
		w.Block(team.GateTail(r.Receipt.Log))
		w.Row(r.Task.ID, render.Symbol("failed"), r.Receipt.Summary(), "log "+r.Receipt.Log)
	}
	if len(r.Ready) > 0 {
		w.Row("ready now:", strings.Join(r.Ready, " "))
	}
}

func gateNote(r *fsboard.Receipt) string {
	if r == nil {
		return ""
	}
	return r.Summary()
}
