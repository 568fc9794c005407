package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// halfSpawned reports whether a record is that of a spawn which may have died
// half-way: starting, with nobody who holds the life's lock.
func halfSpawned(tm Teammate) bool { return tm.Resident() && tm.Status == StatusStarting }

// giveUpWait is how long the next spawn waits for the host of one that died: it
// notices that, and comes up or ends.
const giveUpWait = 5 * time.Second

// awaitHost waits until the host of a spawn that died has decided what it does.
func (t *Team) awaitHost(ctx context.Context, tm Teammate) {
	for end := time.Now().Add(giveUpWait); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if held, err := fsx.Held(t.AliveLock(tm.Name)); err != nil || !held {
			return
		}
		if now, err := t.Read(tm.Name); err != nil || now.SpawnID != tm.SpawnID || !halfSpawned(now) {
			return
		}
	}
}

// undoHalfSpawns undoes every spawn that died half-way. The caller holds
// roster.lock, so none of them is going on.
func (t *Team) undoHalfSpawns(ctx context.Context) error {
	all, _, err := t.List()
	if err != nil {
		return err
	}
	for _, tm := range all {
		if !halfSpawned(tm) {
			continue
		}
		t.awaitHost(ctx, tm)
		if err := t.undoSpawn(ctx, tm, nil, false); err != nil {
			return err
		}
	}
	return nil
}

// UndoHalfSpawns is undoHalfSpawns for a tick: it does nothing while somebody
// spawns, and names what it undid.
func (t *Team) UndoHalfSpawns(ctx context.Context) (undone []string, err error) {
	all, _, err := t.List()
	if err != nil {
		return nil, err
	}
	for _, tm := range all {
		if !halfSpawned(tm) {
			continue
		}
		lock, free, err := fsx.TryAcquire(t.RosterLock())
		if err != nil || !free {
			return undone, err
		}
		before := tm.SpawnID
		err = t.undoSpawn(ctx, tm, nil, false)
		lock.Unlock()
		if err != nil {
			return undone, err
		}
		if now, err := t.Read(tm.Name); err != nil || now.SpawnID != before || now.Status == StatusStopped {
			undone = append(undone, tm.Name)
		}
	}
	return undone, nil
}

// undoSpawn takes back what a spawn has made: the worktree and the branch while
// nothing but the spawn's own is in them, and the name. Mail that came meanwhile
// goes back to its senders. A name that had lives before goes on with the record
// and the files that it had, which is old; without old, as a life that ended at
// once. The caller holds roster.lock. A life with a host is left alone. mine says that the
// spawn is the caller's and failed: its host may have died when it had just come
// up, and has done nothing then.
func (t *Team) undoSpawn(ctx context.Context, tm Teammate, old *formerLife, mine bool) error {
	alive, free, err := fsx.AcquireTenure(t.AliveLock(tm.Name), tenureWait)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !free {
		return err
	}
	defer alive.Unlock()
	now, err := t.Read(tm.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case now.SpawnID != tm.SpawnID || !halfSpawned(now) && !(mine && now.Status == StatusIdle):
		return nil // somebody else has finished this, or it came to live
	case now.Child != nil && now.child().Liveness() != fsx.Dead:
		if err := endProcess(now.child(), termGrace); err != nil {
			return err
		}
	}
	if err := sweep(now.SpawnID, termGrace); err != nil {
		return err
	}
	if now.Kind == KindHerdr {
		if err := t.closePane(ctx, now, os.Getenv); err != nil {
			return err
		}
	}
	if now.Worktree != "" {
		if err := t.undoWorktree(ctx, now); err != nil {
			return err
		}
	}
	if err := t.withdrawKickoff(tm.Name); err != nil {
		return err
	}
	if err := t.closeLedger(now); err != nil {
		return err
	}
	if err := t.dropConversation(now); err != nil {
		return err
	}
	if err := t.restoreFiles(tm.Name, old); err != nil {
		return err
	}
	if old != nil && now.Drained {
		if back, err := t.restoreRecord(ctx, now, old.record); back || err != nil {
			return err
		}
	}
	if _, err := t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
		tm.Error = "its spawn did not finish"
		tm.Worktree, tm.Branch, tm.Base, tm.Child = "", "", "", nil
		return nil
	}); err != nil {
		return err
	}
	if _, err := t.Leave(ctx, tm.Name, tm.SpawnID, nil); err != nil {
		return err
	}
	if now.PreviousSpawnID != "" {
		return nil
	}
	return t.removeTeammate(tm.Name)
}

