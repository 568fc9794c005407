package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/piext"
	"github.com/seed6990a682/teams/internal/render"
)

var piInstallEntry = Entry{
	Path:     "pi install",
	Group:    groupSetup,
	Summary:  "Write the extension of Pi, and the skill for any agent",
	Examples: []string{"teams pi install", "teams pi install --project", "teams pi install --tools pier"},
	New:      func() Command { return new(piInstallCmd) },
}

type piInstallCmd struct {
	Project bool   `help:"For this project only, in its .pi; else for all, in the root."`
	Tools   string `placeholder:"SET" help:"pier: also todo_write, subagent, terminal and ask_user_question."`
	Force   bool   `help:"Replace files that somebody has changed."`
}

func (c *piInstallCmd) Help() string {
	return "Pi loads the extension when it starts next, or at /reload. It uses the program that wrote it, while that is there; TEAMS_BIN names another one. " +
		"Written again, files become those of this version; one that somebody has changed is kept and named (exit 4). " +
		"To remove it, delete the files. --tools pier also writes the role task, unless there is one."
}

func (c *piInstallCmd) Check() error {
	if c.Tools != "" && c.Tools != "pier" {
		return errs.New(errs.Usage, "there are no tools %q, only pier", c.Tools)
	}
	return nil
}

// installedData is the data of pi install.
type installedData struct {
	Files []piext.File `json:"files"`
}

func (c *piInstallCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return errs.New(errs.Failure, "cannot find the teams program: %w", err)
	}
	target := piext.Target{Dir: t.Root, Within: t.Root, Force: c.Force, Options: piext.Options{Binary: program, Pier: c.Tools == "pier"}}
	elsewhere := ""
	if c.Project {
		target.Dir, target.Within = filepath.Join(t.Project, ".pi"), t.Project
	} else if agent := piAgentDir(e); !sameDir(agent, t.Root) {
		elsewhere = agent
	}
	files, err := piext.Install(target)
	if err != nil {
		return err
	}
	var kept []string
	for _, f := range files {
		if f.State == piext.Kept && !strings.HasSuffix(f.Path, "/agents/task.md") {
			kept = append(kept, f.Path)
		}
	}
	show := func(w *render.Writer) {
		table := w.Table()
		for _, f := range files {
			if e.Quiet {
				w.Linef("%s", f.Path)
				continue
			}
			table.Row(string(f.State), f.Path)
		}
		table.Flush()
		if elsewhere != "" && !e.Quiet {
			w.Linef("Pi looks in %s by itself: start it with PI_CODING_AGENT_DIR=%s", elsewhere, t.Root)
		}
	}
	if len(kept) > 0 {
		err := errs.New(errs.Conflict, "kept %s: somebody has changed it", strings.Join(kept, " and ")).WithHint("teams pi install --force replaces it")
		return e.Fail(err, installedData{files}, show)
	}
	e.Result(installedData{files}, show)
	return nil
}

// writePiExtension writes the extension of a resident.
func writePiExtension(path string) error {
	program, err := os.Executable()
	if err != nil {
		return errs.New(errs.Failure, "cannot find the teams program: %w", err)
	}
	return piext.WriteResident(path, program)
}

// piAgentDir is where Pi keeps its global files.
func piAgentDir(e *Env) string {
	if dir := e.Getenv("PI_CODING_AGENT_DIR"); dir != "" {
		return dir
	}
	home := e.Getenv("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".pi", "agent")
}

// sameDir says whether two paths name one directory; "" is none, and nobody
// needs to hear about it.
func sameDir(a, b string) bool {
	if a == "" || filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
