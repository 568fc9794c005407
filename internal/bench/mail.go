package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/inbox"
)

const (
	rowRecv     = "recv, nothing read"
	rowRecvMany = "recv, 10,000 read messages"
	rowSendFull = "send, 10,000 unread there"
	// rowOldest is followed by how many messages are unread.
	rowOldest = "recv --max 1, unread: "
)

// mailbox says how many messages lie in a mailbox.
type mailbox struct{ unread, read int }

// mailRows are the rows of mailboxes, other than sending to an empty one.
func mailRows(bin, dir string, quick bool) (rows []row, err error) {
	boxes := []struct {
		name string
		mailbox
		rare bool // not for a quick look
	}{
		{rowRecv, mailbox{1, 0}, false},
		{"recv, 10 read messages", mailbox{1, 10}, true},
		{"recv, 1,000 read messages", mailbox{1, 1000}, true},
		{rowRecvMany, mailbox{1, 10_000}, false},
		{rowOldest + "10", mailbox{10, 0}, false},
		{rowOldest + "1,000", mailbox{1000, 0}, true},
		{rowOldest + "10,000", mailbox{10_000, 0}, false},
	}
	for i, box := range boxes {
		if box.rare && quick {
			continue
		}
		r, err := recvRow(box.name, bin, filepath.Join(dir, fmt.Sprint(i)), box.mailbox)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	full, err := sendFullRow(bin, filepath.Join(dir, "full"))
	return append(rows, full), err
}

// newMailbox makes a session with a teammate ann whose mailbox is filled.
func newMailbox(bin, dir string, box mailbox) (*board, *worker, error) {
	b, err := newBoard(bin, dir, small, "")
	if err != nil {
		return nil, nil, err
	}
	w, err := b.join("ann")
	if err != nil {
		return nil, nil, err
	}
	_, out, err := b.leader("send", "ann", "Please look at the parser.", "-q").run()
	if err != nil {
		return nil, nil, err
	}
	in := filepath.Join(b.team, "ann", "inbox")
	id := firstWord(out)
	like, err := os.ReadFile(filepath.Join(in, "new", id+".md"))
	if err != nil {
		return nil, nil, err
	}
	if err := fill(filepath.Join(in, "new"), string(like), id, box.unread-1); err != nil {
		return nil, nil, err
	}
	return b, w, fill(filepath.Join(in, "cur"), string(like), id, box.read)
}

// recvRow receives the oldest unread message of a mailbox, which is made unread
// again after each run, so that nothing grows.
func recvRow(name, bin, dir string, box mailbox) (row, error) {
	_, w, err := newMailbox(bin, dir, box)
	return row{
		name:  name,
		cmd:   func() command { return w.command("recv", "--max", "1", "-q") },
		after: func(out []byte) error { return w.do("unread", firstWord(out)) },
	}, err
}

// sendFullRow sends to somebody who has not read for long.
func sendFullRow(bin, dir string) (row, error) {
	b, _, err := newMailbox(bin, dir, mailbox{unread: 10_000})
	return row{
		name: rowSendFull,
		cmd:  func() command { return b.leader("send", "ann", "The parser is done, see parse.go", "-q") },
		after: func(out []byte) error {
			return os.Remove(filepath.Join(b.team, "ann", "inbox", "new", firstWord(out)+".md"))
		},
	}, err
}

// fill writes messages like one that was sent, older than it. They need not
// survive a power cut, so they are written without syncing.
func fill(dir, like, id string, n int) error {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		one := inbox.NewID(at.Add(time.Duration(i)*time.Second), "leader")
		if err := os.WriteFile(filepath.Join(dir, one+".md"), []byte(strings.ReplaceAll(like, id, one)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// firstWord is the first line of an output, without its end.
func firstWord(out []byte) string {
	for i, c := range out {
		if c == '\n' {
			return string(out[:i])
		}
	}
	return string(out)
}
