// Package term keeps shells open over many commands: each has a holder, a
// process of its own that owns a pseudo terminal, writes what the shell prints to
// files and types what comes through a pipe. Whoever knows the directory can
// read, and on the same host, in the same pid namespace, send and close.
//
// A terminal is a directory: term.json says what was asked for, shell.json what
// runs, end.json that it is over; alive.lock is held by the holder; in is a named
// pipe for what is typed; out.<offset> are the last stretches of the output, named
// by where in all of it they begin; cursor.<reader>.json is how far somebody has
// read. Readers need no holder for what was printed, and several do not disturb
// each other.
package term
