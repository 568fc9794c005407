package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/fsx"
)

// create takes a name by link. A name that is taken is fs.ErrExist. A failure
// takes back the directories that it has made.
func (t *Team) create(ctx context.Context, tm Teammate) error {
	isNew := t.isNewName(tm.Name)
	err := t.createRecord(ctx, tm)
	if err != nil && isNew && !errors.Is(err, fs.ErrExist) {
		err = errors.Join(err, t.takeBack(tm.Name, false))
	}
	return err
}

// createRecord makes a name's directories and, last, its record. Under the
// teammate's lock nobody takes them back.
func (t *Team) createRecord(ctx context.Context, tm Teammate) error {
	data, err := marshalLines(tm, tm.extra)
	if err != nil {
		return err
	}
	lock, err := t.lockNew(tm.Name, func() (*fsx.Lock, error) { return t.lock(ctx, tm.Name) })
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return fsx.Publish(t.TeammateFile(tm.Name), data)
}

// lockNew makes a name's directories and takes a lock in them, nil when acquire
// gives none. What others took back before it had the lock it makes again.
func (t *Team) lockNew(name string, acquire func() (*fsx.Lock, error)) (lock *fsx.Lock, err error) {
	for range 1000 {
		if err = t.makeDirs(name); err == nil {
			lock, err = acquire()
		}
		if lock != nil {
			if err = t.makeDirs(name); err != nil {
				lock.Unlock()
				return nil, err
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return lock, err
}

// isNewName reports whether a name has no directory.
func (t *Team) isNewName(name string) bool {
	_, err := os.Lstat(t.TeammateDir(name))
	return errors.Is(err, fs.ErrNotExist)
}

// takeBack removes the directories of a name that has no record, as a join that
// failed leaves them, unless something lies in them or somebody is about to use
// them. lockIsOurs says that the caller holds the name's alive.lock.
func (t *Team) takeBack(name string, lockIsOurs bool) error {
	if !t.isBare(name) {
		return nil
	}
	locks := []string{t.AliveLock(name), t.teammateLock(name)}
	if lockIsOurs {
		locks = locks[1:]
	}
	for _, path := range locks {
		lock, free, err := fsx.AcquireTenure(path, tenureWait)
		if err != nil || !free {
			return nil // doctor looks again
		}
		defer lock.Unlock()
	}
	if !t.isBare(name) {
		return nil
	}
	return t.removeTeammate(name)
}

// isBare reports whether a name's directory holds nothing but directories and
// locks.
func (t *Team) isBare(name string) bool {
	top := t.TeammateDir(name)
	if fsx.CheckDir(top) != nil {
		return false
	}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != t.AliveLock(name) && path != t.teammateLock(name) {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// bareNames are the names that failed or killed commands left without a record,
// and that nobody has touched for a while.
func (t *Team) bareNames() (out []string) {
	names, err := fsx.List(t.TeamDir())
	if err != nil {
		return nil
	}
	for _, name := range names {
		if CheckName(name) != nil || t.recorded(name) {
			continue
		}
		info, err := os.Lstat(t.TeammateDir(name))
		if err == nil && fsx.Now().Sub(info.ModTime()) > leftTempAge && t.isBare(name) {
			out = append(out, name)
		}
	}
	return out
}
