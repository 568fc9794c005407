package main

import (
	"context"
	"errors"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrWaitOutputEntry = Entry{
	Path:     "herdr wait-output",
	Group:    groupRuns,
	Summary:  "Wait until a pane has printed something, and print that line",
	Examples: []string{`teams herdr wait-output bob --match "tests passed" --timeout 5m`, `teams herdr wait-output w1:p2 --regex "[0-9]+ failed"`},
	New:      func() Command { return new(herdrWaitOutputCmd) },
}

type herdrWaitOutputCmd struct {
	herdrFlags
	Target  string    `arg:"" complete:"name" help:"A teammate, or the id of a pane."`
	Match   string    `placeholder:"TEXT" complete:"text" help:"What a line has in it."`
	Regex   string    `placeholder:"PATTERN" complete:"text" help:"What a line matches, in the syntax of herdr (Rust)."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124); 10m without it."`
}

func (c *herdrWaitOutputCmd) Help() string {
	return "Output that is there already counts, and so does a command that was typed: choose what the command itself does not contain."
}

func (c *herdrWaitOutputCmd) Check() error {
	if (c.Match == "") == (c.Regex == "") {
		return errs.New(errs.Usage, "give one of --match and --regex")
	}
	return checkRegex(c.Regex)
}

// checkRegex refuses what is a regular expression neither in Go nor in Rust,
// which is herdr's to check: Go knows no brackets in brackets.
func checkRegex(pattern string) error {
	if strings.Count(pattern, "[") > 1 {
		return nil
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	switch wrong.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrTrailingBackslash:
		return errs.New(errs.Usage, "--regex %q is no regular expression, %s", pattern, wrong.Code)
	}
	return nil
}

func (c *herdrWaitOutputCmd) Run(ctx context.Context, e *Env) error {
	control, target, err := e.herdrTarget(c.herdrFlags, c.Target)
	if err != nil {
		return err
	}
	ctx, cancel := limited(ctx, c.Timeout, 10*time.Minute)
	defer cancel()
	live := e.Live("waiting for output of " + c.Target)
	defer live.Done()
	line, err := control.WaitOutput(ctx, target, herdr.Match{Text: c.Match, Regex: c.Regex})
	live.Done()
	if err != nil {
		return err
	}
	e.Result(struct {
		Target string `json:"target"`
		Line   string `json:"line"`
	}{c.Target, line}, func(w *render.Writer) { w.Linef("%s", line) })
	return nil
}
