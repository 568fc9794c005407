package team

import (
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Liveness says what is known of the life that tm records. Dead is proven;
// silence proves nothing.
//
//   - A stopped life is dead.
//   - A hosted one lives while its alive.lock is held. With the lock free it is
//     dead when its child is gone too. A child that cannot be seen from here,
//     or, with no child, another host of which no lock was ever seen held from
//     here, leaves it unknown. What else the host has started and that lives on
//     counts like a child.
//   - A resident that is starting lives while roster.lock is held, since its
//     host does not hold alive.lock yet.
//   - A shell is what its process is. Without one recorded it is unknown.
func (t *Team) Liveness(tm Teammate) fsx.Liveness {
	return t.liveness(tm, false)
}

// liveness is Liveness for a caller that may hold the alive.lock itself, which
// then says nothing about the life in question.
func (t *Team) liveness(tm Teammate, lockIsOurs bool) fsx.Liveness {
	if tm.Status == StatusStopped {
		return fsx.Dead
	}
	if !tm.Hosted() {
		if tm.Kind != KindShell || tm.PID == 0 {
			return fsx.Unknown
		}
		return tm.Process().Liveness()
	}
	if tm.Status == StatusStarting && tm.Resident() {
		// First roster.lock, then alive.lock: a spawn lets go of the one only
		// when the host holds the other.
		switch held, err := fsx.Held(t.RosterLock()); {
		case err != nil:
			return fsx.Unknown
		case held:
			return fsx.Alive
		}
	}
	if !lockIsOurs {
		switch held, err := fsx.Held(t.AliveLock(tm.Name)); {
		case err != nil:
			return fsx.Unknown
		case held:
			return fsx.Alive
		}
		// The host is gone, so what it recorded stays. tm may be older than that,
		// and know less of its child.
		now, err := t.Read(tm.Name)
		switch {
		case err == nil && now.SpawnID == tm.SpawnID:
			tm = now
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fsx.Unknown
		}
	}
	if tm.Status == StatusStopped {
		return fsx.Dead
	}
	if tm.Child == nil {
		// From here the lock of another host means something only when one of its
		// locks was seen held before.
		if tm.Host == "" || tm.Host != fsx.Host() && !t.seesLocks(tm.Host, tm.BootID) {
			return fsx.Unknown
		}
	} else if life := tm.child().Liveness(); life != fsx.Dead {
		return life
	}
	switch pids, unknown := leftBehind(tm); {
	case len(pids) > 0:
		return fsx.Alive
	case unknown:
		return fsx.Unknown
	}
	return fsx.Dead
}

// child is the recorded child with what it leaves out taken from the host,
// which ran on the same machine.
func (tm Teammate) child() fsx.Process {
	c := *tm.Child
	if c.BootID == "" {
		c.BootID = tm.BootID
	}
	if c.PIDNamespace == "" {
		c.PIDNamespace = tm.PIDNamespace
	}
	if c.Host == "" {
		c.Host = tm.Host
	}
	return c
}

// Lookup implements [fsboard.Roster] from the files of the roster. A name
// without a record is no such teammate; a record that cannot be read
// (Unread), or a root that is not there, leaves the life unknown.
func (t *Team) Lookup(name, spawnID string) fsboard.Worker {
	if CheckName(name) != nil {
		return fsboard.Worker{Life: fsboard.LifeNoSuch}
	}
	tm, err := t.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if t.rootIsThere() {
			return fsboard.Worker{Life: fsboard.LifeNoSuch}
		}
		return fsboard.Worker{Life: fsboard.LifeUnknown}
	case err != nil:
		return fsboard.Worker{Life: fsboard.LifeUnknown, Unread: true, Cause: err}
	}
	w := fsboard.Worker{Agent: tm.Agent, Cwd: t.projectIn(tm.Worktree)}
	if spawnID != "" && spawnID != tm.SpawnID {
		// Role and directory belong to the present life.
		return fsboard.Worker{Life: fsboard.LifeReplaced}
	}
	switch t.Liveness(tm) {
	case fsx.Alive:
		w.Life = fsboard.LifeAlive
	case fsx.Dead:
		w.Life = fsboard.LifeDead
	}
	return w
}

// RoleGate implements [fsboard.RoleGates] with RoleVerify.
func (t *Team) RoleGate(agent string) string {
	if t.RoleVerify == nil {
		return ""
	}
	return t.RoleVerify(agent)
}

// rootIsThere tells a teammate that is missing from a root that is, as with a
// file system that is not mounted.
func (t *Team) rootIsThere() bool {
	names, err := fsx.List(t.Root)
	return err == nil && len(names) > 0
}
