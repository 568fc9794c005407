package fsboard

import (
	"fmt"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Life says what is known of one life of a worker.
type Life int

// The states of a life. Only LifeDead and LifeReplaced are proof; a board
// never takes a claim from a worker whose life is LifeUnknown.
const (
	LifeUnknown  Life = iota // there is no proof either way
	LifeAlive                // proven to be running
	LifeDead                 // proven to be over
	LifeReplaced             // the name has another spawn id now
	LifeNoSuch               // there is no teammate of this name
)

// Worker is what a [Roster] knows of the worker that a marker names.
type Worker struct {
	Life Life
	// Unread says that the worker's record could not be read just now, so that
	// its role and the gate of that are not known. A claim marker of such a
	// worker is left for a later fold.
	Unread bool
	// Cause is why the record could not be read, with its path; it may be nil.
	Cause error
	// Agent is the worker's role, compared with a task's role. Empty: none.
	Agent string
	// Cwd is the directory in which a gate for its claims runs. Empty: the project.
	Cwd string
	// Verify is the default gate of its role, used when a task has none. Empty:
	// none, unless the roster is [RoleGates].
	Verify string
}

// unread is the error for a worker whose record could not be read.
func (w *Worker) unread(name string) error {
	if w.Cause == nil {
		return fmt.Errorf("the record of %s cannot be read", fsx.SafeLine(name))
	}
	return fmt.Errorf("the record of %s cannot be read: %w", fsx.SafeLine(name), w.Cause)
}

// Roster tells the board about workers. The board asks it under its lock, so
// it must answer from files and must not wait.
type Roster interface {
	// Lookup returns what is known of the life spawnID of the named worker. An
	// empty spawnID asks for the present life. What cannot be read is
	// LifeUnknown, and Unread.
	Lookup(name, spawnID string) Worker
}

// RoleGates is a [Roster] that finds the gates of roles only when they are
// needed: when a claim of a task without a gate of its own is folded.
type RoleGates interface {
	// RoleGate returns the default gate of an agent, "" when it has none. Like
	// Lookup it answers from files.
	RoleGate(agent string) string
}

// roleGate is the default gate of a worker's role.
func (b *Board) roleGate(w *Worker) string {
	if r, ok := b.o.Roster.(RoleGates); ok && w.Verify == "" && w.Agent != "" {
		return r.RoleGate(w.Agent)
	}
	return w.Verify
}

// anybody is the roster of a board that was opened without one: every name is
// a worker, and none is ever proven dead.
type anybody struct{}

func (anybody) Lookup(string, string) Worker { return Worker{} }
