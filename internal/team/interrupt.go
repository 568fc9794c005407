package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Interrupt aborts the running turn of a resident, which lives on. It returns
// when that turn is over; false: there was no turn to abort.
//
// not_found: no such teammate; conflict: it is no resident; stopped: it has no
// living host; busy: the turn does not end.
func (t *Team) Interrupt(ctx context.Context, name string) (Teammate, bool, error) {
	tm, err := t.Find(name)
	if err != nil {
		return tm, false, err
	}
	held, err := fsx.Held(t.AliveLock(name))
	switch {
	case err != nil:
		return tm, false, err
	case !tm.Resident():
		return tm, false, errs.New(errs.Conflict, "%s is a %s, which nobody hosts", name, tm.Kind).WithHint("interrupt it where it runs")
	case tm.Status == StatusStopped || !held:
		return tm, false, errs.New(errs.Stopped, "%s has no living host", name).WithHint("teams status %s", name)
	case tm.Status != StatusWorking:
		return tm, false, nil
	}
	path := t.interruptFile(name)
	if err := fsx.Publish(path, []byte(tm.SpawnID+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return tm, false, err
	}
	for end := time.Now().Add(hostAnswers); ; time.Sleep(10 * time.Millisecond) {
		if !fileExists(path) {
			break
		}
		if now, err := t.Read(name); err != nil || now.SpawnID != tm.SpawnID || now.Status == StatusStopping || now.Status == StatusStopped {
			_ = os.Remove(path) // its end ends the turn too
			break
		}
		if ctx.Err() != nil || time.Now().After(end) {
			// A host that answers later must not abort another turn for it.
			if os.Remove(path) != nil {
				break
			}
			if ctx.Err() != nil {
				return tm, false, context.Cause(ctx)
			}
			if tm.Kind == KindPi { // whose host may well have seen it, see piDriver.interrupt
				return tm, false, endlessTurn(name)
			}
			return tm, false, errs.New(errs.Busy, "the host of %s does not answer", name).WithHint("teams shutdown %s --now", name)
		}
	}
	return t.awaitIdle(ctx, tm)
}

func endlessTurn(name string) error {
	return errs.New(errs.Busy, "%s does not end its turn", name).WithHint("teams shutdown %s --now", name)
}

// piIdles is how long a pi that has aborted its turn is waited for: with
// more in its queue it goes on with that, and is not seen to be idle.
const piIdles = 2 * time.Second

// awaitIdle waits for the end of an aborted turn.
func (t *Team) awaitIdle(ctx context.Context, tm Teammate) (Teammate, bool, error) {
	limit := hostAnswers
	if tm.Kind == KindPi {
		limit = piIdles
	}
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		now, err := t.Read(tm.Name)
		if err != nil || now.SpawnID != tm.SpawnID {
			return tm, true, err
		}
		switch {
		case now.Status != StatusWorking, tm.Kind != KindPi && now.Turns != tm.Turns:
			return now, true, nil
		case ctx.Err() != nil:
			return now, true, context.Cause(ctx)
		case time.Now().Before(end):
		case tm.Kind == KindPi: // its host has said that the turn was aborted
			return now, true, nil
		default:
			return now, false, endlessTurn(tm.Name)
		}
	}
}
