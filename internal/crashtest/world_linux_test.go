package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// world is a session in a directory of its own, as processes of the command
// see it.
type world struct {
	t       *testing.T
	b       *toolbox
	root    string
	project string
	bin     string
	spawns  map[string]string // spawn ids of those who joined with a process
}

// newWorld returns a world without any state.
func newWorld(t *testing.T) *world {
	b := need(t)
	dir := b.scratch()
	w := &world{t: t, b: b, bin: b.teams, root: filepath.Join(dir, "root"), project: filepath.Join(dir, "project"), spawns: map[string]string{}}
	for _, d := range []string{dir, w.root, w.project, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return w
}

// clone copies the state to root, which must not exist. The project stays the
// same, and with it the session.
func (w *world) clone(root string) *world {
	c := *w
	c.root = root
	if err := copyTree(w.root, root); err != nil {
		w.t.Fatal(err)
	}
	return &c
}

// remove ends a clone.
func (w *world) remove() {
	if err := os.RemoveAll(w.root); err != nil {
		w.t.Error(err)
	}
}

// copyTree copies a directory with its modes and times.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if e.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, data, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(target, info.ModTime(), info.ModTime())
	})
}

// place is where the state is, for the libraries.
func (w *world) place() team.Place {
	return team.Place{Root: w.root, Session: team.SessionKey(w.project), Project: w.project, Cwd: w.project}
}

func (w *world) boardDir() string { return w.place().BoardDir() }

// env is the environment of a process that name runs, the leader if it is "".
func (w *world) env(name string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(filepath.Dir(w.project), "home"), "TEAMS_ROOT=" + w.root, "LC_ALL=C.UTF-8"}
	if spawn := w.spawns[name]; spawn != "" {
		env = append(env, "TEAMS_NAME="+name, "TEAMS_SPAWN="+spawn)
	}
	return env
}

func (w *world) args(name string, args []string) []string {
	if name != "" && w.spawns[name] == "" {
		args = append([]string{"--as", name}, args...)
	}
	return append([]string{"--json"}, args...)
}

// result is how a process ended.
type result struct {
	code   int // 137 when it was killed
	stdout string
	stderr string
	reply  reply
}

// reply is the JSON that a command prints.
type reply struct {
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details struct {
			Data json.RawMessage `json:"data"`
		} `json:"details"`
	} `json:"error"`
	whole bool // all of it was printed
}

func (r *result) killed() bool { return r.code == 137 }

// limit is when a process counts as hanging.
const limit = time.Minute

// exec runs a program in the world and returns how it ended. It leaves nothing
// running behind.
func (w *world) exec(name, bin string, args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = w.project, w.env(name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// A file, not a pipe: strace shows its path, and what was written before a
	// kill is there for sure.
	out, err := os.CreateTemp(w.b.state, stdoutName)
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout = out
	err = cmd.Run()
	if ctx.Err() != nil {
		w.t.Fatalf("%s %q hangs", bin, args)
	}
	r := result{stderr: stderr.String()}
	switch state := cmd.ProcessState; {
	case state == nil:
		w.t.Fatal(err)
	case state.Sys().(syscall.WaitStatus).Signaled():
		r.code = 128 + int(state.Sys().(syscall.WaitStatus).Signal())
	default:
		r.code = state.ExitCode()
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		w.t.Fatal(err)
	}
	r.stdout = string(data)
	if strings.HasSuffix(r.stdout, "\n") && json.Unmarshal(data, &r.reply) == nil {
		r.reply.whole = true
	}
	return r
}

// stdoutName begins the name of the file that standard output is.
const stdoutName = "stdout"

// teams runs the command for name, the leader if it is "".
func (w *world) teams(name string, args ...string) result {
	w.t.Helper()
	return w.exec(name, w.bin, w.args(name, args)...)
}

// must runs a command that has to end with one of codes, 0 when there is none,
// and to print one whole JSON value.
func (w *world) must(name string, codes []int, args ...string) result {
	w.t.Helper()
	r := w.teams(name, args...)
	if len(codes) == 0 {
		codes = []int{0}
	}
	if !slices.Contains(codes, r.code) || !r.reply.whole {
		w.t.Errorf("teams %s %s: exit %d, want %v\n%s%s", name, strings.Join(args, " "), r.code, codes, r.stdout, r.stderr)
	}
	return r
}

// ok is must with 0, for setting up.
func (w *world) ok(name string, args ...string) result {
	w.t.Helper()
	r := w.must(name, nil, args...)
	if w.t.Failed() {
		w.t.FailNow()
	}
	return r
}

// join makes name a teammate whose process is pid.
func (w *world) join(name string, args ...string) {
	w.t.Helper()
	r := w.ok("", append([]string{"join", name}, args...)...)
	var data struct {
		Teammate struct {
			SpawnID string `json:"spawnId"`
		} `json:"teammate"`
	}
	if err := json.Unmarshal(r.reply.Data, &data); err != nil || data.Teammate.SpawnID == "" {
		w.t.Fatalf("join %s: %v %s", name, err, r.stdout)
	}
	spawns := map[string]string{name: data.Teammate.SpawnID}
	for k, v := range w.spawns {
		spawns[k] = v
	}
	w.spawns = spawns // clones have the old one
}

// locked runs fn while this process holds board.lock.
func (w *world) locked(fn func()) {
	w.t.Helper()
	lock, ok, err := fsx.TryAcquire(filepath.Join(w.boardDir(), "board.lock"))
	if err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	defer lock.Unlock()
	fn()
}

// ids lists the tasks in the data of a reply.
func (r *result) ids() []string {
	var data struct {
		Tasks []struct {
			ID string `json:"id"`
		} `json:"tasks"`
	}
	_ = json.Unmarshal(r.reply.Data, &data)
	var ids []string
	for _, t := range data.Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}
