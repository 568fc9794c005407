package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peerRows are the other tools, as far as they are in PATH. They keep their
// state below dir. undo ends the server of tsp.
func peerRows(dir string) (rows []row, undo func(), err error) {
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
