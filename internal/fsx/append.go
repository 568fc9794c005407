package fsx

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Append adds data, whole lines as a rule, to the end of the file path. A
// missing file is created with data in it, as by Publish. data goes out in one
// write, so that the lines of concurrent appends do not mix. If the file does
// not end in a newline (a power cut or a full disk tore its last line), one is
// written first; two appends that do so at the same moment may leave an empty
// line, which readers have to skip.
//
// With sync, data and the name of a new file are durable when Append returns
// nil. The error is ErrUncertain when data was written but could not be made
// durable. A write that the disk had room for only in part leaves a torn line,
// which the next Append ends.
func Append(path string, data []byte, sync bool) error {
	if len(data) == 0 {
		return nil
	}
	for {
		// Open for reading too: for a look at the last byte, and because a
		// fifo does not block then.
		fd, err := openFD(path, path, unix.O_RDWR|unix.O_APPEND|unix.O_NONBLOCK)
		if err == nil {
			defer unix.Close(fd)
			return appendTo(fd, path, data, sync)
		}
		if err != unix.ENOENT {
			return openErr("append", path, err)
		}
		err = publish("append", path, data, sync)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Somebody else has created it meanwhile. Or it is a dangling link.
		if err := checkTarget("append", path); err != nil {
			return err
		}
	}
}

func appendTo(fd int, path string, data []byte, sync bool) error {
	size, torn, err := lookAtEnd(fd, path)
	if err != nil {
		return err
	}
	if torn {
		data = append([]byte{'\n'}, data...)
	}
	if err := writeFD(fd, path, data); err != nil {
		return pathErr("append", path, err)
	}
	if !sync {
		return nil
	}
	if err := fsyncFD(fd, path); err != nil {
		return &uncertain{"append", path, err}
	}
	if size > 0 {
		return nil
	}
	// Who created the empty file may not have made its name durable.
	dir, _, err := split(path)
	if err == nil {
		err = FsyncDir(dir)
	}
	if err != nil {
		return &uncertain{"append", path, bare(err)}
	}
	return nil
}

// lookAtEnd returns the size of the file, and whether its last line is torn. A
// write of somebody else that is under way shows its data piece by piece, so a
// line counts as torn only if it still is a moment later.
func lookAtEnd(fd int, path string) (size int64, torn bool, err error) {
	for look := 0; ; look++ {
		var st unix.Stat_t
		if err := fstat(fd, &st); err != nil {
			return 0, false, pathErr("append", path, err)
		}
		if !isRegular(&st) {
			return 0, false, irregular("append", path, kindOf(uint32(st.Mode)), "regular file")
		}
		if st.Size == 0 {
			return 0, false, nil
		}
		var last [1]byte
		n, err := pread(fd, path, last[:], st.Size-1)
		if err != nil {
			return 0, false, pathErr("append", path, err)
		}
		if n == 1 && last[0] == '\n' {
			return st.Size, false, nil
		}
		if look > 0 && st.Size == size || look == 20 {
			return st.Size, true, nil
		}
		size = st.Size
		time.Sleep(time.Millisecond)
	}
}

// SyncFile makes the content of the file path durable. A missing file is no
// error.
func SyncFile(path string) error {
	fd, err := openFD(path, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return openErr("sync", path, err)
	}
	defer unix.Close(fd)
	return pathErr("sync", path, fsyncFD(fd, path))
}
