package verify

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

var errIrregular = errors.New("not a regular file")

// openLog opens a log for a new run, with mode 0600 whatever the umask.
func openLog(path string) (*os.File, error) {
	// O_NONBLOCK keeps a FIFO in the log's place from blocking the open.
	f, err := openRegular(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	// Not by O_TRUNC: that would come before the look at what it is.
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openRegular opens a regular file, never through a symbolic link at the end
// of path and never waiting for somebody at the other end of a FIFO.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// syncDir makes the name of a new log durable. Its failure shows in nothing
// but a log that is gone after a power cut, so it is not reported.
func syncDir(path string) {
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// noSync tells whether err only says that this file system knows no fsync.
func noSync(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP)
}

// Tail returns at most the last n bytes of a log, cut at the start of a line.
// A last line that is longer than n is cut at a character instead. The text is
// what the gate printed: it may hold control characters and invalid UTF-8.
// The error is an *fs.PathError, fs.ErrNotExist when there is no log.
func Tail(log string, n int64) (string, error) {
	f, err := openRegular(log, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || n <= 0 {
		return "", err
	}
	size := info.Size()
	// One byte more tells whether the rest starts at a line.
	from := max(0, size-n-1)
	text := make([]byte, size-from)
	got, err := f.ReadAt(text, from)
	if err != nil && err != io.EOF {
		return "", err
	}
	text = text[:got]
	if size <= n {
		return string(text), nil
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return string(text[i+1:]), nil
	}
	if len(text) > 0 {
		text = text[1:]
	}
	for i := 0; i < utf8.UTFMax && i < len(text); i++ {
		if utf8.RuneStart(text[i]) {
			return string(text[i:]), nil
		}
	}
	return string(text), nil
}
