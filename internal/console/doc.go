// Package console is the full-screen view of a session: its teammates, roles,
// tasks, mail and questions as pages, which change as the files do, and the acts
// of the verbs under single keys.
//
// The package knows nothing of files. What there is to see comes from a Source,
// and what is done goes through Acts; cmd/teams fills both from the functions
// that its verbs use. So the whole of it can be tested without a terminal: a
// model takes messages and gives a screen as text.
//
// # Cost
//
// Nothing runs while nothing changes: the next look waits for the Source, looks
// are at least LookEvery apart, and pictures move only while the roster is on
// the screen and somebody works.
//
// # Text of others
//
// Names, subjects and messages are data. No control character of theirs reaches
// the terminal, and characters whose width terminals disagree about are taken
// apart, so that no row is wider than the screen.
package console
