package fsx

import (
	"sync/atomic"
	"syscall"
)

// Op names a system call, as far as the fault seam tells them apart.
type Op string

// The operations that the fault seam is asked about.
const (
	OpOpen     Op = "open"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpFsync    Op = "fsync"
	OpLink     Op = "link"
	OpRename   Op = "rename"
	OpUnlink   Op = "unlink"
	OpFsyncDir Op = "fsyncdir"
	OpFlock    Op = "flock"
	OpMkdir    Op = "mkdir"
)

var faultSeam atomic.Pointer[func(Op, string) error]

// SetFault installs f, which is asked before every system call that matters;
// a non-nil error is taken for the result of the call, which is not made. f may
// also block, or end the process. It is a seam for tests, and serves all
// goroutines. restore puts back what was there before.
//
// path is the path that the caller of this package gave, with two exceptions:
// OpFsyncDir has the directory, and OpUnlink of a temporary file has its path.
func SetFault(f func(op Op, path string) error) (restore func()) {
	var p *func(Op, string) error
	if f != nil {
		p = &f
	}
	old := faultSeam.Swap(p)
	return func() { faultSeam.Store(old) }
}

// fault asks the seam.
func fault(op Op, path string) error {
	if f := faultSeam.Load(); f != nil {
		return (*f)(op, path)
	}
	return nil
}

// call makes one system call behind the seam, again for as long as it is
// interrupted by a signal.
func call(op Op, path string, f func() error) error {
	for {
		err := fault(op, path)
		if err == nil {
			err = f()
		}
		if bare(err) != syscall.EINTR {
			return err
		}
	}
}
