// Package render makes human text from structured results.
//
// It knows display cells (wide, zero-width and joined characters), cuts and
// pads to them, lays out tables, names points in time relative to now and
// holds the symbols and the few colours that teams uses. A Writer collects the
// text of one result; the command writes it out in one piece.
//
// An Operation is a call of a tool with what came of it: its two rows, its long
// form, and those of a Notification are made from structure alone, never by
// reading text, so no value can pass for a label or for a success. Activities
// have rows of their own.
//
// Text that came from somebody else (a subject, a message, output of a gate)
// is data: every string that goes through a Writer is made safe for a terminal
// first, so it cannot move the cursor, change colours or fake another line.
// Only the styles that the Writer itself adds reach the terminal as escape
// sequences, and only when colour is on.
//
// The package uses the standard library alone and does no I/O of its own.
package render
