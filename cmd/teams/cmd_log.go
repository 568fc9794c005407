package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var logEntry = Entry{
	Path:     "log",
	Group:    groupBoard,
	Summary:  "Show what happened on the board",
	Examples: []string{"teams log", "teams log t_12", "teams log --since 1h", "teams log --follow"},
	New:      func() Command { return new(logCmd) },
}

type logCmd struct {
	ID     string    `arg:"" optional:"" complete:"task" help:"Only what happened to this task."`
	Since  *Duration `placeholder:"DURATION" help:"Only the last while, such as 1h or 2d."`
	Follow bool      `help:"Go on showing what happens, until interrupted."`
}

func (c *logCmd) Help() string {
	return "With -q it prints the tasks that something has happened to, each once; with --follow that of each event as it comes."
}

func (c *logCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	f := fsboard.HistoryFilter{Task: taskIDArg(c.ID), Since: since(c.Since, fsx.Now())}
	if f.Task != "" {
		if _, err := b.Show(f.Task); err != nil {
			return err
		}
	}
	events, torn, err := b.History(f)
	if err != nil {
		return err
	}
	if torn > 0 {
		e.Warnf("%d lines of the history cannot be read", torn)
	}
	if c.Follow {
		return c.follow(ctx, e, t, b, f, events)
	}
	if events == nil {
		events = []fsboard.Event{}
	}
	e.Result(struct {
		Events []fsboard.Event `json:"events"`
		Total  int             `json:"total"`
	}{events, len(events)}, func(w *render.Writer) {
		if e.Quiet {
			writeEventTasks(w, events)
			return
		}
		shown := events[len(events)-w.Shown(len(events), 0):]
		writeEvents(w, shown)
		w.Showing(len(shown), len(events))
		if len(events) == 0 {
			w.Linef("nothing has happened")
		}
	})
	return nil
}

// writeEventTasks writes the tasks that something has happened to, each once.
func writeEventTasks(w *render.Writer, events []fsboard.Event) {
	seen := map[string]bool{}
	for i := range events {
		if id := events[i].Task; id != "" && !seen[id] {
			seen[id] = true
			w.Linef("%s", id)
		}
	}
}

func writeEvents(w *render.Writer, events []fsboard.Event) {
	table := w.Table()
	for i := range events {
		ev := &events[i]
		table.Row(ev.Task, w.TimeMs(ev.At), ev.Describe())
	}
	table.Flush()
}

// follow prints events as they come.
func (c *logCmd) follow(ctx context.Context, e *Env, t *team.Team, b *fsboard.Board, f fsboard.HistoryFilter, events []fsboard.Event) error {
	poll, err := e.poll()
	if err != nil {
		return err
	}
	w := t.NewWaiter(poll)
	defer w.Close()
	for {
		for i := range events {
			ev := &events[i]
			f.After, f.Since = ev.Rev, 0
			err := e.Stream(ev, func(w *render.Writer) {
				if e.Quiet {
					writeEventTasks(w, events[i:i+1])
					return
				}
				w.Row(ev.Task, time.UnixMilli(ev.At).Local().Format(time.TimeOnly), ev.Describe())
			})
			if err != nil {
				return err
			}
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
		if events, _, err = b.History(f); err != nil {
			return err
		}
	}
}
