package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/team"
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
