package fsx

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FileSystem says what kind of file system a path lies on.
type FileSystem struct {
	// Type is its name, such as ext4, nfs or fuse.mfs; a number where it has no
	// name here.
	Type string
	// Network: its files may be used by several machines at once. What is only
	// passed through from the machine that one runs on (9p, vboxsf) is not meant.
	Network bool
}

// FileSystemOf looks up the file system that path, or the nearest of its
// parents that is there, lies on. It costs one statfs(2); for a file system in
// user space, whose kinds share one number, also a look at the mounts.
func FileSystemOf(path string) (FileSystem, error) {
	at := path
	for {
		var st unix.Statfs_t
		err := unix.Statfs(at, &st)
		switch {
		case err == nil:
			return fileSystem(at, &st), nil
		case err == unix.EINTR:
			continue
		case err != unix.ENOENT && err != unix.ENOTDIR, at == filepath.Dir(at):
			return FileSystem{}, pathErr("statfs", path, err)
		}
		at = filepath.Dir(at)
	}
}
