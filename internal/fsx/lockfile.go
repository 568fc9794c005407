package fsx

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// LockFile locks an existing data file itself, for as long as it is handled. It
// creates nothing and writes nothing into the file. It answers false when
// somebody else has the lock, and when the file is not at path any more, which
// is looked at after locking: whoever had the lock may have moved it away. What
// is no regular file is ErrIrregular.
func LockFile(path string) (*Lock, bool, error) {
	fl := flock.New(path, flock.SetFlag(os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK))
	var ok bool
	err := call(OpFlock, path, func() (err error) {
		ok, err = fl.TryLock()
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, lockErr(path, err)
	}
	if !ok {
		return nil, false, nil
	}
	locked, err := fl.Stat()
	if err == nil && !locked.Mode().IsRegular() {
		_ = unlock(fl)
		return nil, false, notLockFile(path, locked)
	}
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(path); err == nil && os.SameFile(locked, now) {
			l := &Lock{path: path, fl: fl}
			held.add(l)
			return l, true, nil
		}
	}
	_ = unlock(fl)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, lockErr(path, err)
	}
	return nil, false, nil
}

// Unlink is Remove for a caller that has to know whether it was the one that
// removed the name: a missing file is fs.ErrNotExist.
func Unlink(path string) error {
	return pathErr("remove", path, call(OpUnlink, path, func() error { return unix.Unlink(path) }))
}

// MoveUnique is Move for a file whose name nobody else gives to another one, as
// a message's id is. Where the file system cannot rename without replacing, it
// looks whether there is a dst and then renames; so the file has one name at
// every moment there too, and of several that move it one succeeds. What lies
// at dst under the same name is replaced only if it came between the look and
// the rename.
func MoveUnique(src, dst string) error {
	err := call(OpRename, src, func() error { return renameExclusive(src, dst) })
	switch err {
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return moveByLook(src, dst)
	case unix.EEXIST:
		return pathErr("move", dst, err)
	}
	return pathErr("move", src, err)
}

func moveByLook(src, dst string) error {
	var from, to unix.Stat_t
	if err := lstat(src, &from); err != nil {
		return pathErr("move", src, err)
	}
	switch err := lstat(dst, &to); err {
	case unix.ENOENT:
	case nil:
		if err := lstat(src, &from); err != nil {
			return pathErr("move", src, err) // somebody else has just moved it there
		}
		return pathErr("move", dst, unix.EEXIST)
	default:
		return pathErr("move", dst, err)
	}
	err := call(OpRename, dst, func() error { return unix.Rename(src, dst) })
	if err != nil && lstat(dst, &to) == nil && idOf(&to) == idOf(&from) {
		return nil // a network file system may lose the answer
	}
	return pathErr("move", src, err)
}
