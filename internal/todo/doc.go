// Package todo is the checklist of one worker: an append-only file of JSON
// lines, snapshots and edits, whose fold is the list.
//
// A snapshot is the whole list as its owner wrote it. An edit is what somebody
// else, a person as a rule, did to one item: done, drop, rm, unblock. A rewind
// makes an earlier state current again. Every line has an id, and the state that
// it left can be gone back to by it.
//
// Items keep their ids for as long as their content is the same, also over a
// write that left them out. What a person has marked as done stays done whatever
// is written later; only a person's rewind, or rm, takes it back.
//
// Writers take a lock beside the file for the moment of one append, so several
// at once lose nothing. A last line that a crash tore is skipped by readers and
// ended by the next writer.
package todo
