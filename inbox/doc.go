// Package inbox is a mailbox in plain files.
//
// A mailbox is a Maildir: new/ holds unread messages, cur/ read ones, tmp/ is
// for writers that have no link(2) of their own. One message is one Markdown
// file that cat shows as it is meant: a header of JSON strings between two
// lines of ---, then the body, byte for byte. The file's name is the message's
// id, so that ls shows the order.
//
// # Promises
//
// Any number of processes may write to, list and read a mailbox at once;
// nothing locks the whole of it. A message appears whole or not at all, and is
// on disk when [Box.Publish] returns; it is never replaced. At every moment it
// lies in one place. [Box.Receive] gives each message to one receiver at a
// time, and again after one that died before it was marked: at least once, with
// the id to tell. It shows the messages of one sender in the order of their
// ids, which is that in which they were sent if the ids are those of [NextID].
// [Box.Withdraw] takes back what no receiver has seen. What unread mail costs
// does not depend on how much was read before.
//
// A mailbox that is not there or cannot be read is an error, never an empty
// one. An entry that cannot be read is told of and spoils only itself; nothing
// is ever followed out of the mailbox.
//
// All of this holds for many processes on one machine, and on a file system
// that several machines share if flock(2), link(2) and rename(2) work there.
//
// # Compatibility
//
// docs/formats.md describes the files so that a shell script can write them.
// Header keys that this package does not know are kept; a file without a header
// is a message from "unknown".
package inbox
