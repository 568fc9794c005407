package main

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

// Deliver is Stream for what counts as read once it is printed: when standard
// output was closed it prints nothing and returns an error, so that nothing is
// marked. Everything else a command prints may be lost without harm, and Stream
// lets it.
func (e *Env) Deliver(data any, text func(w *render.Writer)) error {
	e.mu.Lock()
	if f, ok := e.stdout.(*os.File); ok && e.outErr == nil && wasClosed(f) {
		e.outErr = errs.New(errs.Failure, "cannot write to standard output, it is closed").
			WithHint("leave it open; > /dev/null in a shell throws away what is printed")
	}
	err := e.outErr
	e.mu.Unlock()
	if err != nil {
		return err
	}
	return e.Stream(data, text)
}

// wasClosed reports whether f, standard output, was closed when the program
// started. Go's runtime has opened the null device in its place by then, to read
// and write; a shell's > /dev/null opens it to write only. A daemon or another
// language's runtime may give one that can be read on purpose, and looks the
// same: therefore only Deliver asks.
func wasClosed(f *os.File) bool {
	fd := int(f.Fd())
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	var out, null unix.Stat_t
	if unix.Fstat(fd, &out) != nil || unix.Stat(os.DevNull, &null) != nil {
		return false
	}
	return out.Mode&unix.S_IFMT == unix.S_IFCHR && out.Rdev == null.Rdev
}
