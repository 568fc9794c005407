package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/team"
	"github.com/seed6990a682/teams/internal/term"
	"github.com/seed6990a682/teams/internal/todo"
)

// candidate is one possible completion.
type candidate struct {
	Value string
	Help  string // shown beside it where the shell can; may be empty
}

// completer knows the values that are in use. kind is the text of a field's
// "complete" tag: "task", "name", "agent", "session", "message", ... It
// returns quickly, and nothing rather than an error.
type completer interface {
	Complete(ctx context.Context, kind, prefix string) []candidate
}

// newCompleter returns the completer for the session that e's global flags and
// environment name.
var newCompleter = func(e *Env) completer { return &sessionCompleter{e: e} }

type noCompleter struct{}

func (noCompleter) Complete(context.Context, string, string) []candidate { return nil }

// sessionCompleter completes from the files of a session.
type sessionCompleter struct{ e *Env }

// Complete returns what begins with prefix.
func (c *sessionCompleter) Complete(ctx context.Context, kind, prefix string) []candidate {
	var all []candidate
	switch kind {
	case "task":
		all = c.tasks()
	case "name":
		all = c.names()
	case "to":
		all = append(c.names(), candidate{team.LeaderName, "the leader"}, candidate{team.AllName, "every living teammate"})
	case "agent":
		all = c.agents()
	case "session":
		all = c.sessions()
	case "message":
		all = c.messages(ctx)
	case "ledger":
		all = c.ledger()
	case "ask":
		all = c.asks()
	case "todo":
		all = c.todo()
	case "snapshot":
		all = c.snapshots()
	case "term":
		if p, err := c.e.place(); err == nil {
			list, _, _ := terms(p).List()
			for _, t := range list {
				all = append(all, candidate{t.ID, t.State + " " + t.Name})
			}
		}
	case "key":
		for _, k := range term.Signals() {
			all = append(all, candidate{Value: k})
		}
	case "run":
		all = c.runs()
	case "status":
		for _, s := range herdr.Statuses() {
			all = append(all, candidate{Value: string(s)})
		}
	case "state":
		for _, s := range fsboard.States() {
			all = append(all, candidate{Value: string(s)})
		}
	}
	out := all[:0]
	for _, cand := range all {
		if strings.HasPrefix(cand.Value, prefix) {
			out = append(out, cand)
		}
	}
	return out
}

func (c *sessionCompleter) tasks() (out []candidate) {
	_, b, err := c.e.open()
	if err != nil {
		return nil
	}
	list, err := b.Tasks()
	if err != nil {
		return nil
	}
	for _, t := range list {
		out = append(out, candidate{t.ID, string(t.State) + " " + t.Subject})
	}
	return out
}

func (c *sessionCompleter) teammates() []team.Teammate {
	t, err := c.e.team()
	if err != nil {
		return nil
	}
	list, _, _ := t.List()
	return list
}

func (c *sessionCompleter) names() (out []candidate) {
	for _, tm := range c.teammates() {
		out = append(out, candidate{tm.Name, strings.TrimSpace(tm.Status + " " + tm.Agent)})
	}
	return out
}

// agents are those with a definition, then those that teammates say they are.
func (c *sessionCompleter) agents() (out []candidate) {
	seen := map[string]bool{}
	if p, err := c.e.place(); err == nil {
		set, _ := agentdefs.Discover(agentDirs(p))
		for _, a := range set.Agents {
			seen[a.Name] = true
			out = append(out, candidate{a.Name, foldLine(a.Description)})
		}
	}
	for _, tm := range c.teammates() {
		if tm.Agent != "" && !seen[tm.Agent] {
			seen[tm.Agent] = true
			out = append(out, candidate{Value: tm.Agent})
		}
	}
	return out
}

func (c *sessionCompleter) runs() (out []candidate) {
	p, err := c.e.place()
	if err != nil {
		return nil
	}
	list, _, _ := c.e.runs(p).List()
	for _, r := range list {
		out = append(out, candidate{r.ID, string(r.Status) + " " + r.Name})
	}
	return out
}

func (c *sessionCompleter) sessions() (out []candidate) {
	p, err := c.e.place()
	if err != nil {
		return nil
	}
	infos, _, _ := team.Sessions(p.Root)
	for _, s := range infos {
		out = append(out, candidate{s.Key, s.Project})
	}
	return out
}

func (c *sessionCompleter) messages(ctx context.Context) (out []candidate) {
	t, err := c.e.team()
	if err != nil {
		return nil
	}
	list, _, err := t.Inbox(ctx, t.Reader(), true)
	if err != nil {
		return nil
	}
	for _, m := range list {
		out = append(out, candidate{m.ID, m.From + " " + m.Title})
	}
	return out
}

func (c *sessionCompleter) ledger() (out []candidate) {
	t, err := c.e.team()
	if err != nil {
		return nil
	}
	rows, _, _ := t.Ledger()
	for _, row := range rows {
		out = append(out, candidate{row.TaskID, strings.Join(strings.Fields(row.Name+" "+row.Agent+" "+row.Status+" "+ledgerText(row)), " ")})
	}
	return out
}

func (c *sessionCompleter) asks() (out []candidate) {
	t, err := c.e.team()
	if err != nil {
		return nil
	}
	list, _, _ := t.Asks(false)
	for _, q := range list {
		out = append(out, candidate{q.ID, q.From + " " + q.Question})
	}
	return out
}

func (c *sessionCompleter) todo() (out []candidate) {
	for _, it := range c.todoList().Items {
		out = append(out, candidate{it.ID, string(it.Status) + " " + it.Content})
	}
	return out
}

func (c *sessionCompleter) snapshots() (out []candidate) {
	for _, s := range c.todoList().Snapshots {
		out = append(out, candidate{s.ID, strings.TrimSpace(s.By + " " + s.What)})
	}
	return out
}

func (c *sessionCompleter) todoList() todo.List {
	t, err := c.e.team()
	if err != nil {
		return todo.List{}
	}
	l, _ := t.Todo(t.Reader().Name)
	return l
}
