package main

import (
	"context"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var agentsNewEntry = Entry{
	Path:    "agents new",
	Group:   groupTeam,
	Summary: "Write a filled definition of an agent, for you to adapt",
	Examples: []string{
		"teams agents new coder",
		`teams agents new auditor --shape reviewer --description "Read-only security review; use when authentication changed"`,
		`teams agents new porter --tools read,bash,edit --verify "make test" --worktree --scope project-local`,
	},
	New: func() Command { return new(agentsNewCmd) },
}

type agentsNewCmd struct {
	Name        string    `arg:"" help:"The name: a to z, 0 to 9, _ and -, at most 32, beginning with a letter."`
	Shape       string    `enum:"executor,reviewer,specialist,observer" default:"executor" placeholder:"SHAPE" help:"What it does: executor, reviewer, specialist or observer."`
	Description string    `placeholder:"TEXT" complete:"text" help:"What it does, and 'use when ...': the leader chooses by it."`
	Tools       *[]string `placeholder:"TOOL,..." help:"Its tools; else the usual ones of the shape."`
	Model       string    `placeholder:"PROVIDER/MODEL" help:"Its model; else the one of the leader."`
	Verify      string    `placeholder:"CMD" help:"The default gate for its tasks."`
	Worktree    bool      `help:"Give each of its teammates a git worktree."`
	Scope       string    `enum:"project,project-local,user" default:"project" placeholder:"SCOPE" help:"Where it is kept: project, project-local or user."`
}

func (c *agentsNewCmd) Help() string {
	return "The body has the five parts of a role prompt (teams guide roles): make its method fit the task. Nothing is ever overwritten."
}

func (c *agentsNewCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	if _, err := t.Leader(); err != nil {
		return err
	}
	description, err := e.Text(c.Description)
	if err != nil {
		return err
	}
	d := agentdefs.Draft{
		Name: c.Name, Shape: agentdefs.Shape(c.Shape), Description: description, Model: c.Model, Verify: c.Verify, Worktree: c.Worktree,
	}
	if c.Tools != nil {
		d.Tools = append([]string{}, *c.Tools...)
	}
	dirs := agentDirs(t.Place)
	a, err := agentdefs.Create(dirs, agentdefs.Scope(c.Scope), d)
	if err != nil {
		return err
	}
	set, err := agentdefs.Discover(dirs)
	if err != nil {
		return errs.New(errs.Failure, "%s was written, but %w", a.Path, err)
	}
	for _, p := range set.Check() {
		if p.Path == a.Path {
			e.Warnf("%v", p)
		}
	}
	if used, err := set.Resolve(a.Name); err == nil && used.Path != a.Path {
		e.Warnf("%s is used instead: its scope %s wins over %s", used.Path, string(used.Scope), string(a.Scope))
	}
	e.Result(agentData{shownAgent{a, a.Prompt}}, func(w *render.Writer) {
		switch {
		case e.Quiet:
			w.Linef("%s", a.Name)
		case w.Expanded():
			writeAgent(w, a)
			block(w, "prompt", a.Prompt)
		default:
			w.Row(a.Name, string(a.Scope), a.Path)
		}
	})
	return nil
}
