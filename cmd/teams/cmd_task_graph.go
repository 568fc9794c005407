package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

var taskGraphEntry = Entry{
	Path:     "task graph",
	Group:    groupBoard,
	Summary:  "Show which task waits for which",
	Examples: []string{"teams task graph", "teams task graph --dot | dot -Tsvg > board.svg"},
	New:      func() Command { return new(taskGraphCmd) },
}

type taskGraphCmd struct {
	Dot bool `help:"Print it for graphviz."`
}

func (c *taskGraphCmd) Run(_ context.Context, e *Env) error {
	_, b, err := e.look()
	if err != nil {
		return err
	}
	list, err := b.Tasks()
	if err != nil {
		return err
	}
	e.Result(listData(list, len(list)), func(w *render.Writer) {
		if c.Dot {
			w.Block(dot(list))
			return
		}
		if len(list) == 0 {
			w.Linef("no tasks")
		}
		writeGraph(w, list)
	})
	return nil
}

// writeGraph writes each task that waits for nothing, and below it, indented,
// what waits for it. A task that stands in several places is written out once.
func writeGraph(w *render.Writer, list []*fsboard.TaskView) {
	waiters := map[string][]*fsboard.TaskView{}
	known := map[string]bool{}
	for _, t := range list {
		known[t.ID] = true
		for _, d := range t.DependsOn {
			waiters[d] = append(waiters[d], t)
		}
	}
	done := map[string]bool{}
	// The board has no cycles, so the depth is bounded by the number of tasks;
	// an explicit stack keeps a long chain from growing the goroutine's.
	type item struct {
		t     *fsboard.TaskView
		depth int
	}
	for _, root := range list {
		if len(root.DependsOn) > 0 && anyKnown(root.DependsOn, known) {
			continue
		}
		stack := []item{{root, 0}}
		for len(stack) > 0 {
			it := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			lead := strings.Repeat("  ", it.depth)
			if it.depth > 0 {
				lead += "└ "
			}
			if done[it.t.ID] {
				w.Row(lead+it.t.ID, "(above)")
				continue
			}
			done[it.t.ID] = true
			w.Row(lead+it.t.ID, string(it.t.State), it.t.Subject)
			next := waiters[it.t.ID]
			for i := len(next) - 1; i >= 0; i-- {
				stack = append(stack, item{next[i], it.depth + 1})
			}
		}
	}
}

func anyKnown(ids []string, known map[string]bool) bool {
	for _, id := range ids {
		if known[id] {
			return true
		}
	}
	return false
}

// dot is the graph in the language of graphviz; an arrow points from a task to
// what waits for it.
func dot(list []*fsboard.TaskView) string {
	var b strings.Builder
	b.WriteString("digraph board {\n  rankdir=LR;\n  node [shape=box];\n")
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fsx.SafeLine(s)) + `"`
	}
	for _, t := range list {
		fmt.Fprintf(&b, "  %s [label=%s, tooltip=%s];\n", quote(t.ID), quote(t.ID+" "+t.Subject), quote(string(t.State)))
		for _, d := range t.DependsOn {
			fmt.Fprintf(&b, "  %s -> %s;\n", quote(d), quote(t.ID))
		}
	}
	b.WriteString("}\n")
	return b.String()
}
