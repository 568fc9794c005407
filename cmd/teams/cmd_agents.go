package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/render"
)

var agentsEntry = Entry{
	Path:     "agents",
	Group:    groupTeam,
	Summary:  "List the agents: the roles that teammates are started from",
	Examples: []string{"teams agents", "teams agents -x", "teams agents --json"},
	New:      func() Command { return new(agentsCmd) },
}

type agentsCmd struct{}

func (c *agentsCmd) Help() string {
	return "Definitions lie in agents/ of the root (scope user), in .pi/agents/NAME.md of the project, and in .pi/agents/NAME.local.md " +
		"there (scope project-local). Of one name the last of these is used."
}

// agentsData is the data of agents.
type agentsData struct {
	Agents   []agentdefs.Agent   `json:"agents"`
	Problems []agentdefs.Problem `json:"problems"`
}

func (c *agentsCmd) Run(ctx context.Context, e *Env) error {
	set, err := e.agentSet(ctx)
	if set == nil {
		return err
	}
	data := agentsData{make([]agentdefs.Agent, 0, len(set.Agents)), set.Problems}
	for _, a := range set.Agents {
		a.Prompt = ""
		data.Agents = append(data.Agents, a)
	}
	return e.Fail(err, data, func(w *render.Writer) { e.writeAgents(w, set) })
}

// writeAgents writes agents one a line: name, scope, tools, what they are for.
func (e *Env) writeAgents(w *render.Writer, set *agentdefs.Set) {
	table := w.Table()
	for i, a := range set.Agents {
		switch {
		case e.Quiet:
			w.Linef("%s", a.Name)
		case w.Expanded():
			if i > 0 {
				w.Blank()
			}
			writeAgent(w, a)
		default:
			table.Row(a.Name, string(a.Scope), managed(a), strings.Join(a.Tools, ","), a.Model, agentMarks(a), foldLine(a.Description))
		}
	}
	table.Flush()
	if e.Quiet {
		return
	}
	if len(set.Agents) == 0 {
		w.Linef("no agents in %s; teams agents new NAME makes one", set.Directories())
	}
	switch n := len(set.Problems); n {
	case 0:
	case 1:
		w.Linef("1 file cannot be used: teams agents check")
	default:
		w.Linef("%d files cannot be used: teams agents check", n)
	}
}

// managed says whether a definition is shared through git.
func managed(a agentdefs.Agent) string {
	if a.GitManaged {
		return "git-managed"
	}
	return "local"
}

func agentMarks(a agentdefs.Agent) string {
	var marks []string
	if a.Verify != "" {
		marks = append(marks, "gate")
	}
	if a.Worktree {
		marks = append(marks, "worktree")
	}
	if len(a.Shadowed) > 0 {
		marks = append(marks, "shadows")
	}
	return strings.Join(marks, ",")
}

func foldLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// writeAgent writes everything about an agent but its prompt.
func writeAgent(w *render.Writer, a agentdefs.Agent) {
	w.Linef("%s  %s, %s  %s", a.Name, string(a.Scope), managed(a), a.Path)
	field := func(label, value, empty string) {
		if value == "" {
			value = empty
		}
		w.Linef("  %s: %s", label, value)
	}
	if strings.Contains(a.Description, "\n") {
		block(w, "description", a.Description)
	} else {
		field("description", a.Description, "none")
	}
	field("tools", strings.Join(a.Tools, ", "), "none")
	field("model", a.Model, "inherit")
	if strings.Contains(a.Verify, "\n") {
		block(w, "verify", a.Verify)
	} else {
		field("verify", a.Verify, "none")
	}
	worktree := "no"
	if a.Worktree {
		worktree = "yes"
	}
	field("worktree", worktree, "")
	for _, path := range a.Shadowed {
		field("shadows", path, "")
	}
}
