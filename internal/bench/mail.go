package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/inbox"
)

const (
	rowRecv     = "recv, nothing read"
	rowRecvMany = "recv, 10,000 read messages"
	rowWake     = "recv --wait, from the end of send"

	// readMessages is how much has been read in the full mailbox.
	readMessages = 10_000
)

// mailRows are the rows of mailboxes, sending apart.
func mailRows(bin, dir string) ([]row, error) {
	empty, err := recvRow(rowRecv, bin, filepath.Join(dir, "empty"), 0)
	if err != nil {
		return nil, err
	}
	full, err := recvRow(rowRecvMany, bin, filepath.Join(dir, "full"), readMessages)
	if err != nil {
		return nil, err
	}
	wake, err := wakeRow(bin, filepath.Join(dir, "wake"))
	return []row{empty, full, wake}, err
}

// recvRow receives one message, in a mailbox in which so many have been read.
// The message is made unread again after each run, so that nothing grows.
func recvRow(name, bin, dir string, read int) (row, error) {
	b, err := newBoard(bin, dir, small, "")
	if err != nil {
		return row{}, err
	}
	w, err := b.join("ann")
	if err != nil {
		return row{}, err
	}
	_, out, err := b.leader("send", "ann", "Please look at the parser.", "-q").run()
	if err != nil {
		return row{}, err
	}
	id := firstWord(out)
	if err := fill(filepath.Join(b.team, "ann", "inbox", "cur"), read); err != nil {
		return row{}, err
	}
	return row{
		name:  name,
		cmd:   func() command { return w.command("recv", "-q") },
		after: func([]byte) error { return w.do("unread", id) },
	}, nil
}

// fill writes messages that have been read, older than any other. They need not
// survive a power cut, so they are written without syncing.
func fill(dir string, n int) error {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id := inbox.NewID(at.Add(time.Duration(i)*time.Second), "leader")
		text := fmt.Sprintf("---\nid: %q\nfrom: \"leader\"\nto: \"ann\"\n---\nModule %d has moved.\n", id, i)
		if err := os.WriteFile(filepath.Join(dir, id+".md"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// wakeRow measures how long after the end of a send a receiver that waits has
// printed the message and ended. It is woken by the file system.
func wakeRow(bin, dir string) (row, error) {
	b, err := newBoard(bin, dir, small, "")
	if err != nil {
		return row{}, err
	}
	w, err := b.join("ann")
	if err != nil {
		return row{}, err
	}
	var ended chan error
	return row{
		name: rowWake,
		before: func() error {
			c := w.command("recv", "--wait", "--timeout", "20s", "-q")
			cmd := exec.Command(c.argv[0], c.argv[1:]...)
			cmd.Env, cmd.Dir = c.env, c.dir
			done := make(chan error, 1)
			ended = done
			if err := cmd.Start(); err != nil {
				return err
			}
			go func() { done <- cmd.Wait() }()
			time.Sleep(300 * time.Millisecond) // it waits by now
			_, _, err := b.leader("send", "ann", "Please look at the parser.", "-q").run()
			return err
		},
		probe: func() error {
			select {
			case err := <-ended:
				return err
			case <-time.After(longest):
				return errors.New("nobody woke")
			}
		},
	}, nil
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
