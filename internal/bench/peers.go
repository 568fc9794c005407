package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peerRows are the other tools, as far as they are in PATH. They keep their
// state below dir. undo ends the server of tsp. Of amq and bd there are many
// versions, so one that does not take these command lines is left out.
func peerRows(dir string, progress io.Writer) (rows []row, undo func(), err error) {
	undo = func() {}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, undo, err
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	if path, err := exec.LookPath("nq"); err == nil {
		env := append(env[:len(env):len(env)], "NQDIR="+filepath.Join(dir, "nq"))
		rows = append(rows, row{
			name: "nq: nq true",
			cmd:  func() command { return command{argv: []string{path, "true"}, env: env, dir: dir, detached: true} },
			after: func([]byte) error { // it runs in the background
				_, _, err := command{argv: []string{path, "-w"}, env: env, dir: dir, detached: true}.run()
				return err
			},
		})
	}
	if path, err := exec.LookPath("tsp"); err == nil {
		env := append(env[:len(env):len(env)], "TS_SOCKET="+filepath.Join(dir, "tsp.sock"))
		tsp := func(args ...string) command {
			return command{argv: append([]string{path}, args...), env: env, dir: dir, detached: true}
		}
		undo = func() { tsp("-K").run() }
		rows = append(rows, row{
			name: "task-spooler: tsp true", // its server runs already
			cmd:  func() command { return tsp("true") },
			after: func([]byte) error {
				_, _, waited := tsp("-w").run()
				_, _, cleared := tsp("-C").run()
				return errors.Join(waited, cleared)
			},
		})
	}
	if path, err := exec.LookPath("task"); err == nil {
		more, err := taskwarriorRows(path, filepath.Join(dir, "task"), env)
		if err != nil {
			return nil, undo, err
		}
		rows = append(rows, more...)
	}
	if path, err := exec.LookPath("mdeliver"); err == nil {
		r, err := mdeliverRow(path, filepath.Join(dir, "mdeliver"), env)
		if err != nil {
			return nil, undo, err
		}
		rows = append(rows, r)
	}
	for _, peer := range []struct {
		name string
		row  func(path, dir string, env []string) (row, error)
	}{{"amq", amqRow}, {"bd", bdRow}} {
		path, err := exec.LookPath(peer.name)
		if err != nil {
			continue
		}
		r, err := peer.row(path, filepath.Join(dir, peer.name), env)
		if err != nil {
			fmt.Fprintf(progress, "bench: %s is left out: %v\n", peer.name, err)
			continue
		}
		rows = append(rows, r)
	}
	return rows, undo, nil
}

// taskwarriorRows add and start one of ten tasks. The data is put back before
// each run.
func taskwarriorRows(path, dir string, env []string) ([]row, error) {
	data, ten := filepath.Join(dir, "data"), filepath.Join(dir, "ten")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	rc := filepath.Join(dir, "rc")
	if err := os.WriteFile(rc, []byte("data.location="+data+"\nconfirmation=off\nverbose=nothing\nhooks=off\nnews.version=99.0.0\n"), 0o600); err != nil {
		return nil, err
	}
	env = append(env[:len(env):len(env)], "TASKRC="+rc, "TASKDATA="+data)
	task := func(args ...string) command {
		return command{argv: append([]string{path, "rc.confirmation=off"}, args...), env: env, dir: dir}
	}
	for i := range small {
		if _, _, err := task("add", "Move module", strconv.Itoa(i+1), "to the new interface").run(); err != nil {
			return nil, err
		}
	}
	if err := os.CopyFS(ten, os.DirFS(data)); err != nil {
		return nil, err
	}
	reset := func() error {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		return os.CopyFS(data, os.DirFS(ten))
	}
	n := 0
	return []row{
		{
			name: rowTaskAdd, tasks: small, before: reset,
			cmd: func() command { return task("add", "Look at the log of the build") },
		},
		{
			name: rowTaskStart, tasks: small, before: reset,
			cmd: func() command { n++; return task(strconv.Itoa(n%small+1), "start") },
		},
	}, nil
}

// mdeliverRow delivers a message into a maildir, with the program of mblaze.
func mdeliverRow(path, dir string, env []string) (row, error) {
	box, letter := filepath.Join(dir, "box"), filepath.Join(dir, "letter")
	for _, sub := range []string{"tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(box, sub), 0o700); err != nil {
			return row{}, err
		}
	}
	const text = "From: ann@localhost\nTo: bob@localhost\nSubject: The parser\n\nThe parser is done, see parse.go\n"
	return row{
		name: "mblaze: mdeliver",
		cmd:  func() command { return command{argv: []string{path, box}, env: env, dir: dir, stdin: letter} },
		after: func([]byte) error { // else the mailbox would grow
			return errors.Join(os.RemoveAll(filepath.Join(box, "new")), os.Mkdir(filepath.Join(box, "new"), 0o700))
		},
	}, os.WriteFile(letter, []byte(text), 0o600)
}

// amqRow sends a message from one agent to another.
func amqRow(path, dir string, env []string) (row, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row{}, err
	}
	root := filepath.Join(dir, "mail")
	env = append(env[:len(env):len(env)], "AM_ROOT="+root, "AM_ME=ann")
	amq := func(args ...string) command {
		return command{argv: append([]string{path}, args...), env: env, dir: dir}
	}
	send := func() command { return amq("send", "--to", "bob", "--body", "The parser is done, see parse.go") }
	for _, c := range []command{amq("init", "--root", root, "--agents", "ann,bob"), send()} {
		if _, _, err := c.run(); err != nil {
			return row{}, err
		}
	}
	return row{name: rowAmq, cmd: send}, nil
}

// bdRow claims an issue that was just made.
func bdRow(path, dir string, env []string) (row, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row{}, err
	}
	bd := func(args ...string) command {
		return command{argv: append([]string{path}, args...), env: env, dir: dir}
	}
	if _, _, err := bd("init", "--prefix", "bench").run(); err != nil {
		return row{}, err
	}
	var issue struct{ ID string }
	add := func() error {
		_, out, err := bd("create", "Move module 1 to the new interface", "--json").run()
		if err != nil {
			return err
		}
		return json.Unmarshal(out, &issue)
	}
	claim := func() command { return bd("update", issue.ID, "--claim") }
	if err := add(); err != nil {
		return row{}, err
	}
	if _, _, err := claim().run(); err != nil {
		return row{}, err
	}
	return row{name: "beads: bd update --claim", before: add, cmd: claim}, nil
}
