package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// lifeEnd says how the life of a resident ends.
type lifeEnd struct {
	reason string // why its tasks come back, as it stands in their history
	cause  string // what went wrong; "" when it was asked to end
	decide bool   // decide the submissions that wait, gates included
	// via is what the row of the ledger says of it.
	via string
	// step is told what is being done; it may be nil.
	step func(string)
}

func (e *lifeEnd) tell(format string, args ...any) {
	if e.step != nil {
		e.step(fmt.Sprintf(format, args...))
	}
}

// finishLife ends the life of a resident of which nothing runs any more: waiting
// submissions are decided, the record says stopped, its reports are drained and
// its mail goes back, its tasks become pending again, and its worktree is
// finalised. Each part may be done again. The caller holds the life's
// alive.lock, so the name is not free before the end.
func (t *Team) finishLife(ctx context.Context, b *fsboard.Board, tm Teammate, e lifeEnd) (Teammate, error) {
	if tm.Kind == KindHerdr && tm.Status != StatusStopped {
		e.tell("closing its pane")
		if err := t.closePane(ctx, tm, os.Getenv); err != nil {
			return tm, err
		}
	}
	waits, err := t.decideHeld(ctx, b, tm, &e)
	if err != nil {
		return tm, err
	}
	if tm.Status != StatusStopped {
		// An attempt that fails behind this is repeated every half second.
		if row, err := t.LedgerFind(t.ledgerRow(tm, "", "").TaskID); err != nil || row.SpawnID != tm.SpawnID || row.Status != LedgerClosed {
			if err := t.writeLedger(t.ledgerRow(tm, LedgerClosed, e.via)); err != nil {
				return tm, err
			}
		}
		if _, err := t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
			tm.Status, tm.Child = StatusStopping, nil
			if e.cause != "" {
				tm.Error = e.cause
			}
			return nil
		}); err != nil {
			return tm, err
		}
	}
	if e.cause != "" {
		// Before the record says stopped: nobody comes back to a life that is over.
		tm.Error = e.cause
		if err := t.tellStopped(ctx, tm); err != nil {
			return tm, err
		}
	}
	e.tell("returning what it holds")
	if tm, err = t.Leave(ctx, tm.Name, tm.SpawnID, func(ctx context.Context, tm Teammate) error {
		_, kept, err := b.ReleaseAll(ctx, tm.Name, tm.SpawnID, e.reason)
		waits = waits || len(kept) > 0
		return err
	}); err != nil {
		return tm, err
	}
	if tm.Worktree == "" || tm.WorktreeDone || waits {
		return tm, nil
	}
	e.tell("putting its worktree away")
	return t.finaliseWorktree(ctx, tm)
}

// decideHeld decides the submissions of a life, or says that some wait.
func (t *Team) decideHeld(ctx context.Context, b *fsboard.Board, tm Teammate, e *lifeEnd) (waits bool, err error) {
	held, err := b.Held(tm.Name, tm.SpawnID)
	if err != nil {
		return false, err
	}
	for _, task := range held {
		if task.State != fsboard.StateSubmitted && task.State != fsboard.StateVerifying {
			continue
		}
		if !e.decide {
			waits = true
			continue
		}
		e.tell("deciding %s", task.ID)
		d, err := b.Decide(ctx, task.ID)
		if err != nil && errs.CodeOf(err) != errs.NotFound {
			return waits, fmt.Errorf("decide %s: %w", task.ID, err)
		}
		waits = waits || d.Waiting != ""
	}
	return waits, nil
}

// tellStopped tells the leader, once a life, that a resident has stopped.
func (t *Team) tellStopped(ctx context.Context, tm Teammate) error {
	body := fmt.Sprintf("%s (%s) has stopped: %s\nIts tasks are pending again. teams handoff %s prints what a successor needs.\n",
		tm.Name, orWord(tm.Agent, "no role"), tm.Error, tm.Name)
	_, err := t.notify(ctx, notice{to: LeaderName, key: "stopped-" + tm.Name + "-" + digest(tm.SpawnID)[:lifeDigits], event: eventStopped, body: body})
	return err
}

// The events of notices that the team itself owes.
const (
	eventStopped    = "stopped"
	eventStalled    = "stalled"
	eventClaimable  = "claimable"
	eventDiff       = "diff"
	eventUnfinished = "unfinished"
	eventSettled    = "settled"
	eventEscalation = "escalation"
)

// endDead finishes the life of a resident that is proven dead, or whose end a
// crash left unfinished. busy: somebody else is at it, or it has a host.
func (t *Team) endDead(ctx context.Context, b *fsboard.Board, tm Teammate) (Teammate, error) {
	alive, free, err := fsx.TryAcquire(t.AliveLock(tm.Name))
	if err != nil {
		return tm, err
	}
	if !free {
		return tm, errs.New(errs.Busy, "%s has a host, or is being ended", tm.Name)
	}
	defer alive.Unlock()
	return t.endDeadHeld(ctx, b, tm)
}

// endDeadHeld is endDead for a caller that holds the life's alive.lock.
func (t *Team) endDeadHeld(ctx context.Context, b *fsboard.Board, tm Teammate) (Teammate, error) {
	now, err := t.Read(tm.Name)
	if err != nil {
		return tm, err
	}
	if now.SpawnID != tm.SpawnID {
		return now, staleIdentity(tm.Name)
	}
	if t.liveness(now, true) != fsx.Dead {
		return now, errs.New(errs.Conflict, "%s is not known to be dead", tm.Name)
	}
	e := lifeEnd{reason: "holder_dead", via: "zombie-sweep"}
	if now.Status != StatusStopped {
		e.cause = "its host has died"
		if now.Status == StatusStopping {
			e.cause = orWord(now.Error, e.cause) // an end that was begun has written its cause
		}
		if now.Stop != "" {
			e.cause = "" // it was asked to end, and its host died at it
		}
	}
	return t.finishLife(ctx, b, now, e)
}

