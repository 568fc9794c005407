package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/term"
)

var termHoldEntry = Entry{
	Path:       "__terminal",
	Group:      groupRuns,
	Summary:    "Hold a terminal that teams term open has made",
	Examples:   []string{"teams __terminal DIR"},
	New:        func() Command { return new(termHoldCmd) },
	Hidden:     true,
	OwnSignals: true,
}

type termHoldCmd struct {
	Path string `arg:"" name:"dir" help:"Its directory."`
}

func (c *termHoldCmd) Run(ctx context.Context, _ *Env) error { return term.Hold(ctx, c.Path) }
