package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

// Env is what a command gets beside its own flags: the global flags, the
// environment, its input, and the only ways to print.
type Env struct {
	Globals
	// Verb is the path of the running command, such as "task add".
	Verb string

	args           []string // the command line
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	exit           func(int) // ends the process when nothing else does

	opened *team.Team // the team that the verb works on

	ctx       context.Context
	cancel    context.CancelCauseFunc
	stdinRead bool
	signals   sync.Once // see HandleSignals

	concluded atomic.Bool

	mu       sync.Mutex // guards what follows, and writes to stdout
	outErr   error      // the first error of standard output
	result   *result
	streamed bool
	live     *Live
	crash    error // the first panic of a goroutine
}

// result is what a command handed over, printed when it has returned.
type result struct {
	data any
	text func(w *render.Writer)
}

func newEnv(stdin io.Reader, stdout, stderr io.Writer) *Env {
	e := &Env{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, exit: os.Exit}
	e.LockTimeout = Duration(10 * time.Second)
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e
}

// Getenv returns the value of an environment variable. One that is set but
// empty counts as not set.
func (e *Env) Getenv(name string) string { return e.getenv(name) }

// LockWait is how long to wait for a lock, always positive: --lock-timeout 0
// asks for one attempt.
func (e *Env) LockWait() time.Duration { return max(time.Duration(e.LockTimeout), time.Millisecond) }

// StdinIsTerminal reports whether a person may answer at standard input.
func (e *Env) StdinIsTerminal() bool { return isTerminal(e.stdin) }

// ChildOutput returns the writers for a child process that talks to the
// reader: with --json its output goes to standard error, because standard
// output carries JSON alone.
func (e *Env) ChildOutput() (stdout, stderr io.Writer) {
	if e.JSON {
		return e.stderr, e.stderr
	}
	return e.stdout, e.stderr
}

// ChildInput returns the reader for a child process that reads what teams was
// given.
func (e *Env) ChildInput() io.Reader { return e.stdin }

// Warnf prints a warning on standard error, one line.
func (e *Env) Warnf(format string, args ...any) {
	e.printErr("teams: warning: ", fmt.Sprintf(format, args...))
}

// printErr writes one line of safe text to standard error.
func (e *Env) printErr(prefix, text string) {
	e.clearLive()
	// Joined errors come one a line.
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	io.WriteString(e.stderr, prefix+fsx.SafeLine(text)+"\n")
}
