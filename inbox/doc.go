// Package inbox is a mailbox in plain files.
//
// A mailbox is a Maildir: new/ holds unread messages, cur/ read ones, tmp/ is
// for writers that have no link(2) of their own. One message is one Markdown
// file that cat shows as it is meant: a header of JSON strings between two
// lines of ---, then the body, byte for byte. The file's name is the message's
// id, so that ls shows the order.
//
// Any number of processes may write to, list and read a mailbox at once;
// nothing locks the whole of it. A message appears whole or not at all, and is
// on disk when [Box.Publish] returns. [Box.Receive] gives each message to one
// receiver at a time, and again after one that died before it was marked.
//
// # Compatibility
//
// docs/formats.md describes the files so that a shell script can write them.
// Header keys that this package does not know are kept; a file without a header
// is a message from "unknown".
package inbox
