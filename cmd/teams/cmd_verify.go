package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var verifyEntry = Entry{
	Path:    "verify",
	Group:   groupBoard,
	Summary: "Run a task's gate without submitting, or any command as a gate",
	Usage:   []string{"teams verify ID", "teams verify [--timeout DURATION] -- CMD [ARG ...]"},
	Examples: []string{
		"teams verify t_12",
		"teams verify --timeout 2m -- go test ./...",
	},
	New: func() Command { return new(verifyCmd) },
}

type verifyCmd struct {
	ID      string    `arg:"" optional:"" complete:"task" help:"The task whose gate to run."`
	Timeout *Duration `placeholder:"DURATION" help:"Limit for CMD, 0 for none (10m)."`

	command []string
}

func (c *verifyCmd) Help() string {
	return "Exit codes: 0 it passed; 1 it did not; 4 the task has no gate, or its gate belongs to another host; 124 it ran into its limit. " +
		"Several words of CMD are passed as they are, a single one is a line for the shell. " +
		"With -q it prints the task, or the log of CMD."
}

// SetCommand takes what stands after --.
func (c *verifyCmd) SetCommand(argv []string) { c.command = argv }

func (c *verifyCmd) Check() error {
	switch {
	case c.ID == "" && len(c.command) == 0:
		return errs.New(errs.Usage, "a task, or -- and a command, is needed")
	case c.ID != "" && len(c.command) > 0:
		return errs.New(errs.Usage, "either a task or a command, not both")
	case c.ID != "" && c.Timeout != nil:
		return errs.New(errs.Usage, "the limit of a task's gate is that of the task").WithHint("teams task edit %s --verify-timeout DURATION", c.ID)
	}
	return nil
}

func (c *verifyCmd) Run(ctx context.Context, e *Env) error {
	var r fsboard.Receipt
	var err error
	if c.ID != "" {
		r, err = c.task(ctx, e)
	} else {
		r, err = c.anything(ctx, e)
	}
	if err != nil {
		return err
	}
	data := struct {
		Receipt fsboard.Receipt `json:"receipt"`
	}{r}
	text := func(w *render.Writer) {
		switch {
		case e.Quiet && c.ID != "":
			w.Linef("%s", taskIDArg(c.ID))
			return
		case e.Quiet:
			w.Linef("%s", r.Log)
			return
		}
		if r.Verdict != fsboard.VerdictPassed || w.Expanded() {
			w.Block(team.GateTail(r.Log))
		}
		took := render.Duration(time.Duration(r.DurationMs) * time.Millisecond)
		symbol := render.Symbol("completed")
		if r.Verdict != fsboard.VerdictPassed {
			symbol = render.Symbol("failed")
		}
		w.Row(symbol, r.Summary(), "took "+took, "sha256 "+r.OutputSHA256[:min(len(r.OutputSHA256), 12)], commitNote(r.Commit), "log "+r.Log)
	}
	if r.Verdict != fsboard.VerdictPassed {
		return e.Fail(gateError("", &r), data, text)
	}
	e.Result(data, text)
	return nil
}

func commitNote(commit string) string {
	if commit == "" {
		return ""
	}
	return "commit " + commit[:min(len(commit), 12)]
}

// task runs the gate of a task.
func (c *verifyCmd) task(ctx context.Context, e *Env) (fsboard.Receipt, error) {
	t, b, err := e.open()
	if err != nil {
		return fsboard.Receipt{}, err
	}
	if err := t.CheckLife(); err != nil {
		return fsboard.Receipt{}, err
	}
	id := taskIDArg(c.ID)
	live := e.Live("running the gate of " + id)
	defer live.Done()
	return b.RunGate(ctx, id)
}

// anything runs a command as a gate; its log stays in the temporary directory.
func (c *verifyCmd) anything(ctx context.Context, e *Env) (fsboard.Receipt, error) {
	timeout := 10 * time.Minute
	if c.Timeout != nil {
		timeout = c.Timeout.Std()
	}
	dir, err := os.Getwd()
	if err != nil {
		return fsboard.Receipt{}, err
	}
	f, err := os.CreateTemp("", "teams-verify-*.log")
	if err != nil {
		return fsboard.Receipt{}, err
	}
	f.Close()
	command := c.command[0]
	if len(c.command) > 1 {
		words := make([]string, len(c.command))
		for i, word := range c.command {
			words[i] = team.Quote(word)
		}
		command = strings.Join(words, " ")
	}
	live := e.Live("running " + c.command[0])
	defer live.Done()
	return team.RunCommand(ctx, dir, command, f.Name(), timeout)
}
