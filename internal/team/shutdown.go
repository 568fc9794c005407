package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	shutdownLook = 50 * time.Millisecond // how often the end is looked for
	hostAnswers  = 10 * time.Second      // a host that lives has begun to end by then, or aborted a turn
)

// Shutdown ends a resident: its host lets the running turn end for up to 30 s,
// or with now ends it at once, and then ends the life. A host that has died
// leaves that to this process; one that does not answer is ended when now is
// set. It returns when the name is free. step is told what goes on; it may be
// nil.
//
// not_found: no such teammate; conflict: it is no resident, or cannot be reached
// from here; busy: its host does not answer.
func (t *Team) Shutdown(ctx context.Context, b *fsboard.Board, name string, now bool, step func(string)) (Teammate, error) {
	return t.shutdown(ctx, b, name, now, false, step)
}

// shutdown is Shutdown for a caller that may hold roster.lock, as rostered says:
// nobody else can undo a half spawn then, and it does not look like a living one.
func (t *Team) shutdown(ctx context.Context, b *fsboard.Board, name string, now, rostered bool, step func(string)) (Teammate, error) {
	if step == nil {
		step = func(string) {}
	}
	tm, err := t.Find(name)
	if err != nil {
		return tm, err
	}
	if !tm.Resident() {
		return tm, errs.New(errs.Conflict, "%s is a %s, which nobody hosts", name, tm.Kind).WithHint("it ends itself: teams leave")
	}
	if halfSpawned(tm) && !rostered && t.Liveness(tm) == fsx.Alive {
		step("waiting for its spawn to finish")
	}
	asked := time.Now()
	for {
		tm, err = t.Read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Teammate{Name: name, Status: StatusStopped}, nil // its spawn was undone
		case err != nil:
			return tm, err
		}
		held, err := fsx.Held(t.AliveLock(name))
		if err != nil {
			return tm, err
		}
		switch {
		case !held && halfSpawned(tm) && rostered:
			if err := t.undoHalfSpawns(ctx); err != nil {
				return tm, err
			}
		case !held && halfSpawned(tm) && t.Liveness(tm) != fsx.Alive:
			if _, err := t.UndoHalfSpawns(ctx); err != nil {
				return tm, err
			}
		case !held && !halfSpawned(tm):
			ended, done, err := t.shutdownHostless(ctx, b, tm, now, step)
			if done || err != nil {
				return ended, err
			}
		case held && tm.Status != StatusStopped && !halfSpawned(tm):
			if err := t.askToStop(ctx, tm, now); err != nil {
				return tm, err
			}
			step("waiting for " + name + ", which is " + tm.Status)
			// One that is at its end may take long for it, but not by doing nothing.
			if time.Since(asked) > hostAnswers && (tm.Status != StatusStopping || tm.Process().Suspended()) {
				if err := t.silentHost(tm, now); err != nil {
					return tm, err
				}
			}
		}
		select {
		case <-ctx.Done():
			return tm, context.Cause(ctx)
		case <-time.After(shutdownLook):
		}
	}
}

// shutdownHostless finishes what a host that is gone has left.
func (t *Team) shutdownHostless(ctx context.Context, b *fsboard.Board, tm Teammate, now bool, step func(string)) (Teammate, bool, error) {
	if !t.looksUnended(tm) {
		return tm, true, nil
	}
	if tm.Status != StatusStopped {
		// An end that was asked for is no accident, whoever finishes it.
		if err := t.askToStop(ctx, tm, now); err != nil {
			return tm, false, err
		}
		step("ending what its host has left")
		if err := t.endOrphan(tm, !now); err != nil {
			return tm, false, err
		}
		if err := t.markStopping(ctx, tm); err != nil {
			return tm, false, err
		}
	}
	if t.submissionWaits(b, tm) {
		step("deciding what it has submitted")
		if waits, err := t.decideHeld(ctx, b, tm, &lifeEnd{decide: true}); err != nil || waits && tm.Status == StatusStopped {
			return tm, waits, err
		}
	}
	ended, err := t.endDead(ctx, b, tm)
	switch errs.CodeOf(err) {
	case errs.Busy, errs.StaleIdentity:
		return tm, false, nil // somebody else is at it
	}
	return ended, err == nil, err
}

func (t *Team) markStopping(ctx context.Context, tm Teammate) error {
	_, err := t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
		tm.Status, tm.Child = StatusStopping, nil
		return nil
	})
	return err
}

// askToStop asks a life to end.
func (t *Team) askToStop(ctx context.Context, tm Teammate, now bool) error {
	mode := StopTurn
	if now {
		mode = StopNow
	}
	if tm.Stop == mode || tm.Stop == StopNow {
		return nil
	}
	_, err := t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
		if tm.Stop != StopNow {
			tm.Stop = mode
		}
		return nil
	})
	if errs.CodeOf(err) == errs.StaleIdentity {
		return nil
	}
	return err
}

// silentHost ends a host that does not answer, or says that it does not.
func (t *Team) silentHost(tm Teammate, now bool) error {
	p := tm.Process()
	switch p.Liveness() {
	case fsx.Dead:
		return nil // its lock is held by whoever finishes it
	case fsx.Unknown:
		return errs.New(errs.Conflict, "the host of %s (process %d on %s) cannot be reached from here", tm.Name, tm.PID, tm.Host).
			WithHint("shut it down there")
	}
	if !now {
		return errs.New(errs.Busy, "the host of %s (process %d) does not answer", tm.Name, tm.PID).
			WithHint("teams shutdown %s --now ends it", tm.Name)
	}
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = handle.Release() }()
	if p.Liveness() == fsx.Alive {
		_ = handle.Signal(syscall.SIGKILL)
	}
	return nil
}

// ShutdownAll ends every resident, beside each other, and returns those that
// ended. One that cannot be ended keeps no other from its end.
func (t *Team) ShutdownAll(ctx context.Context, b *fsboard.Board, now bool) ([]Teammate, error) {
	return t.shutdownAll(ctx, b, now, false)
}

// shutdownAll is ShutdownAll for a caller that may hold roster.lock, see shutdown.
func (t *Team) shutdownAll(ctx context.Context, b *fsboard.Board, now, rostered bool) ([]Teammate, error) {
	all, problems, err := t.List()
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var ended []Teammate
	var failed []error
	for _, p := range problems {
		failed = append(failed, p.Err)
	}
	for _, tm := range all {
		if !tm.Resident() || !t.looksUnended(tm) && !halfSpawned(tm) {
			continue
		}
		wg.Go(func() {
			gone, err := t.shutdown(ctx, b, tm.Name, now, rostered, nil)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", tm.Name, err))
				return
			}
			ended = append(ended, gone)
		})
	}
	wg.Wait()
	slices.SortFunc(ended, func(a, b Teammate) int { return strings.Compare(a.Name, b.Name) })
	return ended, errors.Join(failed...)
}
