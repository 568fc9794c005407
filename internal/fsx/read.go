package fsx

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
)

// ReadFile returns the content of the regular file path. Anything else, a
// symbolic link included, is ErrIrregular, and a file of more than limit bytes
// is ErrTooLarge, both with code corrupt. A missing file is fs.ErrNotExist. It
// never waits, not even for a fifo.
func ReadFile(path string, limit int64) ([]byte, error) {
	limit = min(limit, math.MaxInt64-1)
	fd, size, err := openRead(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if size > limit {
		return nil, tooLarge(path, limit)
	}
	// One byte more than expected shows in the same call whether the file has
	// grown meanwhile.
	buf := make([]byte, size+1)
	for n := 0; ; {
		m, err := read(fd, path, buf[n:])
		if err != nil {
			return nil, pathErr("read", path, err)
		}
		n += m
		switch {
		case int64(n) > limit:
			return nil, tooLarge(path, limit)
		case m == 0, int64(n) == size:
			return buf[:n:n], nil
		case n == len(buf):
			grown := make([]byte, min(2*int64(n), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

// ReadHead returns the first n bytes of the regular file path, or all of them
// when there are fewer. Errors are those of ReadFile.
func ReadHead(path string, n int) ([]byte, error) {
	fd, size, err := openRead(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, max(0, min(int64(n), size)))
	return fill(fd, path, buf, 0)
}

// ReadTail returns the last n bytes of the regular file path, or all of them
// when there are fewer, and the size that the file had at that moment. Errors
// are those of ReadFile.
func ReadTail(path string, n int64) (data []byte, size int64, err error) {
	fd, size, err := openRead(path)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(fd)
	n = max(0, min(n, size))
	data, err = fill(fd, path, make([]byte, n), size-n)
	return data, size, err
}

// openRead opens a regular file and tells its size.
func openRead(path string) (fd int, size int64, err error) {
	fd, err = openFD(path, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return -1, 0, openErr("read", path, err)
	}
	var st unix.Stat_t
	if err = fstat(fd, &st); err != nil {
		err = pathErr("read", path, err)
	} else if !isRegular(&st) {
		err = irregular("read", path, kindOf(uint32(st.Mode)), "regular file")
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
}

// fill reads buf full from off on, or up to the end of the file.
func fill(fd int, path string, buf []byte, off int64) ([]byte, error) {
	n := 0
	for n < len(buf) {
		m, err := pread(fd, path, buf[n:], off+int64(n))
		if err != nil {
			return nil, pathErr("read", path, err)
		}
		if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], nil
}

func read(fd int, path string, buf []byte) (n int, err error) {
	err = call(OpRead, path, func() (err error) {
		n, err = unix.Read(fd, buf)
		return err
	})
	return n, err
}

func pread(fd int, path string, buf []byte, off int64) (n int, err error) {
	err = call(OpRead, path, func() (err error) {
		n, err = unix.Pread(fd, buf, off)
		return err
	})
	return n, err
}

func tooLarge(path string, limit int64) error {
	e := errs.New(errs.Corrupt, "is larger than %d bytes", limit)
	e.Op, e.Path, e.Err = "read", path, ErrTooLarge
	return e
}
