package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var asksEntry = Entry{
	Path:     "asks",
	Group:    groupPeople,
	Summary:  "List the open questions to a person",
	Examples: []string{"teams asks", "teams asks --all"},
	New:      func() Command { return new(asksCmd) },
}

type asksCmd struct {
	All bool `help:"Also those that were settled within the last day."`
}

func (c *asksCmd) Help() string {
	return "A question whose asker was killed is shown once as abandoned and is then no longer open. " +
		"teams answer ID settles one, by its label, its number or a text."
}

func (c *asksCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.lookAtTeam()
	if err != nil {
		return err
	}
	// Without the right to write, the list is still worth showing.
	abandoned, sweepErr := t.SweepAsks(ctx)
	list, problems, err := t.Asks(c.All)
	if err != nil {
		return err
	}
	for _, p := range problems {
		e.Warnf("%s: %v", p.Path, p.Err)
	}
	if sweepErr != nil {
		e.Warnf("%v", sweepErr)
	}
	if !c.All {
		list = append(abandoned, list...)
	}
	if list == nil {
		list = []team.Question{}
	}
	e.Result(struct {
		Asks []team.Question `json:"asks"`
	}{list}, func(w *render.Writer) {
		if e.Quiet {
			for _, q := range list {
				if q.State == team.AskOpen || c.All {
					w.Linef("%s", q.ID)
				}
			}
			return
		}
		for _, q := range list {
			writeAsk(w, q)
		}
		if len(list) == 0 {
			w.Linef("no open questions")
		}
	})
	return nil
}

// writeAsk prints a question: id, who, since when, question, and what can be
// answered.
func writeAsk(w *render.Writer, q team.Question) {
	what := ""
	if q.State != team.AskOpen {
		what = q.State
		if q.Answer != nil && q.Answer.Text != "" {
			what += ": " + strings.ReplaceAll(q.Answer.Text, "\n", ", ")
		}
	}
	choices := ""
	if len(q.Options) > 0 {
		parts := q.Numbered()
		if q.AllowOther {
			parts = append(parts, "or any text")
		}
		if choices = strings.Join(parts, "  "); q.Multi {
			choices += "  (several)"
		}
	}
	if w.Expanded() {
		w.Row(q.ID, "@"+q.From, w.AgoMs(q.CreatedAt), what)
		w.Block(q.Question)
		for _, o := range q.Numbered() {
			w.Linef("  %s", o)
		}
		w.Blank()
		return
	}
	w.Row(q.ID, "@"+q.From, w.AgoMs(q.CreatedAt), what, render.Fold(q.Question), choices)
}
