package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// crashGrace is how long a command may take to return after one of its
// goroutines panicked. Tests shorten it.
var crashGrace = 5 * time.Second

// Go runs f in a goroutine. A panic in it ends the command: the context is
// cancelled, and the program exits as after a panic in Run.
func (e *Env) Go(f func()) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				e.setCrash(e.panicError(v))
			}
		}()
		f()
	}()
}

// Group runs functions that belong together. The first error, or panic, of one
// cancels the context of all.
type Group struct {
	e      *Env
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

// Group returns an empty Group and the context for its functions.
func (e *Env) Group(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{e: e, cancel: cancel}, ctx
}

// Go runs f in a goroutine of the group.
func (g *Group) Go(f func() error) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		defer func() {
			if v := recover(); v != nil {
				g.fail(g.e.panicError(v))
			}
		}()
		if err := f(); err != nil {
			g.fail(err)
		}
	}()
}

func (g *Group) fail(err error) {
	g.once.Do(func() {
		g.err = err
		g.cancel(err)
	})
}

// Wait waits for every function and returns the first error.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(nil)
	return g.err
}

// panicError makes the error of a panic. The stack is for developers only.
func (e *Env) panicError(v any) error {
	if e.Getenv("TEAMS_DEBUG") != "" {
		stack := make([]byte, 64<<10)
		stack = stack[:runtime.Stack(stack, false)]
		e.clearLive()
		io.WriteString(e.stderr, "panic: "+fmt.Sprint(v)+"\n\n"+string(stack))
	}
	return errs.New(errs.Internal, "internal error, %v", v).
		WithHint("run it again with TEAMS_DEBUG=1 to see where, and report it")
}

// setCrash remembers the panic of a goroutine and makes the command return; if
// it does not, the program ends all the same.
func (e *Env) setCrash(err error) {
	e.mu.Lock()
	first := e.crash == nil
	if first {
		e.crash = err
	}
	e.mu.Unlock()
	if !first {
		return
	}
	e.cancel(err)
	time.AfterFunc(crashGrace, func() {
		e.takeResult()
		e.exit(e.conclude(err))
	})
}

func (e *Env) crashed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crash
}

// HandleSignals makes SIGINT and SIGTERM cancel the context. A second one ends
// the program at once, as it does without us. Further calls do nothing.
func (e *Env) HandleSignals() { e.signals.Do(e.catchSignals) }

func (e *Env) catchSignals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		name := "SIGINT"
		if s := <-c; s == syscall.SIGTERM {
			name = "SIGTERM"
		}
		signal.Stop(c)
		e.cancel(errs.New(errs.Interrupted, "interrupted by %s", name))
	}()
}

// signalDelay is how long a Quick command may take before it handles signals.
const signalDelay = 25 * time.Millisecond

// handleSignalsSoon is HandleSignals for a command that is over in a moment,
// as a rule: two threads are more than it needs for anything else. Until then a
// signal ends the program as it does without us. What is on disk is whole then
// too, as after any other sudden end.
func (e *Env) handleSignalsSoon() { time.AfterFunc(signalDelay, e.HandleSignals) }

// explain replaces the errors of contexts by what happened to the command.
func (e *Env) explain(err error) error {
	if err == nil {
		return nil
	}
	var known *errs.Error
	if errors.As(err, &known) && known.Code != errs.Failure {
		return err
	}
	if cause := context.Cause(e.ctx); cause != nil && (known == nil || errors.Is(err, context.Canceled)) {
		return cause
	}
	if known == nil && errors.Is(err, context.DeadlineExceeded) {
		return errs.New(errs.TimedOut, "the time limit passed")
	}
	return err
}
