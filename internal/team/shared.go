package team

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// EnvShared says whether several hosts share the session, 1 or 0.
const EnvShared = "TEAMS_SHARED"

// SharedLease is the lease of a claim on a shared session when none was asked
// for: nobody can tell from elsewhere that its holder has died.
const SharedLease = 10 * time.Minute

// The sources of [Sharing] beside EnvShared.
const (
	SourceSession    = "session.json"
	SourceFileSystem = "file system"
)

// Sharing says whether several hosts use the session's files.
type Sharing struct {
	On         bool   `json:"shared"`
	Source     string `json:"source"`               // EnvShared, SourceSession or SourceFileSystem
	FileSystem string `json:"fileSystem,omitempty"` // its type, when that was looked at
}

// ParseShared reads a value of EnvShared. set is false for an empty one.
func ParseShared(s string) (on, set bool, err error) {
	switch s {
	case "":
		return false, false, nil
	case "0", "false", "off", "no":
		return false, true, nil
	case "1", "true", "on", "yes":
		return true, true, nil
	}
	return false, false, errs.New(errs.Usage, "the environment variable %s is %q, it must be 1 or 0", EnvShared, s)
}

// FindSharing decides whether the session is shared, by EnvShared, else by what
// its session.json says, else by the type of the root's file system, and makes
// the process work accordingly: locks are then tried for, and changes looked
// for, since neither the one nor the other may wake it.
func (t *Team) FindSharing(getenv func(string) string) error {
	on, set, err := ParseShared(getenv(EnvShared))
	if err != nil {
		return err
	}
	switch said := t.sessionSharing(); {
	case set:
		t.Sharing = Sharing{On: on, Source: EnvShared}
	case said != nil:
		t.Sharing = Sharing{On: *said, Source: SourceSession}
	default:
		kind, err := fsx.FileSystemOf(t.Root)
		if err != nil {
			return nil // whoever uses the root is told what is wrong with it
		}
		t.Sharing = Sharing{On: kind.Network, Source: SourceFileSystem, FileSystem: kind.Type}
	}
	if t.Sharing.On {
		fsx.SetSharedMode(true)
		fsx.SetEarlierBoot(t.earlierBoot)
	}
	return nil
}

// sessionSharing is what session.json says, nil for nothing. It is read by every
// command, so it is decoded only when the word is in it. One that cannot be read
// is for others to tell of.
func (t *Team) sessionSharing() *bool {
	data, err := fsx.ReadFile(t.SessionFile(), maxRecord)
	if err != nil || !bytes.Contains(data, []byte(`"shared"`)) {
		return nil
	}
	s, err := readSession(t.SessionFile())
	if err != nil {
		return nil
	}
	return s.Shared
}

// noteSharing writes into session.json that the session is shared, so that a
// host for which the files are local, since they are exported from it, knows it
// too. What a person wrote there stays.
func (t *Team) noteSharing(s Session) (Session, error) {
	if !t.Sharing.On || t.Sharing.Source != SourceFileSystem || s.Shared != nil {
		return s, nil
	}
	s.Shared = new(bool)
	*s.Shared = true
	data, err := marshalLines(s, s.extra)
	if err != nil {
		return s, err
	}
	return s, fsx.Replace(t.SessionFile(), data)
}

// harnessHere is HarnessLive without a harness of another host: that one can
// neither run gates here nor be waited for. Whoever asks then folds and decides
// by itself, beside it, as ticks do beside each other.
func (t *Team) harnessHere() bool {
	if !t.HarnessLive() {
		return false
	}
	if !t.Sharing.On {
		return true
	}
	for range 20 {
		h, err := fsx.ReadHolder(t.HarnessLock())
		if err == nil {
			return h.Host == "" || h.Host == fsx.Host()
		}
		time.Sleep(5 * time.Millisecond) // it has just taken the lock, and says so next
	}
	return true
}

// settleDirs is how long another host may go on seeing a directory that was
// renamed or removed: a second with the usual caches.
const settleDirs = 1500 * time.Millisecond

// awaitOthers waits until every host sees a directory that was renamed where it
// is now. Without others there is nothing to wait for.
func (t *Team) awaitOthers() {
	if t.Sharing.On {
		time.Sleep(settleDirs)
	}
}

// Elsewhere returns the host of a teammate when it is not this one, "" when it
// is, or is not known.
func (tm Teammate) Elsewhere() string {
	if tm.Host == fsx.Host() {
		return ""
	}
	return tm.Host
}

// ignoreMissing makes a missing file no error.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