// finishDead finishes the end of a resident that has died, before its name gets
// another life: with its record its worktree would be forgotten, and nobody would
// tell the leader. A life that is not that of a dead resident is left alone.
func (t *Team) finishDead(ctx context.Context, tm Teammate, lockIsOurs bool) error {
	if !t.looksUnended(tm) || t.liveness(tm, lockIsOurs) != fsx.Dead {
		return nil
	}
	b, err := t.Board(BoardOptions{LockTimeout: t.LockTimeout})
	if err != nil {
		return err
	}
	if tm.Status == StatusStopped && t.submissionWaits(b, tm) {
		return nil // its worktree stays where it is, for the gate
	}
	if lockIsOurs {
		_, err = t.endDeadHeld(ctx, b, tm)
	} else {
		_, err = t.endDead(ctx, b, tm)
	}
	if code := errs.CodeOf(err); code == errs.StaleIdentity || code == errs.Conflict || errors.Is(err, fs.ErrNotExist) {
		return nil // it is another by now; whoever takes the name looks again
	}
	return err
}

// looksUnended says whether something of a resident's end is left to do.
func (t *Team) looksUnended(tm Teammate) bool {
	if !tm.Resident() || tm.Status == StatusStarting {
		return false
	}
	return tm.Status != StatusStopped || tm.Worktree != "" && !tm.WorktreeDone
}

// tickResidents sees to residents whose processes died: what a spawn left
// half-way is undone, the dead are ended, and a host that died beside its living
// child is told of once.
func (t *Team) tickResidents(ctx context.Context, b *fsboard.Board, all []Teammate, r *TickReport) {
	undo := false
	for _, tm := range all {
		undo = undo || halfSpawned(tm) && t.Liveness(tm) != fsx.Alive
		if !t.looksUnended(tm) {
			continue
		}
		r.problem(stepResidents, t.tickResident(ctx, b, tm, r))
	}
	if undo {
		undone, err := t.UndoHalfSpawns(ctx)
		r.problem(stepResidents, err)
		for _, name := range undone {
			r.Done = append(r.Done, Done{stepResidents, "undone", name, "the spawn of " + name + " had not finished; what it left was taken back"})
		}
	}
}

func (t *Team) tickResident(ctx context.Context, b *fsboard.Board, tm Teammate, r *TickReport) error {
	switch t.Liveness(tm) {
	case fsx.Alive:
		return t.tellOrphan(ctx, tm, r)
	case fsx.Unknown:
		return nil
	}
	if tm.Status == StatusStopped {
		if since := nowMillis() - tm.WorktreeTriedAt; since >= 0 && since < worktreeAgain.Milliseconds() {
			return nil
		}
		if t.submissionWaits(b, tm) {
			return nil // the worktree has to wait for it
		}
	}
	ended, err := t.endDead(ctx, b, tm)
	switch errs.CodeOf(err) {
	case errs.Busy, errs.StaleIdentity:
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if tm.Status != StatusStopped {
		r.Done = append(r.Done, Done{stepResidents, eventStopped, tm.Name, tm.Name + " has stopped: " + orWord(firstLine(ended.Error), "its host ended")})
	}
	if tm.Worktree != "" && ended.WorktreeDone {
		r.Done = append(r.Done, Done{stepResidents, eventDiff, tm.Name, "the worktree of " + tm.Name + " was finalised"})
	}
	return nil
}

func (t *Team) submissionWaits(b *fsboard.Board, tm Teammate) bool {
	held, err := b.Held(tm.Name, tm.SpawnID)
	return err != nil || len(held) > 0
}

// tellOrphan tells the leader once that a teammate's process lives on without
// its host. Nothing ends it but doctor --fix or shutdown.
func (t *Team) tellOrphan(ctx context.Context, tm Teammate, r *TickReport) error {
	if held, err := fsx.Held(t.AliveLock(tm.Name)); held || err != nil {
		return err
	}
	left := orphans(tm)
	if left == "" {
		return nil
	}
	body := fmt.Sprintf("The host of %s (process %d) has died, and %s. It keeps its tasks.\n"+
		"teams shutdown %s, or teams doctor --fix, ends it.\n", tm.Name, tm.PID, left, tm.Name)
	told, err := t.notify(ctx, notice{to: LeaderName, key: "orphan-" + tm.Name + "-" + digest(tm.SpawnID)[:lifeDigits], event: eventStopped, body: body})
	if told {
		r.Done = append(r.Done, Done{stepResidents, "orphaned", tm.Name, strings.SplitN(body, "\n", 2)[0]})
	}
	return err
}

// orphans says what of a resident lives on without its host, "" when nothing does.
func orphans(tm Teammate) string {
	if tm.Child != nil && tm.child().Liveness() == fsx.Alive {
		return fmt.Sprintf("its process %d lives on", tm.Child.PID)
	}
	switch pids, _ := leftBehind(tm); len(pids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("process %d, which it has started, lives on", pids[0])
	default:
		return fmt.Sprintf("%d processes which it has started live on, such as %d", len(pids), pids[0])
	}
}

// endOrphan ends the process that a dead host left, and all that carries the
// mark of its life. Only an explicit command calls it.
func (t *Team) endOrphan(tm Teammate, grace bool) error {
	wait := termGrace
	if !grace {
		wait = 0
	}
	swept := make(chan error, 1) // both have the same time, not one after the other
	go func() { swept <- sweep(tm.SpawnID, wait) }()
	var err error
	if tm.Child != nil {
		err = endProcess(tm.child(), wait)
	}
	return errors.Join(err, <-swept)
}
