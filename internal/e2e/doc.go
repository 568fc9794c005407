// Package e2e holds the end-to-end tests of the command and no code of its
// own. Each test runs the built teams binary as its users do: real processes,
// real files, a real shell, git where it matters, and SIGKILL at any moment.
//
// Storms are short by default; the flag -long runs them in full. The flag
// -update writes the golden files of the JSON shapes anew.
package e2e
