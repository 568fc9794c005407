package main

import (
	"context"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var taskListEntry = Entry{
	Path:     "task list",
	Group:    groupBoard,
	Summary:  "List the tasks of the board",
	Examples: []string{"teams task list", "teams task list --state ready,claimed", "teams task list --mine -q"},
	New:      func() Command { return new(taskListCmd) },
	Quick:    true,
}

type taskListCmd struct {
	State    []string `placeholder:"STATE,..." complete:"state" help:"Only tasks in these states: ready, claimed, submitted, verifying, waiting, blocked, completed, failed, cancelled."`
	Mine     bool     `help:"Only the tasks that I hold."`
	Tag      []string `sep:"none" placeholder:"TAG" help:"Only tasks with this tag; may be repeated."`
	Role     string   `placeholder:"AGENT" complete:"agent" help:"Only tasks for this agent."`
	Limit    int      `placeholder:"N" help:"Show at most N (50 on a terminal)."`
	Archived bool     `help:"The archived tasks instead."`
}

// ReadPlain implements plainReader.
func (c *taskListCmd) ReadPlain(args []string) bool { return len(args) == 0 }

func (c *taskListCmd) Run(_ context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	f := fsboard.Filter{Tags: c.Tag, Role: c.Role}
	if f.States, err = parseStates(c.State); err != nil {
		return err
	}
	if c.Limit < 0 {
		return errs.New(errs.Usage, "--limit %d is negative", c.Limit)
	}
	if c.Mine {
		f.Holder = t.Reader().Name
	}
	limit := c.Limit
	if limit == 0 && !e.JSON {
		limit = e.writer().Shown(int(^uint(0)>>1), 0)
	}
	list, total, err := c.tasks(b, f, limit)
	if err != nil {
		return err
	}
	e.Result(listData(list, total), func(w *render.Writer) {
		e.writeIDsOr(w, list, writeTaskList)
		if !e.Quiet {
			if total == 0 {
				writeNone(w, b, f, c)
			}
			w.Showing(len(list), total)
		}
	})
	return nil
}

func (c *taskListCmd) tasks(b *fsboard.Board, f fsboard.Filter, limit int) ([]*fsboard.TaskView, int, error) {
	if !c.Archived {
		v, err := b.View()
		if err != nil {
			return nil, 0, err
		}
		return v.Tasks(f, limit)
	}
	all, err := b.Archived()
	if err != nil {
		return nil, 0, err
	}
	list := slices.DeleteFunc(all, func(t *fsboard.TaskView) bool {
		return !f.Selects(t) || len(f.States) > 0 && !slices.Contains(f.States, t.State)
	})
	total := len(list)
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, total, nil
}

// writeNone says why a list is empty.
func writeNone(w *render.Writer, b *fsboard.Board, f fsboard.Filter, c *taskListCmd) {
	if exists, err := b.Exists(); err == nil && !exists {
		w.Linef("the board is empty: %s", b.Dir())
		return
	}
	if len(f.States)+len(f.Tags) > 0 || f.Role != "" || c.Mine {
		w.Linef("no task matches")
		return
	}
	w.Linef("no tasks")
}

// parseStates checks the names of states.
func parseStates(names []string) ([]fsboard.State, error) {
	var out []fsboard.State
	for _, name := range names {
		s := fsboard.State(strings.TrimSpace(name))
		if !slices.Contains(fsboard.States(), s) {
			known := make([]string, 0, 9)
			for _, k := range fsboard.States() {
				known = append(known, string(k))
			}
			return nil, errs.New(errs.Usage, "%q is no state", name).WithHint("the states are %s", strings.Join(known, ", "))
		}
		out = append(out, s)
	}
	return out, nil
}
