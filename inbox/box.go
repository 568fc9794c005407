package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Error is the error type of this package.
type Error = errs.Error

// Box is a mailbox.
type Box struct {
	dir  string
	root string
}

// Open returns the mailbox in dir. Nothing is read or created. Symlinks are
// allowed down to root and refused below it.
func Open(root, dir string) *Box { return &Box{dir: dir, root: root} }

// Dir returns the mailbox's directory.
func (b *Box) Dir() string { return b.dir }

// ext is the ending of a message's file.
const ext = ".md"

// sub returns the directory of read or unread messages.
func (b *Box) sub(read bool) string {
	if read {
		return filepath.Join(b.dir, "cur")
	}
	return filepath.Join(b.dir, "new")
}

func (b *Box) file(id string, read bool) string { return filepath.Join(b.sub(read), id+ext) }

// Create makes the mailbox's directories.
func (b *Box) Create() error {
	for _, name := range []string{"tmp", "new", "cur"} {
		if err := fsx.MkdirAll(b.root, filepath.Join(b.dir, name)); err != nil {
			return fmt.Errorf("create mailbox: %w", err)
		}
	}
	return nil
}

// Check refuses a mailbox that is not whole: new/ and cur/ have to be there,
// and they and everything between them and the root have to be real
// directories. A missing one is fs.ErrNotExist.
func (b *Box) Check() error {
	if err := b.CheckNew(); err != nil {
		return err
	}
	return fsx.CheckDir(b.sub(true))
}

// CheckNew is Check for a directory that has only a new/, as an outbox has.
func (b *Box) CheckNew() error {
	path := b.sub(false)
	rel, err := filepath.Rel(b.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		if err := fsx.CheckDir(b.dir); err != nil {
			return err
		}
		return fsx.CheckDir(path)
	}
	dir := filepath.Clean(b.root)
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		if err := fsx.CheckDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Publish delivers a message: it is in new/, whole and on disk, when Publish
// returns. An unread message of the same id is fs.ErrExist. After an error that
// is fsx.ErrUncertain the message may be there; after any other it is not.
func (b *Box) Publish(m *Message) error {
	if err := b.Check(); err != nil {
		return err
	}
	return b.publish(m)
}

// PublishNew is Publish for a directory that has only a new/.
func (b *Box) PublishNew(m *Message) error {
	if err := b.CheckNew(); err != nil {
		return err
	}
	return b.publish(m)
}

func (b *Box) publish(m *Message) error {
	if err := CheckID(m.ID); err != nil {
		return err
	}
	return m.WriteTo(b.file(m.ID, false))
}

// lookRounds is how often a message is looked for on both sides before it is
// taken to be gone: while it is moved to and fro each look may come too late.
const lookRounds = 4

// Has reports where a message lies.
func (b *Box) Has(id string) (there, read bool, err error) {
	if err := CheckID(id); err != nil {
		return false, false, err
	}
	for range lookRounds {
		for _, read := range []bool{false, true} {
			_, err := fsx.ReadHead(b.file(id, read), 0)
			if err == nil {
				return true, read, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return false, false, err
			}
		}
	}
	return false, false, nil
}

// Get returns a message with its body, not_found when there is none.
func (b *Box) Get(id string) (*Message, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if err := b.CheckNew(); err != nil {
		return nil, err
	}
	for range lookRounds {
		for _, read := range []bool{false, true} {
			m, err := b.read(id, read)
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return m, err
			}
		}
	}
	return nil, notFound(id)
}

func notFound(id string) error {
	return errs.New(errs.NotFound, "there is no message %s here", id).WithHint("teams inbox --all shows the ids")
}

// read reads a message whole.
func (b *Box) read(id string, read bool) (*Message, error) {
	m, err := ReadFile(b.file(id, read))
	if err != nil {
		return nil, err
	}
	m.Read = read
	return m, nil
}

// Peek returns a message without its body. One that does not lie there, but
// perhaps on the other side, is fs.ErrNotExist.
func (b *Box) Peek(id string, read bool) (*Message, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	m, err := PeekFile(b.file(id, read))
	if err != nil {
		return nil, err
	}
	m.Read = read
	return m, nil
}

// Watch returns a watcher that tells when unread messages may have come; where
// the system gives no events it ticks every poll. A receiver that dies while it
// shows a message makes no event: whoever waits looks again now and then.
func (b *Box) Watch(poll time.Duration) *fsx.Watcher { return fsx.NewWatcher(poll, b.sub(false)) }
