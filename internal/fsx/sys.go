package fsx

import (
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files are handled as bare descriptors here: package os would register each
// of them with the network poller, which refuses regular files, for three
// system calls at the first file and one at each later one.

const fileMode, dirMode = 0o600, 0o700

// fileID identifies a file while it exists.
type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID {
	return fileID{uint64(st.Dev), uint64(st.Ino)}
}

func isRegular(st *unix.Stat_t) bool { return uint32(st.Mode)&unix.S_IFMT == unix.S_IFREG }
func isDir(st *unix.Stat_t) bool     { return uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR }

// openFD opens file; the seam hears of path. Symbolic links are not followed.
func openFD(file, path string, flags int) (fd int, err error) {
	err = call(OpOpen, path, func() (err error) {
		fd, err = unix.Open(file, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, fileMode)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// fstat is fstat(2), repeated when interrupted.
func fstat(fd int, st *unix.Stat_t) error {
	for {
		if err := unix.Fstat(fd, st); err != unix.EINTR {
			return err
		}
	}
}

// lstat is lstat(2), repeated when interrupted.
func lstat(path string, st *unix.Stat_t) error {
	for {
		if err := unix.Lstat(path, st); err != unix.EINTR {
			return err
		}
	}
}

// fixMode gives the file of fd mode 0600 if the umask took bits away.
func fixMode(fd int, st *unix.Stat_t) error {
	if uint32(st.Mode)&0o777 == fileMode {
		return nil
	}
	for {
		if err := unix.Fchmod(fd, fileMode); err != unix.EINTR {
			return err
		}
	}
}

// writeFD writes all of data; in one call unless the system takes less.
func writeFD(fd int, path string, data []byte) error {
	for len(data) > 0 {
		var n int
		err := call(OpWrite, path, func() (err error) {
			n, err = unix.Write(fd, data)
			return err
		})
		if err != nil {
			return err
		}
		if n <= 0 {
			return io.ErrShortWrite
		}
		data = data[n:]
	}
	return nil
}

// fsyncFD makes the content of fd durable.
func fsyncFD(fd int, path string) error {
	return call(OpFsync, path, func() error { return fsync(fd) })
}

// fdWriter is writeFD as an io.Writer.
type fdWriter struct {
	fd   int
	path string
}

func (w fdWriter) Write(p []byte) (int, error) {
	if err := writeFD(w.fd, w.path, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// split returns the directory and the base name of path, which has to name
// something in a directory.
func split(path string) (dir, base string, err error) {
	dir, base = filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return "", "", unix.EINVAL
	}
	switch {
	case dir == "":
		dir = "."
	case len(dir) > 1:
		dir = dir[:len(dir)-1] // the slash
	}
	return dir, base, nil
}
