// Package pi is the client of one `pi --mode rpc` process.
//
// It starts the process in a session of its own, talks the protocol of its
// standard input and output, tells what it does, and ends it so that none of
// its tools is left behind. It knows nothing of mailboxes, boards and records:
// whoever hosts a teammate gives it texts and is told what became of them.
//
// The protocol has traps, and most of this package is about them. Responses
// say that pi took a prompt and not that the model will see it, so a prompt
// counts only when pi shows it as a message of its own (see Process.Prompt).
// The end of a run is not the end of the work, since a retry or a compaction
// may follow it (settle.go). Lines grow with the square of an answer's length,
// so they are read in pieces and never held (lex.go). What pi starts has
// sessions of its own and outlives it, so whoever starts pi has to know how to
// find it (Config.Sweep).
package pi
