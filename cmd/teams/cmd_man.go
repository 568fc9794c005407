package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var manEntry = Entry{
	Path:    "man",
	Group:   groupSetup,
	Summary: "Print the manual page",
	Examples: []string{
		"teams man | man -l -",
		"teams man > ~/.local/share/man/man1/teams.1",
	},
	New:    func() Command { return new(manCmd) },
	NoJSON: true,
}

type manCmd struct{}

func (*manCmd) Help() string {
	return "It is written in the man macros of roff, made from what the help of each command says, and needs neither a home directory nor a root."
}

func (*manCmd) Run(_ context.Context, e *Env) error {
	page, err := manPage()
	if err != nil {
		return err
	}
	e.Result(nil, func(w *render.Writer) { w.Raw([]byte(page)) })
	return nil
}
