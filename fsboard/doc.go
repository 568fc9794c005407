// Package fsboard is a task board in plain files.
//
// A board is a directory. board.json holds the snapshot, one task a line;
// claims/ and submissions/ hold marker files that workers publish with link(2)
// and that whoever holds board.lock folds into the snapshot; history.jsonl
// says what happened. Any number of processes on one machine may use a board
// at once, and any of them may be killed at any point.
//
// # Promises
//
// In each epoch of a task at most one process is ever told that it holds the
// claim, and a claim that was told is not lost while its holder lives. A
// submission that was accepted always counts: its claim is not released by
// time, death or leave before the submission has been decided. A call that
// returns without an error has synced to disk what it reports.
//
// # Use
//
// [Open] a directory, [Board.Add] tasks, [Board.Claim] one, [Board.Submit] its
// outcome. [Board.Fold] applies markers, releases the claims of the dead and
// the expired; [Board.Decide] runs the gate of a submission through the [Gates]
// that the board was opened with. Workers are whoever the [Roster] knows.
//
// # Compatibility
//
// The names of the first group of task fields and of the markers are those of
// pi-agent-teams 0.7.0. Fields that this package does not know survive every
// rewrite. A snapshot of a newer format is refused for writing.
package fsboard
