// Command bench measures what teams costs its user: whole processes, from the
// fork to the exit, beside a Go program that does nothing and beside other
// tools that do like things.
//
//	go run ./internal/bench            20 runs of everything, in less than 3 minutes
//	go run ./internal/bench -quick     a look, in less than 25 s
//	go run ./internal/bench -big       a board of 100,000 tasks too
//	go run ./internal/bench -n 50 -o bench.json
//
// It builds both programs as README says, and makes boards of 10, 100, 1,000
// and 10,000 tasks, and mailboxes of as many messages, with the built teams in
// a temporary directory, which it removes. The rows of one round run one after
// the other (A B C, C A B, …), so that a busy moment of the machine falls on all
// of them. What a row needs beforehand, and what undoes it, is not timed. The
// figures that count are ratios to the program that does nothing; milliseconds
// are those of one machine and one moment.
//
// nq, tsp, taskwarrior, mdeliver (of mblaze), amq and bd are measured too where
// they are in PATH, and claim, submit and send on a MooseFS that is mounted
// twice where that is installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	runs   int           // of each row
	large  int           // tasks of the largest board, unless big
	big    bool          // one ten times as large too
	quick  bool          // leave out what lies between the extremes
	crowds []int         // how many claimers at once
	window time.Duration // for how long they claim
	dir    string        // where the temporary directory is made
	teams  string        // the program to measure, "" to build it
	shared bool          // on a shared file system as well, where there can be one
	json   bool
	out    string
}

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(64)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures everything and prints it. The temporary directory is gone when
// it returns.
func run(args []string, stdout, stderr io.Writer) (err error) {
	s := settings{large: 10_000, crowds: []int{1, 2, 8, 64}, window: 4 * time.Second}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.runs, "n", 20, "runs of each row; 0 for the crowds of claimers alone")
	flags.StringVar(&s.dir, "dir", "", "where the temporary directory is made (default $TMPDIR)")
	flags.StringVar(&s.teams, "teams", "", "measure this `program` instead of building it")
	flags.BoolVar(&s.shared, "shared", true, "measure claim, submit and send on a file system that is mounted twice too (not with -quick)")
	flags.BoolVar(&s.json, "json", false, "print JSON instead of the table")
	flags.StringVar(&s.out, "o", "", "write JSON to this `file` as well")
	flags.Func("crowds", "how many claimers at once, a `list` (default 1,2,8,64)", func(list string) (err error) {
		s.crowds, err = numbers(list)
		return err
	})
	flags.BoolVar(&s.big, "big", false, "a board of 100,000 tasks too")
	flags.BoolVar(&s.quick, "quick", false, "5 runs of each row, and short crowds of 2 and 64 claimers")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if s.quick {
		s.runs, s.crowds, s.window, s.shared = 5, []int{2, 64}, 1200*time.Millisecond, false
	}
	if s.runs < 0 || flags.NArg() > 0 {
		flags.Usage()
		return flag.ErrHelp
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := measure(ctx, s, stderr)
	if err != nil {
		return err
	}
	if s.out != "" {
		f, err := os.Create(s.out)
		if err != nil {
			return err
		}
		if err := errors.Join(r.writeJSON(f), f.Close()); err != nil {
			return err
		}
	}
	if s.json {
		return r.writeJSON(stdout)
	}
	return r.writeTable(stdout)
}

// numbers reads a list such as 1,2,8.
func numbers(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", word)
		}
		out = append(out, n)
	}
	return out, nil
}

// sizes are the numbers of tasks of the boards, in order.
func (s *settings) sizes() []int {
	sizes := []int{small, s.large}
	if !s.quick {
		sizes = append(sizes, s.large/100, s.large/10)
	}
	if s.big {
		sizes = append(sizes, 10*s.large)
	}
	slices.Sort(sizes)
	return slices.Compact(slices.DeleteFunc(sizes, func(n int) bool { return n < small }))
}

// measure makes the temporary directory, builds, and runs the rounds.
func measure(ctx context.Context, s settings, progress io.Writer) (r *report, err error) {
	dir, err := os.MkdirTemp(s.dir, "teams-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	failed := func(more error) { err = errors.Join(err, more) }
	step := func(format string, args ...any) { fmt.Fprintf(progress, "bench: "+format+"\n", args...) }

	step("building")
	bin, err := build(ctx, dir, s.teams)
	if err != nil {
		return nil, err
	}
	r = &report{Machine: machineOf(dir), Runs: s.runs}
	if s.runs > 0 {
		step("making the boards")
		rows, undo, err := allRows(bin, dir, s, progress)
		defer undo()
		if err != nil {
			return nil, err
		}
		if s.shared {
			more, stop, serr := sharedRows(bin.teams, dir, progress)
			defer func() { failed(stop()) }()
			if serr != nil {
				return nil, serr
			}
			rows = append(rows, more...)
		}
		step("%d rounds of %d rows", s.runs, len(rows))
		if r.Rows, err = rounds(ctx, rows, s.runs); err != nil {
			return nil, err
		}
	}
	if s.runs > 0 {
		step("memory")
		if r.Memory, err = measureMemory(bin, dir, []int{small, s.large}); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
	}
	for _, n := range s.crowds {
		step("%d claimers at once", n)
		c, err := claimAtOnce(ctx, bin, dir, n, s.large, s.window)
		if err != nil {
			return nil, fmt.Errorf("%d claimers: %w", n, err)
		}
		r.Crowds = append(r.Crowds, c)
	}
	r.judge()
	r.compare()
	return r, nil
}
