// Command teams lets a team of coding agents, scripts and people work on one
// codebase without a server. Each verb has a file cmd_<verb>.go; the other
// files are the frame that finds the verb, reads its arguments, prints its
// result and turns its error into an exit code.
package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	os.Exit(Main(os.Args[1:], os.Stdin, pipeSafe(os.Stdout), pipeSafe(os.Stderr)))
}

// pipeSafe returns a copy of f with another descriptor. A write to a closed
// pipe through descriptors 1 and 2 kills a Go program; through any other it is
// an error like all the others. The program's handling of SIGPIPE stays as it
// was, so child processes do not inherit an ignored one.
func pipeSafe(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
