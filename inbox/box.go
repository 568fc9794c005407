package inbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

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

// check refuses a mailbox whose directories are not directories, and one that
// is not there.
func (b *Box) check() error {
	for _, dir := range []string{b.dir, b.sub(false), b.sub(true)} {
		if err := fsx.CheckDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Publish delivers a message: it is in new/, whole and on disk, when Publish
// returns. A message of the same id that is there already is fs.ErrExist.
func (b *Box) Publish(m *Message) error {
	if err := b.check(); err != nil {
		return err
	}
	return b.PublishNew(m)
}

// PublishNew is Publish for a directory that has only a new/.
func (b *Box) PublishNew(m *Message) error {
	if err := CheckID(m.ID); err != nil {
		return err
	}
	return m.WriteTo(b.file(m.ID, false))
}

// WriteTo publishes the message as a file of its own. fs.ErrExist: there is one.
func (m *Message) WriteTo(path string) error {
	if len(m.Body) > MaxBody {
		return TooLarge(int64(len(m.Body)))
	}
	head, err := m.Header.Encode()
	if err != nil {
		return err
	}
	return fsx.PublishFunc(path, func(w io.Writer) error {
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := w.Write(m.Body)
		return err
	})
}

// TooLarge is the error for a body over the limit.
func TooLarge(size int64) error {
	return errs.New(errs.Usage, "the body has %d bytes, at most %d are taken", size, MaxBody).
		WithHint("put it in a file and send the file's path")
}

// Has reports where a message lies. A message that is being marked is looked
// for twice.
func (b *Box) Has(id string) (there, read bool, err error) {
	if err := CheckID(id); err != nil {
		return false, false, err
	}
	for range 2 {
		for _, read := range []bool{false, true} {
			_, err := fsx.ReadHead(b.file(id, read), 1)
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

// IDs lists the ids of unread or read messages, in order. A listing that races
// with renames may miss one; whoever is about to say "none" lists twice.
func (b *Box) IDs(read bool) ([]string, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	names, err := fsx.List(b.sub(read))
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(names))
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ext); ok && CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Get returns a message with its body, not_found when there is none.
func (b *Box) Get(id string) (*Message, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	for range 2 {
		for _, read := range []bool{false, true} {
			m, err := b.read(id, read)
			if err == nil {
				return m, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return nil, errs.New(errs.NotFound, "there is no message %s here", id).WithHint("teams inbox --all shows the ids")
}

// read reads a message whole.
func (b *Box) read(id string, read bool) (*Message, error) {
	data, err := fsx.ReadFile(b.file(id, read), maxFile)
	if err != nil {
		return nil, err
	}
	h, body := splitHeader(data)
	m := &Message{Header: h, Body: data[body:], Read: read, Size: int64(len(data) - body)}
	m.complete(id, m.Body)
	return m, nil
}

// Peek returns a message without its body.
func (b *Box) Peek(id string, read bool) (*Message, error) {
	data, size, err := headAndSize(b.file(id, read))
	if err != nil {
		return nil, err
	}
	h, body := splitHeader(data)
	m := &Message{Header: h, Read: read, Size: size - int64(body)}
	m.complete(id, data[body:])
	return m, nil
}

// List returns the messages without their bodies, in order: the unread ones,
// and with all the read ones too. What cannot be read is a problem and leaves
// the others whole.
func (b *Box) List(all bool) (list []*Message, problems []error, err error) {
	kinds := []bool{false}
	if all {
		kinds = []bool{true, false}
	}
	seen := map[string]bool{}
	for range 2 {
		for _, read := range kinds {
			ids, err := b.IDs(read)
			if err != nil {
				return nil, nil, err
			}
			for _, id := range ids {
				if seen[id] {
					continue
				}
				m, err := b.Peek(id, read)
				switch {
				case err == nil:
					seen[id] = true
					list = append(list, m)
				case errors.Is(err, fs.ErrNotExist):
				default:
					seen[id] = true
					problems = append(problems, err)
				}
			}
		}
		if len(list) > 0 || len(problems) > 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, c *Message) int { return strings.Compare(a.ID, c.ID) })
	return list, problems, nil
}

// Mark moves a message to the read ones, for good when it returns. One that is
// read already is no error.
func (b *Box) Mark(id string) error { return b.move(id, false) }

// Unread moves a message back to the unread ones.
func (b *Box) Unread(id string) error { return b.move(id, true) }

func (b *Box) move(id string, read bool) error {
	if err := CheckID(id); err != nil {
		return err
	}
	err := fsx.Move(b.file(id, read), b.file(id, !read))
	if errors.Is(err, fs.ErrNotExist) {
		there, now, herr := b.Has(id)
		switch {
		case herr != nil:
			return herr
		case !there:
			return errs.New(errs.NotFound, "there is no message %s here", id).WithHint("teams inbox --all shows the ids")
		case now == !read:
			return nil
		}
	}
	if err != nil {
		return err
	}
	return b.sync()
}

// sync makes moves between new/ and cur/ durable.
func (b *Box) sync() error {
	if err := fsx.FsyncDir(b.sub(true)); err != nil {
		return err
	}
	return fsx.FsyncDir(b.sub(false))
}

// Withdraw takes an unread message back. It answers false when it is read, or
// being read, or gone.
func (b *Box) Withdraw(id string) (bool, error) {
	path := b.file(id, false)
	lock, ok, err := fsx.LockFile(path)
	if err != nil || !ok {
		return false, err
	}
	defer lock.Unlock()
	if err := fsx.Remove(path); err != nil {
		return false, err
	}
	return true, fsx.FsyncDir(b.sub(false))
}
