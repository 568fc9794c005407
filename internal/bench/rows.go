package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The names of the rows that a target speaks of.
const (
	rowNothing   = "a Go program that does nothing"
	rowVersion   = "version"
	rowHelp      = "--help"
	rowClaim     = "claim ID"
	rowClaimNext = "claim"
	rowSubmit    = "submit, no gate"
	rowAdd       = "task add"
	rowSend      = "send leader"
	rowList      = "task list --limit 20"
	rowTick      = "tick, idle"
	rowTaskAdd   = "taskwarrior: task add"
	rowTaskStart = "taskwarrior: task start"
	rowStatus    = "status"
	rowAmq       = "amq: amq send"
)

// small is the number of tasks of the small board.
const small = 10

// allRows makes the boards and the rows. undo ends what was started for them;
// it is never nil.
func allRows(bin binaries, dir string, s settings, progress io.Writer) (rows []row, undo func(), err error) {
	var ends []func()
	undo = func() {
		for _, end := range ends {
			end()
		}
	}
	rows = append(startRows(bin), probeRow(filepath.Join(dir, "probe")))
	for _, size := range s.sizes() {
		more, err := boardRows(bin.teams, filepath.Join(dir, "board-"+strconv.Itoa(size)), size, size == small || size == s.large)
		if err != nil {
			return nil, undo, err
		}
		rows = append(rows, more...)
	}
	send, err := sendRow(bin.teams, filepath.Join(dir, "mail"))
	if err != nil {
		return nil, undo, err
	}
	gate, err := gateRow(bin.teams, filepath.Join(dir, "gate"))
	if err != nil {
		return nil, undo, err
	}
	rows = append(rows, gate, send)
	mail, err := mailRows(bin.teams, filepath.Join(dir, "mailboxes"), s.quick)
	if err != nil {
		return nil, undo, err
	}
	wake, end, err := wakeRows(bin.teams, filepath.Join(dir, "wake"))
	ends = append(ends, end)
	if err != nil {
		return nil, undo, err
	}
	rows = append(append(rows, mail...), wake...)
	peers, end, err := peerRows(filepath.Join(dir, "peers"), progress)
	ends = append(ends, end)
	return append(rows, peers...), undo, err
}

// startRows are the programs that read and write nothing.
func startRows(bin binaries) []row {
	plain := func(argv ...string) func() command {
		return func() command { return command{argv: argv, env: []string{}} }
	}
	rows := []row{
		{name: rowNothing, cmd: plain(bin.nothing)},
		{name: rowVersion, cmd: plain(bin.teams, "version")},
		{name: rowHelp, cmd: plain(bin.teams, "--help")},
		{name: "claim --help", cmd: plain(bin.teams, "claim", "--help")},
	}
	if bin.withCgo != "" {
		rows = append(rows, row{name: "version, by plain go build", cmd: plain(bin.withCgo, "version")})
	}
	return rows
}

// boardRows are the rows of one size of board. Each run leaves the board as it
// found it, but for its history and what task add adds.
func boardRows(bin, dir string, size int, all bool) ([]row, error) {
	b, err := newBoard(bin, dir, size, "")
	if err != nil {
		return nil, err
	}
	w, err := b.join("ann")
	if err != nil {
		return nil, err
	}
	var id string
	rows := []row{
		{
			name:   rowClaim,
			before: func() error { id = b.nextID(); return nil },
			cmd:    func() command { return w.command("claim", id, "-q") },
			after:  func([]byte) error { return w.do("release", id) },
		},
		{
			name:  rowClaimNext,
			cmd:   func() command { return w.command("claim", "-q") },
			after: func(out []byte) error { return w.do("release", string(bytes.TrimSpace(out))) },
		},
		{name: rowList, cmd: func() command { return b.leader("task", "list", "--limit", "20") }},
		{name: rowStatus, cmd: func() command { return b.leader("status") }},
		{name: rowTick, cmd: func() command { return b.leader("tick") }},
	}
	if all {
		var harness *os.File
		rows = append(rows,
			row{
				// A harness folds, so the claim need not. Its lock is all of it
				// that a claim sees.
				name: "claim, a harness runs",
				before: func() (err error) {
					harness, err = hold(filepath.Join(b.team, "harness.lock"))
					return err
				},
				cmd: func() command { return w.command("claim", "-q") },
				after: func(out []byte) error {
					if err := harness.Close(); err != nil {
						return err
					}
					return w.do("release", string(bytes.TrimSpace(out)))
				},
			},
			row{
				name:   rowSubmit,
				before: func() error { id = b.nextID(); return w.do("claim", id) },
				cmd:    func() command { return w.command("submit", id, "--result", "done", "-q") },
				after:  func([]byte) error { return b.reopen(id) },
			},
			row{name: rowAdd, cmd: func() command { return b.leader("task", "add", "Look at the log of the build", "-q") }},
			row{
				name: "tick, one marker",
				before: func() error {
					id = b.nextID()
					return b.whileLocked(func() error { return w.do("claim", id) })
				},
				cmd:   func() command { return b.leader("tick") },
				after: func([]byte) error { return w.do("release", id) },
			})
	}
	for i := range rows {
		rows[i].tasks = size
	}
	return rows, nil
}

func (b *board) reopen(id string) error {
	_, _, err := b.leader("task", "reopen", id).run()
	return err
}

// gateRow submits a task whose gate is true.
func gateRow(bin, dir string) (row, error) {
	b, err := newBoard(bin, dir, small, "true")
	if err != nil {
		return row{}, err
	}
	w, err := b.join("ann")
	if err != nil {
		return row{}, err
	}
	var id string
	return row{
		name: "submit, gate true", tasks: small,
		before: func() error { id = b.nextID(); return w.do("claim", id) },
		cmd:    func() command { return w.command("submit", id, "--result", "done", "-q") },
		after:  func([]byte) error { return b.reopen(id) },
	}, nil
}

// sendRow sends the leader a message.
func sendRow(bin, dir string) (row, error) {
	b, err := newBoard(bin, dir, small, "")
	if err != nil {
		return row{}, err
	}
	w, err := b.join("ann")
	if err != nil {
		return row{}, err
	}
	return row{
		name: rowSend,
		cmd:  func() command { return w.command("send", "leader", "The parser is done, see parse.go", "-q") },
		after: func([]byte) error { // else the mailbox would grow
			_, _, err := b.leader("recv").run()
			return err
		},
	}, nil
}

// probeRow makes one small file durable under an exclusive name, as a claim has
// to: what the disk takes for it is no fault of a program.
func probeRow(dir string) row {
	n := 0
	return row{
		name: "one durable file (no process)",
		before: func() error {
			n++
			return os.MkdirAll(dir, 0o700)
		},
		probe: func() (took time.Duration, err error) {
			start := time.Now()
			defer func() { took = time.Since(start) }()
			temp, name := filepath.Join(dir, ".temp"), filepath.Join(dir, fmt.Sprint(n))
			f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return 0, err
			}
			defer f.Close()
			if _, err := f.Write(bytes.Repeat([]byte("x"), 300)); err != nil {
				return 0, err
			}
			if err := f.Sync(); err != nil {
				return 0, err
			}
			if err := os.Link(temp, name); err != nil {
				return 0, err
			}
			if err := os.Remove(temp); err != nil {
				return 0, err
			}
			d, err := os.Open(dir)
			if err != nil {
				return 0, err
			}
			defer d.Close()
			return 0, d.Sync()
		},
	}
}
