package fsx

import (
	"golang.org/x/sys/unix"
)

// Remove removes the name of a file that is no directory. A missing file is
// no error. It is not durable before FsyncDir of the directory.
func Remove(path string) error {
	err := call(OpUnlink, path, func() error { return unix.Unlink(path) })
	if err == unix.ENOENT {
		return nil
	}
	return pathErr("remove", path, err)
}

// Move renames src to dst on one file system. It never replaces: if there is a
// dst, the error is fs.ErrExist. If there is no src, because somebody else was
// quicker, it is fs.ErrNotExist. A symbolic link is moved itself. It is not
// durable before FsyncDir of both directories.
//
// On a file system that cannot rename without replacing, a file is linked to
// dst and then removed from src, so that a crash may leave both names; and a
// directory is renamed after a look whether dst exists.
func Move(src, dst string) error {
	err := call(OpRename, src, func() error { return renameExclusive(src, dst) })
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return moveByLink(src, dst)
	case unix.EEXIST:
		return pathErr("move", dst, err)
	}
	return pathErr("move", src, err)
}

func moveByLink(src, dst string) error {
	var from, to unix.Stat_t
	if err := lstat(src, &from); err != nil {
		return pathErr("move", src, err)
	}
	if isDir(&from) {
		switch err := lstat(dst, &to); err {
		case unix.ENOENT:
		case nil:
			return pathErr("move", dst, unix.EEXIST)
		default:
			return pathErr("move", dst, err)
		}
		err := call(OpRename, src, func() error { return unix.Rename(src, dst) })
		return pathErr("move", src, err)
	}
	err := call(OpLink, dst, func() error {
		return unix.Linkat(unix.AT_FDCWD, src, unix.AT_FDCWD, dst, 0)
	})
	if err != nil {
		// It may have been carried out all the same: then the file has a link
		// more than before. Without that, dst was another name of src already.
		if lstat(dst, &to) != nil || idOf(&to) != idOf(&from) || to.Nlink <= from.Nlink {
			return pathErr("move", dst, err)
		}
	}
	err = call(OpUnlink, src, func() error { return unix.Unlink(src) })
	if err != nil && err != unix.ENOENT {
		return pathErr("move", src, err)
	}
	return nil
}
