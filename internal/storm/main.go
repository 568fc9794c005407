// Command storm lets a real team work under random kills, full disks and jumps of
// the clock, and checks at the end that nothing was lost, doubled or left behind.
//
//	go run ./internal/storm                 30 s
//	go run ./internal/storm -for 10m
//	go run ./internal/storm -seed 7 -tasks 500
//
// It builds teams, makes a root and a project in a temporary directory, and has
// work loops, shells that claim and submit, residents that run a command,
// senders, receivers, a harness and ticks use them, at most a dozen processes at
// once. Any of them is killed with SIGKILL at any time. Where a small tmpfs can
// be mounted, the root lies on one that is filled up now and then. The wall clock
// of all of them is set by up to weeks, forward and back. When the time is over
// that stops, what is open is finished, and the promises are checked. It exits 1
// when one is broken, and keeps the root then.
//
// Nothing outside its directory and its own processes is changed: the clock that
// jumps is that of the program alone, which is built with another time.Now for
// it, and so stays as it is when -teams names a program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
)

// settings are the flags.
type settings struct {
	length time.Duration
	limit  time.Duration // for what is open when the time is over
	tasks  int           // how many at most
	pace   time.Duration // between two tasks
	seed   uint64
	teams  string // the program, "" to build it
	keep   bool
	disk   bool // fill the disk, where that is possible
	clock  bool // set the clock
	quiet  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "storm:", err)
	}
	os.Exit(code)
}

// run is the whole storm. The code is 0 when every promise held, 1 when one did
// not or the storm could not be run, 64 for a wrong flag.
func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	var s settings
	f := flag.NewFlagSet("storm", flag.ContinueOnError)
	f.DurationVar(&s.length, "for", 30*time.Second, "how long things go wrong")
	f.DurationVar(&s.limit, "finish", 2*time.Minute, "how long the team then has to finish")
	f.IntVar(&s.tasks, "tasks", 5000, "how many tasks at most")
	f.DurationVar(&s.pace, "pace", 0, "between two tasks, 0 for 120ms, or more when the storm is long")
	f.Uint64Var(&s.seed, "seed", 0, "of what is random, 0 for any; the order in which processes run stays as it comes")
	f.StringVar(&s.teams, "teams", "", "the program to use, instead of building it")
	f.BoolVar(&s.keep, "keep", false, "keep the root in any case")
	f.BoolVar(&s.disk, "disk", true, "fill the disk now and then, where a tmpfs can be mounted")
	f.BoolVar(&s.clock, "clock", true, "set the wall clock now and then, unless -teams is given")
	f.BoolVar(&s.quiet, "q", false, "print the end only")
	if err := f.Parse(args); err != nil {
		return 64, err
	}
	if s.pace == 0 {
		s.pace = max(120*time.Millisecond, s.length/2500) // a larger board takes the time of the rest
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	dir, err := os.MkdirTemp("", "teams-storm-")
	if err != nil {
		return 1, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return 1, err
	}
	kept := false
	defer func() {
		if !kept {
			os.RemoveAll(dir)
		}
	}()
	bin := filepath.Join(dir, "bin", "teams")
	switch {
	case s.teams != "":
		s.clock = false
		err = install(s.teams, bin)
	case s.clock:
		err = buildShifted(ctx, dir, bin)
	default:
		err = gobuild.Build(ctx, gobuild.Teams, bin)
	}
	if err != nil {
		return 1, err
	}
	w, err := newWorld(dir, bin, s, out)
	if err != nil {
		return 1, err
	}
	defer w.unmount()
	w.say("seed %d, root %s", s.seed, w.root)
	if w.noDisk != "" {
		w.say("the disk is not filled: %s", w.noDisk)
	}
	if !s.clock {
		w.say("the clock is not set")
	}
	w.rage(ctx)
	interrupted := ctx.Err() != nil
	if !interrupted {
		w.finish(ctx)
		w.check()
	}
	w.endAll()
	w.report()
	switch {
	case interrupted, ctx.Err() != nil:
		return 130, errors.New("interrupted")
	case len(w.violations) > 0 || s.keep:
		kept = true
		where := w.save()
		fmt.Fprintf(out, "the root is kept in %s\n", where)
	}
	if len(w.violations) > 0 {
		return 1, nil
	}
	return 0, nil
}

// install copies a program, so that it is called teams.
func install(from, bin string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		return err
	}
	return os.WriteFile(bin, data, 0o755)
}
