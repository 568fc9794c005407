package fsboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
	// LockTimeout bounds the wait for board.lock. Zero: 10 s.
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
	cache    *cached
}

// cached is the last snapshot that was read, with the line 1 that it had. It
// is handed to one user at a time, since reading decodes into it.
type cached struct {
	line1 string
	size  int64
	snap  *snapshot
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

// load reads the snapshot; nil without an error when the board has no state
// yet.
func (b *Board) load() (*snapshot, error) {
	data, err := fsx.ReadFile(b.Path(), maxSnapshot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, b.checkAbsent()
	case err != nil:
		return nil, readError(b.Path(), err)
	}
	s, err := parseSnapshot(data)
	if err != nil {
		return nil, corrupt(b.Path(), err)
	}
	if err := b.checkHead(&s.head); err != nil {
		return nil, err
	}
	return s, nil
}

// checkHead refuses a snapshot without format beside files of ours: some other
// tool, or a broken restore, put it there.
func (b *Board) checkHead(h *head) error {
	if h.Format > 0 {
		return nil
	}
	found, err := b.companion()
	if err != nil {
		return err
	}
	if found != "" {
		return corrupt(b.Path(), fmt.Errorf("it has no format, but %s is here", found))
	}
	return nil
}

// readError makes what cannot be read an error that keeps its path.
func readError(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return corrupt(path, err)
	}
	return fmt.Errorf("read board: %w", err)
}

// checkAbsent returns an error when board.json is missing although other files
// of a board are there.
func (b *Board) checkAbsent() error {
	found, err := b.companion()
	if err != nil || found == "" {
		return err
	}
	return corrupt(b.Path(), fmt.Errorf("it is missing, but %s is here", found))
}

// companion returns the name of a file that only a board with a snapshot has.
func (b *Board) companion() (string, error) {
	if err := fsx.CheckDir(b.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	for _, name := range []string{"history.jsonl", "archive.jsonl"} {
		if _, err := fsx.ReadHead(b.path(name), 1); err == nil {
			return name, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
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

// headSize is more than a usual line 1; a longer one is read whole.
const headSize = 4096

// readHead reads line 1 of the snapshot; nil when the board has no state.
func (b *Board) readHead() (*head, error) {
	data, err := fsx.ReadHead(b.Path(), headSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.checkAbsent()
	}
	if err != nil {
		return nil, readError(b.Path(), err)
	}
	for i, c := range data {
		if c != '\n' {
			continue
		}
		if h, err := parseHead(append([]byte(nil), data[:i]...)); err == nil {
			return &h, nil
		}
		break
	}
	s, err := b.load()
	if err != nil || s == nil {
		return nil, err
	}
	return &s.head, nil
}

// revision returns the present revision for a second look.
func (b *Board) revision() (int64, error) {
	data, err := fsx.ReadHead(b.Path(), headSize)
	if err != nil {
		return 0, readError(b.Path(), err)
	}
	if rev, ok := revisionOf(data); ok {
		return rev, nil
	}
	h, err := b.readHead()
	if err != nil {
		return 0, err
	}
	if h == nil {
		return 0, corrupt(b.Path(), errors.New("it vanished"))
	}
	return h.Revision, nil
}

// lock takes board.lock, waiting for it at most as long as the options say.
func (b *Board) lock(ctx context.Context) (*fsx.Lock, error) {
	return fsx.Acquire(ctx, b.lockPath(), b.o.LockTimeout)
}

// create makes the directories of a board.
func (b *Board) create() error {
	for _, dir := range []string{"claims", "submissions", "gates", "rejected"} {
		if err := fsx.MkdirAll(b.o.Root, b.path(dir)); err != nil {
			return fmt.Errorf("create board: %w", err)
		}
	}
	return nil
}

// checkDirs refuses directories of the board that are not directories, so that
// nothing is ever followed out of the session.
func (b *Board) checkDirs() error {
	for _, dir := range []string{"", "claims", "submissions", "gates", "rejected"} {
		if err := fsx.CheckDir(b.path(dir)); err != nil && !(dir != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}
