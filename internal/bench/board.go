package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// board is one session with tasks, made and used through the built teams.
type board struct {
	bin     string
	project string // where commands run
	base    []string
	path    string // the board's directory
	team    string // the team's
	tasks   int
	last    int // the number of the task that was used last
}

// newBoard makes a session below dir with a board of so many ready tasks, each
// with the gate if there is one.
func newBoard(bin, dir string, tasks int, gate string) (*board, error) {
	b := &board{bin: bin, project: filepath.Join(dir, "project"), tasks: tasks}
	// .git ends the search for the project here, and not at the first directory
	// above that is some repository.
	if err := os.MkdirAll(filepath.Join(b.project, ".git"), 0o700); err != nil {
		return nil, err
	}
	b.base = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TEAMS_ROOT=" + filepath.Join(dir, "root")}
	batch := filepath.Join(dir, "batch.jsonl")
	if err := os.WriteFile(batch, batchOf(tasks, gate), 0o600); err != nil {
		return nil, err
	}
	if _, _, err := b.leader("task", "add", "--batch", batch, "-q").run(); err != nil {
		return nil, err
	}
	_, out, err := b.leader("where", "--json").run()
	if err != nil {
		return nil, err
	}
	var where struct {
		Data struct {
			Paths struct{ Board, Team string }
		}
	}
	if err := json.Unmarshal(out, &where); err != nil {
		return nil, fmt.Errorf("where: %w", err)
	}
	b.path, b.team = where.Data.Paths.Board, where.Data.Paths.Team
	return b, nil
}

// batchOf is the batch file: tasks of ordinary length.
func batchOf(tasks int, gate string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for i := 1; i <= tasks; i++ {
		task := map[string]any{
			"subject":     fmt.Sprintf("Move module %d to the new interface", i),
			"description": "The old interface goes away with the next release. Keep the tests as they are; add what the new one needs.",
			"tags":        []string{"bench"},
		}
		if gate != "" {
			task["verify"] = gate
		}
		enc.Encode(task) // to a buffer, of strings: it cannot fail
	}
	return out.Bytes()
}

// leader is a command line of the leader.
func (b *board) leader(args ...string) command {
	return command{argv: append([]string{b.bin}, args...), env: b.base, dir: b.project}
}

// worker is a teammate of a board.
type worker struct {
	b   *board
	env []string
}

// join makes a teammate whose process is the bench itself, as a shell that
// joins with its pid does.
func (b *board) join(name string) (*worker, error) {
	_, out, err := b.leader("join", name, "--pid", strconv.Itoa(os.Getpid()), "--json").run()
	if err != nil {
		return nil, err
	}
	var v struct {
		Data struct {
			Teammate struct{ SpawnID string }
		}
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	env := append(b.base[:len(b.base):len(b.base)],
		"TEAMS_SESSION="+filepath.Base(b.path), "TEAMS_PROJECT="+b.project,
		"TEAMS_NAME="+name, "TEAMS_SPAWN="+v.Data.Teammate.SpawnID)
	return &worker{b, env}, nil
}

// command is a command line of the teammate.
func (w *worker) command(args ...string) command {
	return command{argv: append([]string{w.b.bin}, args...), env: w.env, dir: w.b.project}
}

// do runs a command line of the teammate outside of any timing.
func (w *worker) do(args ...string) error {
	_, _, err := w.command(args...).run()
	return err
}

// nextID is a task that was not used in the last runs; they are spread over the
// board.
func (b *board) nextID() string {
	b.last = (b.last + b.tasks/3 + 1) % b.tasks
	return "t_" + strconv.Itoa(b.last+1)
}

// hold takes a lock file of teams for this process.
func hold(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// whileLocked runs f while this process holds the board's lock, so that nobody
// can fold.
func (b *board) whileLocked(f func() error) error {
	lock, err := hold(filepath.Join(b.path, "board.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	return f()
}
