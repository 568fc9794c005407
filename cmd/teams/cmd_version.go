package main

import (
	"context"
	"runtime"

	"github.com/seed6990a682/teams/internal/render"
)

// version is the version of teams; format is the version of what it writes to
// disk. They stand nowhere else.
const (
	version = "0.1.0"
	format  = 1
)

var versionEntry = Entry{
	Path:     "version",
	Group:    groupSetup,
	Summary:  "Print the version of teams and of its files",
	Examples: []string{"teams version", "teams version --json"},
	New:      func() Command { return new(versionCmd) },
	Bare:     true,
}

type versionCmd struct{}

// versionData is what version --json prints.
type versionData struct {
	Version string `json:"version"`
	Format  int    `json:"format"`
}

func (*versionCmd) Run(_ context.Context, e *Env) error {
	e.Result(versionData{version, format}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", version)
			return
		}
		w.Linef("teams %s (format %d, %s %s/%s)", version, format, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
	return nil
}
