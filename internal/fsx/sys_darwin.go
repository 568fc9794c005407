package fsx

import "golang.org/x/sys/unix"

// fsync asks for the platter: fsync(2) of macOS leaves the data in the cache
// of the drive. Network file systems know only the plain call.
func fsync(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	if err == unix.ENOTSUP {
		err = unix.Fsync(fd)
	}
	return err
}

// renameExclusive renames without replacing. The error is unix.ENOTSUP or
// unix.EINVAL where the file system cannot do so.
func renameExclusive(src, dst string) error {
	return unix.RenamexNp(src, dst, unix.RENAME_EXCL)
}

// swap exchanges two files. The errors are those of renameExclusive, and
// unix.ENOENT when there is only one of them.
func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// push does nothing here: there is no such call.
func push(uintptr) {}
