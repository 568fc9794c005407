// Package fsx is the one place where teams touches the file system in a way
// that matters: it publishes and replaces files atomically and durably, locks,
// checks names, proves that processes are dead, and makes foreign text safe
// for a terminal.
//
// # Promises
//
// Nothing is visible before it is whole: a file appears under its name by
// link(2) ([Publish]) or rename(2) ([Replace]) after its content was fsynced.
// A nil error means durable: the directory was fsynced too. An error that is
// [ErrUncertain] means that the change is visible, or may be, without that
// promise: the caller has to look. With any other error nothing was changed.
//
// Files are created with mode 0600 and directories with 0700, whatever the
// umask. No function follows a symbolic link at the last component of a path
// that names a file, and none blocks on a fifo or reads from a device.
//
// # Where it works
//
// Many processes on one machine may use one directory at the same time. On a
// file system shared by several machines flock(2) and link(2) have to work
// across them; call [SetSharedMode] there. Linux and macOS are supported.
//
// # Errors
//
// Failed system calls are *fs.PathError with the path that the caller gave.
// Conditions that callers tell apart are *errs.Error: a lock that is not free
// (busy), a file that is not what it should be (corrupt), a bad name (usage).
package fsx