// closeLedger closes the row of a life whose host died right after it wrote it.
func (t *Team) closeLedger(tm Teammate) error {
	row, err := t.LedgerFind(t.ledgerRow(tm, LedgerClosed, "").TaskID)
	if errs.CodeOf(err) == errs.NotFound {
		return nil
	}
	if err != nil || row.SpawnID != tm.SpawnID || row.Status == LedgerClosed {
		return err
	}
	return t.writeLedger(t.ledgerRow(tm, LedgerClosed, "zombie-sweep"))
}

// formerLife is what lies on disk of a life that is over, and that a spawn which
// fails puts back.
type formerLife struct {
	record          []byte
	prompt, kickoff []byte // nil: there is none
	activity        int64  // size of the log
}

// keepFormer reads what lies on disk of a name's life.
func (t *Team) keepFormer(name string) (*formerLife, error) {
	old := &formerLife{}
	var err error
	if old.record, err = fsx.ReadFile(t.TeammateFile(name), maxRecord); err != nil {
		return nil, err
	}
	for path, data := range map[string]*[]byte{t.promptFile(name): &old.prompt, t.kickoffFile(name): &old.kickoff} {
		if *data, err = fsx.ReadFile(path, inbox.MaxBody); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if info, err := os.Lstat(t.ActivityLog(name)); err == nil {
		old.activity = info.Size()
	}
	return old, nil
}

// restoreFiles puts the files of a former life back, or with nil takes away what
// a spawn has written. The log of a name that never lived goes with the name.
func (t *Team) restoreFiles(name string, old *formerLife) error {
	var before formerLife
	if old != nil {
		before = *old
	}
	for path, data := range map[string][]byte{t.promptFile(name): before.prompt, t.kickoffFile(name): before.kickoff} {
		put := func() error { return fsx.Remove(path) }
		if data != nil {
			put = func() error { return fsx.Replace(path, data) }
		}
		if err := put(); err != nil {
			return err
		}
	}
	if info, err := os.Lstat(t.ActivityLog(name)); old == nil || err != nil || !info.Mode().IsRegular() || info.Size() <= old.activity {
		return nil
	}
	return os.Truncate(t.ActivityLog(name), old.activity)
}

// restoreRecord gives a name its old record back, unless mail came for the new
// life: that has to go back to its senders first.
func (t *Team) restoreRecord(ctx context.Context, tm Teammate, old []byte) (bool, error) {
	ids, err := t.Box(tm.Name).IDs(false)
	if err != nil || len(ids) > 0 {
		return false, err
	}
	lock, err := t.lock(ctx, tm.Name)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	now, err := t.Read(tm.Name)
	if err != nil || now.SpawnID != tm.SpawnID {
		return false, err
	}
	return true, fsx.Replace(t.TeammateFile(tm.Name), old)
}

// withdrawKickoff takes the first message of a life that never was back: its
// sender is told of the spawn, and needs no notice about it.
func (t *Team) withdrawKickoff(name string) error {
	box := t.Box(name)
	ids, err := box.IDs(false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, id := range ids {
		m, err := box.Peek(id, false)
		if err == nil && m.From == LeaderName && m.Event == eventKickoff {
			if _, err := box.Withdraw(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTeammate takes away the directory of a name that never lived. Nobody
// finds half of it: the rename comes first. The caller holds its alive.lock.
func (t *Team) removeTeammate(name string) error {
	dir := t.TeammateDir(name)
	gone := filepath.Join(t.TeamDir(), "."+name+".gone-"+fsx.RandomID()[:12])
	if err := fsx.Move(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := fsx.FsyncDir(t.TeamDir()); err != nil {
		return err
	}
	t.awaitOthers()
	if err := os.RemoveAll(gone); err != nil {
		return errs.New(errs.Failure, "remove %s: %w", gone, err)
	}
	return nil
}
