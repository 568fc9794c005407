package fsboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Error is the error type of this package. Its Code tells failures apart; the
// codes are those of the command line.
type Error = errs.Error

// Options say how a board is opened. Only Dir is needed.
type Options struct {
	// Dir is the board's directory. It is created by the first write.
	Dir string
	// Root is the directory below which Dir is created; symlinks are allowed
	// down to it and refused below it. Empty: Dir's parent.
	Root string
	// Project is the directory the tasks are about, the cwd of gates.
	Project string
	// Session is the key under which the board is known.
	Session string
	// Roster knows the workers. Nil: every name is a worker, none is ever dead.
	Roster Roster
	// Gates runs gates. Nil: tasks with a gate cannot be decided.
	Gates Gates
	// HarnessLive reports whether a harness looks after the board, so that
	// nobody else needs to fold. Nil: none does.
	HarnessLive func() bool
	// ClockAhead tells how far the wall clock of another host is ahead of this
	// one's, in ms, or with "" that of the host whose is ahead the most; 0 for
	// what is not known. Like the roster it answers from files. Nil: all hosts
	// have one clock.
	ClockAhead func(host string) int64
	// ClaimLock names the file that each claim of a worker locks while it is made,
	// so that two of them at once do not both find the worker below its limit.
	// Nil: they may.
	ClaimLock func(worker string) (path string, err error)
	// LockTimeout bounds the wait for each lock. Zero: 10 s.
	LockTimeout time.Duration
	// GateRetries is the number of failed gates of one claim after which the
	// leader is told. Zero: 3.
	GateRetries int
}

// Board is an opened board. Its methods may be used from several goroutines,
// and by any number of processes at once.
type Board struct {
	o Options

	mu       sync.Mutex
	problems []error
	cache    cached
	ready    knownReady
}

// Open returns the board in o.Dir. It reads nothing and creates nothing.
func Open(o Options) (*Board, error) {
	if o.Dir == "" || !filepath.IsAbs(o.Dir) {
		return nil, errs.New(errs.Usage, "the board's directory %q is not an absolute path", o.Dir)
	}
	if o.Root == "" {
		o.Root = filepath.Dir(o.Dir)
	}
	if o.Roster == nil {
		o.Roster = anybody{}
	}
	if o.HarnessLive == nil {
		o.HarnessLive = func() bool { return false }
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 10 * time.Second
	}
	if o.GateRetries == 0 {
		o.GateRetries = 3
	}
	return &Board{o: o}, nil
}

// Dir returns the board's directory.
func (b *Board) Dir() string { return b.o.Dir }

func (b *Board) path(parts ...string) string {
	return filepath.Join(append([]string{b.o.Dir}, parts...)...)
}

// Path returns the path of the snapshot.
func (b *Board) Path() string { return b.path("board.json") }

func (b *Board) claimPath(id string) string      { return b.path("claims", id+".json") }
func (b *Board) submissionPath(id string) string { return b.path("submissions", id+".json") }
func (b *Board) historyPath() string             { return b.path("history.jsonl") }
func (b *Board) archivePath() string             { return b.path("archive.jsonl") }
func (b *Board) readyPath() string               { return b.path("ready") }
func (b *Board) lockPath() string                { return b.path("board.lock") }

// maxSnapshot bounds what is read as a snapshot: 100,000 tasks of ordinary
// size are 50 MB.
const maxSnapshot = 4 << 30

// corrupt is the error for a file that cannot be used as what it should be.
func corrupt(path string, err error) *Error {
	return errs.New(errs.Corrupt, "%w", err).WithPath(path).
		WithHint("teams doctor tells what is wrong; teams doctor --repair rebuilds the board")
}

// readError makes what cannot be read an error that keeps its path.
func readError(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		c := corrupt(path, err)
		c.Msg = "it " + e.Msg
		return c
	}
	return fmt.Errorf("read board: %w", err)
}

// checkAbsent returns an error when board.json is missing although other files
// of a board are there.
func (b *Board) checkAbsent() error {
	found, err := b.companion(true)
	if err != nil || found == "" {
		return err
	}
	if _, err := os.Lstat(b.Path()); err == nil {
		return nil // the board has just been made: there was none when we looked
	}
	return corrupt(b.Path(), fmt.Errorf("it is missing, but %s is here", found))
}

// companion returns the name of a file that only a board with a snapshot has;
// with markers, a claim or a submission counts as one.
func (b *Board) companion(markers bool) (string, error) {
	if err := fsx.CheckDir(b.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	for _, name := range []string{"history.jsonl", "archive.jsonl", "ready"} {
		if _, err := os.Lstat(b.path(name)); err == nil {
			return name, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if !markers {
		return "", nil
	}
	for _, dir := range []string{"claims", "submissions"} {
		names, err := fsx.List(b.path(dir))
		if err != nil {
			return "", err
		}
		if len(names) > 0 {
			return dir + "/" + names[0], nil
		}
	}
	return "", nil
}

// Exists reports whether the board has state.
func (b *Board) Exists() (bool, error) {
	h, err := b.readHead()
	return h != nil, err
}

// lock takes board.lock, waiting for it at most as long as the options say.
func (b *Board) lock(ctx context.Context) (*fsx.Lock, error) {
	return fsx.Acquire(ctx, b.lockPath(), b.o.LockTimeout)
}

// dirs are the directories of a board, itself first, and those on the way to
// it from the root.
func (b *Board) dirs() []string {
	dirs := []string{b.o.Dir, b.path("claims"), b.path("submissions"), b.path("gates"), b.path("rejected")}
	for dir := filepath.Dir(b.o.Dir); strings.HasPrefix(dir, b.o.Root+"/"); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// create makes the directories of a board, as far as they are missing: a board
// of pi-agent-teams has some of them only. It refuses those that are no
// directories, so that nothing is ever followed out of the session.
func (b *Board) create() error {
	for _, dir := range b.dirs() {
		err := fsx.CheckDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = fsx.MkdirAll(b.o.Root, dir)
		}
		if err != nil {
			return fmt.Errorf("create board: %w", err)
		}
	}
	return nil
}

// checkDirs refuses directories of the board that are no directories.
func (b *Board) checkDirs() error {
	for _, dir := range b.dirs() {
		if err := fsx.CheckDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
