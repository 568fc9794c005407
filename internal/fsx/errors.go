package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/seed6990a682/teams/internal/errs"
)

var (
	// ErrUncertain marks an error after which the change may be visible, but
	// is not known to be durable, or not known to have happened at all. The
	// caller has to look before it acts.
	ErrUncertain = errors.New("it may have happened all the same")

	// ErrIrregular marks a path that is not the regular file, or the
	// directory, that it should be: a symbolic link, a fifo, a device.
	ErrIrregular = errors.New("wrong type of file")

	// ErrTooLarge marks a file that is larger than the limit of its reader.
	ErrTooLarge = errors.New("file too large")
)

// uncertain is ErrUncertain together with its cause.
type uncertain struct {
	op, path string
	err      error
}

func (u *uncertain) Error() string {
	return u.op + " " + u.path + ": " + u.err.Error() + "; " + ErrUncertain.Error()
}

func (u *uncertain) Unwrap() []error { return []error{ErrUncertain, u.err} }

// pathErr wraps err with the operation and the path that the caller knows.
// The wrapping of package os is taken off, since it names temporary files.
func pathErr(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: bare(err)}
}

// bare returns the error inside the wrappers of package os.
func bare(err error) error {
	for {
		switch e := err.(type) {
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return err
		}
	}
}

// irregular says that path is not a want ("regular file", "directory").
func irregular(op, path, is, want string) error {
	return &errs.Error{
		Code: errs.Corrupt,
		Op:   op,
		Path: path,
		Msg:  "is a " + is + ", not a " + want,
		Err:  ErrIrregular,
	}
}

// openErr turns the errors by which open(2) reports an irregular file into
// ErrIrregular: ELOOP for a symbolic link under O_NOFOLLOW, ENXIO (on macOS
// EOPNOTSUPP) for a socket, EISDIR for a directory opened for writing.
func openErr(op, path string, err error) error {
	switch bare(err) {
	case syscall.ELOOP:
		return irregular(op, path, "symbolic link", "regular file")
	case syscall.ENXIO, syscall.EOPNOTSUPP:
		return irregular(op, path, "socket, fifo or device", "regular file")
	case syscall.EISDIR:
		return irregular(op, path, "directory", "regular file")
	}
	return pathErr(op, path, err)
}

// kindOf names the type of file in a mode of stat(2).
func kindOf(mode uint32) string {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return "regular file"
	case syscall.S_IFDIR:
		return "directory"
	case syscall.S_IFLNK:
		return "symbolic link"
	case syscall.S_IFIFO:
		return "fifo"
	case syscall.S_IFSOCK:
		return "socket"
	}
	return "device"
}
