package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/term"
)

var termOpenEntry = Entry{
	Path:     "term open",
	Group:    groupRuns,
	Summary:  "Open a shell that stays, in a pane of herdr or without one",
	Examples: []string{"id=$(teams term open -q)", "teams term open --cwd ./web --name dev"},
	New:      func() Command { return new(termOpenCmd) },
}

type termOpenCmd struct {
	Cwd     string    `placeholder:"DIR" complete:"dir" help:"Where it begins; else the working directory."`
	Name    string    `placeholder:"NAME" help:"A name by which it can be called instead of its id."`
	Host    string    `enum:"auto,herdr,pty" default:"auto" placeholder:"HOST" help:"herdr, pty, or auto: in a pane of herdr when this runs in one."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long for a prompt; 30s without it."`
}

func (c *termOpenCmd) Help() string {
	return "Directory, variables and jobs are kept from one command to the next. It prints the id and what the shell is at: prompt, busy or silent. At most 8 are open (4)."
}

func (c *termOpenCmd) Run(ctx context.Context, e *Env) error {
	t, terminals, err := e.openTerms()
	if err != nil {
		return err
	}
	cwd, err := filepath.Abs(c.Cwd)
	if err != nil {
		return err
	}
	if c.Cwd == "" {
		cwd = t.Cwd
	}
	holder, err := termHolder()
	if err != nil {
		return err
	}
	o := term.Options{Name: c.Name, Cwd: cwd, Shell: e.Getenv("SHELL"), Holder: holder, Env: os.Environ(), Limit: c.Timeout.Std()}
	if o.Pane, err = e.termPane(ctx, c.Host); err != nil {
		return err
	}
	if _, err := t.EnsureSession(); err != nil {
		return err
	}
	live := e.Live("waiting for the shell")
	defer live.Done()
	opened, err := terminals.Open(ctx, o)
	live.Done()
	if err != nil {
		return err
	}
	e.Result(terminalData{opened}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", opened.ID)
			return
		}
		w.Row(opened.ID, opened.Readiness, opened.Name, opened.Cwd)
	})
	return nil
}
