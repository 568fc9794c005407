package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	rowWake     = "recv --wait: send's end to the line"
	rowWakeEnd  = "recv --wait: send's end to its exit"
	rowResident = "resident: send's end to its command"
)

// wakeRows measure how long after the end of a send its receiver has it, 0 when
// it has it before: the message can be seen before send has made it durable.
// The receivers are woken by the file system.
func wakeRows(bin, dir string) (rows []row, undo func(), err error) {
	undo = func() {}
	for _, name := range []string{rowWake, rowWakeEnd} {
		r, err := wakeRow(name, bin, filepath.Join(dir, fmt.Sprint(len(rows))))
		if err != nil {
			return nil, undo, err
		}
		rows = append(rows, r)
	}
	b, bob, undo, err := newResident(bin, filepath.Join(dir, "resident"))
	if err != nil {
		return nil, undo, err
	}
	r, err := residentRow(b, bob)
	return append(rows, r), undo, err
}

// wakeRow measures a receiver that waits: until it has printed the line, or has
// ended.
func wakeRow(name, bin, dir string) (row, error) {
	b, err := newBoard(bin, dir, small, "")
	if err != nil {
		return row{}, err
	}
	w, err := b.join("ann")
	if err != nil {
		return row{}, err
	}
	var line, ended chan moment
	var sent time.Time
	return row{
		name: name,
		before: func() error {
			c := w.command("recv", "--wait", "--timeout", "20s", "-q")
			cmd := exec.Command(c.argv[0], c.argv[1:]...)
			cmd.Env, cmd.Dir = c.env, c.dir
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			l, e := make(chan moment, 1), make(chan moment, 1)
			line, ended = l, e
			go func() {
				_, err := bufio.NewReader(out).ReadString('\n')
				l <- moment{time.Now(), err}
				err = cmd.Wait()
				e <- moment{time.Now(), err}
			}()
			time.Sleep(200 * time.Millisecond) // it waits by now
			_, _, err = b.leader("send", "ann", "Please look at the parser.", "-q").run()
			sent = time.Now()
			return err
		},
		probe: func() (time.Duration, error) {
			printed, err := since(sent, line)
			if err != nil {
				return 0, err
			}
			took, err := since(sent, ended)
			if name == rowWake {
				took = printed
			}
			return took, err
		},
	}, nil
}

// moment is when something happened.
type moment struct {
	at  time.Time
	err error
}

// since is how long after start the moment was, 0 when it was before.
func since(start time.Time, c <-chan moment) (time.Duration, error) {
	select {
	case m := <-c:
		return max(m.at.Sub(start), 0), m.err
	case <-time.After(longest):
		return 0, errors.New("nobody woke")
	}
}

// newResident makes a session with an idle resident ann, and bob who writes to
// it; the leader would be owed a report. Its command says in the fifo "woken"
// of the board's directory that it runs. undo ends it; it is never nil.
func newResident(bin, dir string) (b *board, bob *worker, undo func(), err error) {
	undo = func() {}
	if b, err = newBoard(bin, dir, small, ""); err != nil {
		return nil, nil, undo, err
	}
	if bob, err = b.join("bob"); err != nil {
		return nil, nil, undo, err
	}
	agents := filepath.Join(b.project, ".pi", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		return nil, nil, undo, err
	}
	const role = "---\nname: worker\ndescription: Works.\n---\nWork.\n"
	if err := os.WriteFile(filepath.Join(agents, "worker.md"), []byte(role), 0o600); err != nil {
		return nil, nil, undo, err
	}
	if err := syscall.Mkfifo(b.woken(), 0o600); err != nil {
		return nil, nil, undo, &os.PathError{Op: "mkfifo", Path: b.woken(), Err: err}
	}
	if _, _, err := b.leader("spawn", "ann", "worker", "--host", "exec", "-q", "--", "/bin/sh", "-c", `echo woken > "$0"`, b.woken()).run(); err != nil {
		return nil, nil, undo, err
	}
	return b, bob, func() { b.leader("shutdown", "ann", "--now").run() }, nil
}

func (b *board) woken() string { return filepath.Join(b.project, "woken") }

// residentRow measures how long after the end of a send the command of an idle
// resident runs.
func residentRow(b *board, bob *worker) (row, error) {
	fifo, err := os.OpenFile(b.woken(), os.O_RDWR, 0) // both ends: no writer ever waits
	if err != nil {
		return row{}, err
	}
	lines := make(chan moment, 8)
	go func() { // until the process ends
		in := bufio.NewReader(fifo)
		for {
			_, err := in.ReadString('\n')
			lines <- moment{time.Now(), err}
			if err != nil {
				return
			}
		}
	}()
	var sent time.Time
	return row{
		name: rowResident,
		before: func() (err error) {
			if err := b.idle("ann"); err != nil {
				return err
			}
			err = bob.do("send", "ann", "Please look at the parser.", "-q")
			sent = time.Now()
			return err
		},
		probe: func() (time.Duration, error) { return since(sent, lines) },
	}, nil
}

// idle waits until a resident waits for mail.
func (b *board) idle(name string) error {
	path := filepath.Join(b.team, name, "teammate.json")
	for start := time.Now(); time.Since(start) < longest; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var tm struct{ Status string }
		if err := json.Unmarshal(data, &tm); err != nil {
			return err
		}
		if tm.Status == "idle" {
			time.Sleep(100 * time.Millisecond) // it has looked for more, and waits
			return nil
		}
	}
	return fmt.Errorf("%s does not become idle", name)
}

// pid is the process that a record names.
func (b *board) pid(record string) (int, error) {
	data, err := os.ReadFile(filepath.Join(b.team, filepath.FromSlash(record)))
	if err != nil {
		return 0, err
	}
	var v struct{ PID int }
	err = json.Unmarshal(data, &v)
	return v.PID, err
}
