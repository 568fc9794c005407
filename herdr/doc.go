// Package herdr talks to herdr, a terminal workspace manager that shows one
// cell per pane with the state of the agent in it.
//
// [Client] speaks herdr's Unix socket, one request a connection, with a
// deadline on every call; [Mirror] keeps a line of status on one pane; [Run]
// and [Runs] are named pieces of work with a status that herdr shows; [Leases]
// and [Spawner] open panes of our own and close them again; and [Control]
// reads, prompts and waits for agents.
//
// Two generations of the protocol are in use, up to 0.7.4 and since 0.7.5. Where
// they differ, fields of both are sent, since servers ignore what they do not
// know, or the protocol number that [Client.Ping] tells decides.
//
// An answer "ok" of herdr says that a request was read, not that it had an
// effect, and what a pane id names may have moved or be gone. So what matters is
// read back, and a pane is touched only while its terminal id is the recorded one.
//
// The package knows nothing of boards, mail and teams. Package net is not used:
// every command of the program would pay for it at its start.
package herdr
