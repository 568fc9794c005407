package main

import (
	"context"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/render"
)

var agentsShowEntry = Entry{
	Path:     "agents show",
	Group:    groupTeam,
	Summary:  "Show an agent: the definition that is used, what it shadows, its prompt",
	Examples: []string{"teams agents show reviewer", "teams agents show reviewer --json"},
	New:      func() Command { return new(agentsShowCmd) },
}

type agentsShowCmd struct {
	Name string `arg:"" complete:"agent" help:"The agent."`
}

// agentData is the data of the verbs about one agent.
type agentData struct {
	Agent shownAgent `json:"agent"`
}

// shownAgent is an agent with its prompt, also when that is empty.
type shownAgent struct {
	agentdefs.Agent
	Prompt string `json:"prompt"`
}

func (c *agentsShowCmd) Run(ctx context.Context, e *Env) error {
	set, err := e.agentSet(ctx)
	if set == nil {
		return err
	}
	a, missing := set.Resolve(c.Name)
	switch {
	case err != nil:
		return err // a directory is missing from the set: another definition might win
	case missing != nil:
		return missing
	}
	for _, p := range set.Broken(c.Name) {
		e.Warnf("%v", p)
	}
	e.agentResult(a)
	return nil
}

// agentResult hands over everything about one agent.
func (e *Env) agentResult(a agentdefs.Agent) {
	e.Result(agentData{shownAgent{a, a.Prompt}}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", a.Name)
			return
		}
		writeAgent(w, a)
		block(w, "prompt", a.Prompt)
	})
}
