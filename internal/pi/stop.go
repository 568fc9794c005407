package pi

import (
	"context"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

const (
	// defaultGrace is what a signalled process has to clean up.
	defaultGrace = 2 * time.Second
	// maxStep bounds the polite steps of Stop.
	maxStep = 3 * time.Second
	// afterKill is how long a killed process has to be gone.
	afterKill = 10 * time.Second
)

// Stop ends pi and returns when it, its tools, and whatever else carries its
// sweep are gone: the running turn is aborted, which ends its tool; then pi's
// input is closed, on which it exits; then come SIGTERM to its group and, after
// grace (0: 2 s), SIGKILL. Each of the first two steps is given the grace too,
// but at most 3 s. Once ctx has ended it goes straight to SIGKILL. It may be
// called more than once, and after the exit.
//
// The error has code failure, and says which processes could not be ended.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	grace = orElse(grace, defaultGrace)
	p.grace.Store(int64(grace))
	step := min(grace, maxStep)
	p.mu.Lock()
	p.closing = true // nothing new is sent
	p.mu.Unlock()

	abort, cancel := context.WithTimeout(ctx, step)
	_ = p.Interrupt(abort)
	cancel()
	p.lines.close()
	_ = p.in.Close()
	if !p.exits(ctx, step) {
		if ctx.Err() == nil {
			p.signalGroup(syscall.SIGTERM)
		}
		if !p.exits(ctx, grace) {
			p.signalGroup(syscall.SIGKILL)
			if !p.exits(context.Background(), afterKill) {
				return errs.New(errs.Failure, "pi could not be ended, process %d is left", p.pid)
			}
		}
	}
	<-p.done
	return p.left
}

// exits waits for the exit of pi itself.
func (p *Process) exits(ctx context.Context, limit time.Duration) bool {
	select {
	case <-p.gone:
		return true
	case <-ctx.Done():
	case <-time.After(limit):
	}
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// signalGroup signals pi's group, which is ours for as long as pi has not been
// reaped: nobody else can have its number.
func (p *Process) signalGroup(s syscall.Signal) {
	p.reap.Lock()
	defer p.reap.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, s)
	}
}
