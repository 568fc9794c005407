package worktree

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem makes durable all that the file system of path has.
func syncFileSystem(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: path, Err: err}
	}
	return nil
}
