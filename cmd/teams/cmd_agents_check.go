package main

import (
	"context"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var agentsCheckEntry = Entry{
	Path:     "agents check",
	Group:    groupTeam,
	Summary:  "Say which definitions cannot be used or are probably not as meant",
	Examples: []string{"teams agents check", "teams agents check --json"},
	New:      func() Command { return new(agentsCheckCmd) },
}

type agentsCheckCmd struct{}

func (c *agentsCheckCmd) Help() string {
	return "An error means that the file is not used: exit 1. A warning is about a definition that is used: a value that a comment cut off, " +
		"a body without boundary, evidence or terminal report, a read-only role with edit or write, a personal definition that git tracks. " +
		"A note is about a file that is no definition. Shadowed files are checked too."
}

func (c *agentsCheckCmd) Run(ctx context.Context, e *Env) error {
	set, err := e.agentSet(ctx)
	if set == nil {
		return err
	}
	data := agentsData{make([]agentdefs.Agent, 0, len(set.Agents)), set.Check()}
	for _, a := range set.Agents {
		a.Prompt = ""
		data.Agents = append(data.Agents, a)
	}
	failures := 0
	for _, p := range data.Problems {
		if p.Severity == agentdefs.Error {
			failures++
		}
	}
	text := func(w *render.Writer) { e.writeCheck(w, data) }
	if failures > 0 {
		return e.Fail(errs.New(errs.Findings, "%d of the findings are errors", failures), data, text)
	}
	return e.Fail(err, data, text)
}

// writeCheck writes findings one a line, as compilers do.
func (e *Env) writeCheck(w *render.Writer, data agentsData) {
	for _, p := range data.Problems {
		at := agentdefs.Problem{Path: p.Path, Line: p.Line, Message: string(p.Severity) + ": " + p.Message}
		if !e.Quiet || p.Severity == agentdefs.Error {
			w.Linef("%v", at)
		}
	}
	if len(data.Problems) == 0 && !e.Quiet {
		switch n := len(data.Agents); n {
		case 0:
			w.Linef("no agents, and nothing that is wrong")
		case 1:
			w.Linef("1 agent, nothing is wrong")
		default:
			w.Linef("%d agents, nothing is wrong", n)
		}
	}
}
