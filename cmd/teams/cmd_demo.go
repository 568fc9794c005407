package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/demo"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var demoEntry = Entry{
	Path:     "demo",
	Group:    groupSetup,
	Summary:  "Show a leader and its workers at work, in a directory of its own",
	Examples: []string{"teams demo", "teams demo --keep"},
	New:      func() Command { return new(demoCmd) },
	// A second signal must not cut the cleaning up short.
	OwnSignals: true,
}

type demoCmd struct {
	Keep bool `help:"Leave the directory, and print how to look around in it."`
}

func (c *demoCmd) Help() string {
	return "It makes a project with a failing test and a root of its own in the temporary directory, and plays with real processes: " +
		"a gate fails once and passes after the fix, a worker that is killed loses its task to another, workers talk, and a resident is started, given a task and ended. " +
		"Exit 0 means that all of it was checked at the end. Your own root is not touched."
}

func (c *demoCmd) Run(ctx context.Context, e *Env) error {
	program, err := os.Executable()
	if err != nil {
		return errs.New(errs.Failure, "the program does not know where it is: %w", err)
	}
	ctx, stop := demoSignals(ctx, e)
	defer stop()
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

// demoSignals makes SIGINT, SIGTERM and SIGHUP end the demo. They do so once:
// its way out is short, and nobody else would clean up.
func demoSignals(ctx context.Context, e *Env) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	e.Go(func() {
		select {
		case sig := <-ch:
			name := sig.String()
			if s, ok := sig.(syscall.Signal); ok {
				name = unix.SignalName(s)
			}
			cancel(errs.New(errs.Interrupted, "interrupted by %s", name))
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		signal.Stop(ch)
		cancel(nil)
	}
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
