package inbox

import (
	"errors"
	"io/fs"
	"os"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Mark moves a message to the read ones, for good when it returns. One that is
// read already is no error. It does not mind whether somebody is showing the
// message; TryMark does.
func (b *Box) Mark(id string) error { return b.move(id, false) }

// Unread moves a message back to the unread ones, for good when it returns. One
// that is unread already is no error.
func (b *Box) Unread(id string) error { return b.move(id, true) }

func (b *Box) move(id string, read bool) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := b.Check(); err != nil {
		return err
	}
	for range lookRounds {
		err := b.place(id, read)
		if errors.Is(err, fs.ErrNotExist) {
			// Somebody else has moved it, and may not have made that durable.
			if _, err = fsx.ReadHead(b.file(id, !read), 0); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
		return b.sync(!read)
	}
	return notFound(id)
}

// place renames a message to the other side. Where another file has its name
// there already, which only a copy made by hand can be, both are kept.
func (b *Box) place(id string, read bool) error {
	src, dst := b.file(id, read), b.file(id, !read)
	err := fsx.MoveUnique(src, dst)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if read {
		return nil // it is unread
	}
	from, err := os.Lstat(src)
	if err != nil {
		return err
	}
	if to, err := os.Lstat(dst); err == nil && os.SameFile(from, to) {
		return fsx.Unlink(src) // two names of one file
	}
	return fsx.MoveUnique(src, b.file(FreshID(id), true))
}

// sync makes moves to one side durable: first that the messages are there, then
// that they are not on the other side.
func (b *Box) sync(read bool) error {
	if err := fsx.FsyncDir(b.sub(read)); err != nil {
		return err
	}
	return fsx.FsyncDir(b.sub(!read))
}

// TryMark is Mark for an unread message that nobody is showing. It answers
// false when somebody is, or when it is not unread.
func (b *Box) TryMark(id string) (bool, error) {
	lock, err := b.lock(id)
	if err != nil || lock == nil {
		return false, err
	}
	defer lock.Unlock()
	if err := b.place(id, false); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	return true, b.sync(true)
}

// Withdraw takes an unread message back. It answers false when it is read, or
// being shown, or gone.
func (b *Box) Withdraw(id string) (bool, error) {
	lock, err := b.lock(id)
	if err != nil || lock == nil {
		return false, err
	}
	defer lock.Unlock()
	// The lock keeps receivers away, but not Mark: whoever has removed the name
	// has withdrawn it.
	err = fsx.Unlink(b.file(id, false))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, fsx.FsyncDir(b.sub(false))
}

// lock locks an unread message; nil when it is not to be had.
func (b *Box) lock(id string) (*fsx.Lock, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if err := b.CheckNew(); err != nil {
		return nil, err
	}
	lock, ok, err := fsx.LockFile(b.file(id, false))
	if err != nil || !ok {
		return nil, err
	}
	return lock, nil
}
