package main

import (
	"context"
	"fmt"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var waitEntry = Entry{
	Path:    "wait",
	Group:   groupBoard,
	Summary: "Wait until tasks have ended, or are in a state",
	Examples: []string{
		"teams wait t_1 t_2",
		"teams wait --timeout 1h && echo all done",
		"teams wait t_1 --until claimed --any",
	},
	New: func() Command { return new(waitCmd) },
}

type waitCmd struct {
	IDs     []string  `arg:"" optional:"" name:"id" complete:"task" help:"The tasks; none means every task of the board."`
	Any     bool      `help:"The first of them is enough."`
	All     bool      `help:"All of them, as without it; without ids every task of the board."`
	Until   string    `placeholder:"STATE" complete:"state" help:"Wait for this state instead of the end."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124)."`
}

func (c *waitCmd) Help() string {
	return "Exit codes: 0 all were completed, or reached the state; 1 one ended as failed or cancelled; 3 no such task; 124 the time limit passed. " +
		"It only looks: teams tick or a harness beside it releases what dead workers hold."
}

func (c *waitCmd) Check() error {
	if c.Any && c.All {
		return errs.New(errs.Usage, "--any and --all contradict each other")
	}
	if c.Until != "" {
		_, err := parseStates([]string{c.Until})
		return err
	}
	return nil
}

func (c *waitCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	poll, err := e.poll()
	if err != nil {
		return err
	}
	ctx, cancel := deadline(ctx, c.Timeout)
	defer cancel()
	e.tellPolling(t, poll)
	live := e.Live("waiting")
	list, err := t.Wait(ctx, b, team.WaitRequest{
		IDs: idList(c.IDs), Any: c.Any, Until: fsboard.State(c.Until), Poll: poll,
		Progress: func(settled, all int) { live.Set(fmt.Sprintf("waiting, %d of %d settled", settled, all)) },
	})
	live.Done()
	if err != nil && list == nil {
		return err
	}
	text := func(w *render.Writer) {
		e.writeIDsOr(w, list, writeTaskList)
		if len(list) == 0 && !e.Quiet {
			w.Linef("no tasks")
		}
	}
	if err != nil {
		return e.Fail(waitTimedOut(err, "tasks"), listData(list, len(list)), text)
	}
	e.Result(listData(list, len(list)), text)
	return nil
}
