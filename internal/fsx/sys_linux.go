package fsx

import "golang.org/x/sys/unix"

func fsync(fd int) error { return unix.Fsync(fd) }

// renameExclusive renames without replacing. The error is unix.EINVAL or
// unix.ENOSYS where the file system or the kernel cannot do so.
func renameExclusive(src, dst string) error {
	return unix.Renameat2(unix.AT_FDCWD, src, unix.AT_FDCWD, dst, unix.RENAME_NOREPLACE)
}

// swap exchanges two files. The errors are those of renameExclusive, and
// unix.ENOENT when there is only one of them.
func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// push starts to bring to the disk what was written to a file, without waiting.
// It promises nothing: fsync does.
func push(fd uintptr) { _ = unix.SyncFileRange(int(fd), 0, 0, unix.SYNC_FILE_RANGE_WRITE) }
