package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/seed6990a682/teams/internal/demo"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var demoEntry = Entry{
	Path:     "demo",
	Group:    groupSetup,
	Summary:  "Show a leader and three workers at work, in a directory of its own",
	Examples: []string{"teams demo", "teams demo --keep"},
	New:      func() Command { return new(demoCmd) },
}

type demoCmd struct {
	Keep bool `help:"Leave the directory, and print how to look around in it."`
}

func (c *demoCmd) Help() string {
	return "It makes a project with a failing test and a root of its own in the temporary directory, and plays with real processes: " +
		"a gate fails once and passes after the fix, and a worker that is killed loses its task to another. " +
		"Exit 0 means that all of it was checked at the end. Your own root is not touched."
}

func (c *demoCmd) Run(ctx context.Context, e *Env) error {
	program, err := os.Executable()
	if err != nil {
		return errs.New(errs.Failure, "the program does not know where it is: %w", err)
	}
	o := demo.Options{Program: program, Keep: c.Keep, Environ: os.Environ()}
	if !e.JSON && !e.Quiet {
		o.Say = e.demoLine
	}
	r, err := demo.Run(ctx, o)
	text := func(w *render.Writer) { e.writeDemo(w, r) }
	if err != nil {
		return e.Fail(err, r, text)
	}
	e.Result(r, text)
	return nil
}

// demoLine prints one line of the story.
func (e *Env) demoLine(kind demo.Kind, line string) error {
	return e.Stream(nil, func(w *render.Writer) {
		switch kind {
		case demo.Text:
			w.Blank()
			for _, l := range render.Wrap(line, max(e.helpWidth(), 40)) {
				w.Linef("%s", l)
			}
		case demo.Command:
			w.Linef("  %s", render.Styled(render.Bold, "$ "+line))
		default:
			w.Linef("  %s", line)
		}
	})
}

// writeDemo ends the story: what stays, and what to do with it.
func (e *Env) writeDemo(w *render.Writer, r *demo.Result) {
	if e.Quiet {
		if r.Kept {
			w.Linef("%s", r.Dir)
		}
		return
	}
	w.Blank()
	if r.OK {
		w.Linef("All of it was done by real processes on plain files, in %s.", fmt.Sprintf("%.1f s", float64(r.DurationMs)/1000))
	}
	if !r.Kept {
		if r.Dir != "" {
			w.Linef("%s is removed; teams demo --keep leaves it for you to look around.", r.Dir)
		}
		return
	}
	w.Linef("Its directory stays. To look around:")
	for _, line := range []string{
		"export TEAMS_ROOT=" + team.Quote(r.Root) + ` PATH=` + team.Quote(r.Bin) + `:"$PATH"`,
		"cd " + team.Quote(r.Project),
		"teams task list",
		"teams task show t_1",
		"teams log t_2",
		`cat "$(teams where -q)/board.json"`,
		"rm -r " + team.Quote(strings.TrimRight(r.Dir, "/")),
	} {
		w.Linef("  %s", line)
	}
}
