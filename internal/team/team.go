package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Team is the roster of one session, as seen by one caller.
type Team struct {
	Place

	// LockTimeout bounds the wait for a teammate's lock. 0 means 10 s.
	LockTimeout time.Duration

	// Drain finishes the end of the life [Teammate.Ended], as mail.md has it:
	// its outbox is drained, and its unread mail is moved away with a notice to
	// each sender. It is called after the new status or spawn id is durable and
	// without any lock, may be called again after a crash, and by several
	// processes at once. Only when it succeeds is the record marked drained; a
	// name gets no further life before. Nil means that there is nothing to do.
	Drain func(ctx context.Context, tm Teammate) error

	// RoleVerify returns the default gate of an agent, "" for none. It is called
	// only when the gate of a claim is fixed. Nil means that no agent has one.
	RoleVerify func(agent string) string

	// OnAsks is told the open questions of a name, oldest first, whenever one
	// was asked or settled by this process: a pane shows them, and is blocked as
	// long as there are any. It must not block. Nil means that nobody shows them.
	OnAsks func(ctx context.Context, name string, open []Question)

	// OnTodo is told the title of a list that this process has changed. It must
	// not block. Nil means that nobody shows it.
	OnTodo func(name, title string)

	// PiExtension writes the extension that gives a pi teammate its tools to a
	// path. Nil means that there is none.
	PiExtension func(path string) error

	// Sharing says whether several hosts use the session, see FindSharing.
	Sharing Sharing

	offers *offerMemory
	// watched has the registrations of watched tasks that have nothing to tell at a
	// revision of the board, so that the board is not read for them again.
	watched *atomic.Pointer[map[string]int64]
}

var (
	_ fsboard.Roster    = (*Team)(nil)
	_ fsboard.RoleGates = (*Team)(nil)
)

// Open returns the team of a place. It touches nothing.
func Open(p Place) *Team {
	t := &Team{Place: p, offers: new(offerMemory), watched: new(atomic.Pointer[map[string]int64])}
	t.Drain = t.drainLife
	return t
}

// HarnessLive says whether a harness of the session runs now. A lock that
// cannot be tested counts as free, so that nobody waits for a harness that may
// not be there.
func (t *Team) HarnessLive() bool {
	held, err := fsx.Held(t.HarnessLock())
	return err == nil && held
}

// Exists says whether the session has any state, board or team. It is an error
// of code corrupt when a directory of the session is a symlink or a file, and
// any other error when that cannot be told.
func (t *Team) Exists() (bool, error) {
	exists := false
	for _, top := range [...]string{"tasks", "teammate"} {
		err := t.checkDirs(top, t.Session)
		switch {
		case err == nil:
			exists = true
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
	}
	return exists, nil
}

// checkDirs checks one directory below the root after the other: each must be
// a real one, since nothing inside a session is followed. The root itself may
// be a symlink. A missing one is fs.ErrNotExist.
func (t *Team) checkDirs(names ...string) error {
	path := t.Root
	for _, name := range names {
		path += string(os.PathSeparator) + name
		if err := fsx.CheckDir(path); err != nil {
			return err
		}
	}
	return nil
}

// checkTeammateDir checks the way to a teammate's directory.
func (t *Team) checkTeammateDir(name string) error {
	return t.checkDirs("teammate", t.Session, name)
}

// nowMillis is the present time as it stands in the files, in epoch ms.
func nowMillis() int64 { return fsx.Now().UnixMilli() }

func (t *Team) lockTimeout() time.Duration {
	if t.LockTimeout > 0 {
		return t.LockTimeout
	}
	return 10 * time.Second
}

// CheckName checks the handle of a teammate: the rule of [fsx.CheckHandle], and
// none of the names that directories of a session have. The error is of code
// usage and states the rule.
func CheckName(name string) error {
	if err := fsx.CheckHandle(name); err != nil {
		return err
	}
	switch name {
	case "runs", "asks", "todo", "terms", "watches", "hosts":
		return errs.New(errs.Usage, "the name %q is reserved: a directory of the session is named so", name)
	}
	if isDevice(name) {
		return errs.New(errs.Usage, "the name %q is reserved: some file systems cannot hold it", name)
	}
	return nil
}

// isDevice says whether Windows, and what is shared with it, takes the name
// for a device.
func isDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && '1' <= name[3] && name[3] <= '9'
}
