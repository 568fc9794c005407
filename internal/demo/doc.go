// Package demo plays a short story with real processes: a leader puts tasks on
// a board, workers take them, a gate fails once, a worker is killed while it
// holds a task, and a resident is started, given a task and ended. It is what
// teams demo shows.
//
// Everything happens in one new directory with a root and a project of its own
// and through the program itself, started as anybody would start it. At the end
// the board is read back, and [Run] succeeds only when everything came out as
// it was told. Whatever Run started is ended, and whatever
// it created is removed, unless it was asked to keep the directory; that holds
// after an error and after an interrupt too.
//
// A demo needs sh. Git is used when it is there.
package demo
