package team

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// helperEnv makes the test binary a process of a team instead.
const helperEnv = "TEAM_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		helperMain()
		return
	}
	os.Exit(m.Run())
}

// helperReply is what a helper answers to one line.
type helperReply struct {
	Name, Spawn, Code, Err string
}

// helperMain does what its standard input says, one call a line, and answers
// each with one line of JSON. Locks it takes are held until it ends.
func helperMain() {
	place := Place{Root: os.Getenv("H_ROOT"), Session: "s", Project: "/p", Cwd: "/p"}
	if n, err := strconv.Atoi(os.Getenv("H_KILL")); err == nil {
		killAt(n)
	}
	ctx := context.Background()
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		op, name, _ := strings.Cut(in.Text(), " ")
		t := Open(place)
		t.Name = name
		var tm Teammate
		var err error
		switch op {
		case "join":
			tm, err = t.Join(ctx, JoinRequest{Name: name, PID: os.Getpid()})
		case "bare":
			tm, err = t.Join(ctx, JoinRequest{Name: name})
		case "as":
			var id Identity
			id, err = t.Worker(ctx)
			tm.Name, tm.SpawnID = id.Name, id.SpawnID
		case "free":
			tm, _, err = t.FirstFree(ctx, name, JoinRequest{})
		case "held":
			tm, _, err = t.JoinHeld(ctx, JoinRequest{Name: name})
		case "leave":
			tm, err = t.Leave(ctx, name, "", nil)
		case "write": // whether anything can be written
			_, err = t.EnsureSession()
		case "exists":
			_, err = t.Exists()
		case "list":
			_, _, err = t.List()
		case "ask":
			_, err = t.Ask(ctx, Identity{Name: "ann"}, Ask{Question: name}, 0, nil)
		case "lookup":
			tm.Name = map[fsboard.Life]string{fsboard.LifeUnknown: "unknown", fsboard.LifeNoSuch: "no such"}[t.Lookup(name, "x").Life]
		}
		r := helperReply{Name: tm.Name, Spawn: tm.SpawnID, Code: string(errs.CodeOf(err))}
		if err != nil {
			r.Err = err.Error()
		}
		out.Encode(r)
	}
}

// killAt kills the process at the nth system call that fsx makes.
func killAt(n int) {
	fsx.SetFault(func(op fsx.Op, path string) error {
		if n--; n == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
}

// helper is a running helper process.
type helper struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func startHelper(t *testing.T, root string, env ...string) *helper {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), helperEnv+"=1", "H_ROOT="+root), env...)
	return runHelper(t, cmd)
}

// startHelperAs is startHelper for another user. The test binary may lie where
// that user cannot go, so it runs a copy.
func startHelperAs(t *testing.T, root string, uid uint32) *helper {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(filepath.Dir(root), "helper")
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperEnv+"=1", "H_ROOT="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return runHelper(t, cmd)
}

func runHelper(t *testing.T, cmd *exec.Cmd) *helper {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	h := &helper{t: t, cmd: cmd, in: w, out: bufio.NewScanner(stdout)}
	t.Cleanup(h.kill)
	return h
}

func (h *helper) send(line string) { fmt.Fprintln(h.in, line) }

// read reads one answer; ok is false when the process has died.
func (h *helper) read() (r helperReply, ok bool) {
	if !h.out.Scan() {
		return r, false
	}
	if err := json.Unmarshal(h.out.Bytes(), &r); err != nil {
		h.t.Errorf("answer %q: %v", h.out.Text(), err)
	}
	return r, true
}

func (h *helper) do(line string) helperReply {
	h.t.Helper()
	h.send(line)
	r, ok := h.read()
	if !ok {
		h.t.Fatalf("the helper died at %q", line)
	}
	return r
}

// kill ends this helper and waits until it is gone.
func (h *helper) kill() {
	h.cmd.Process.Kill()
	h.cmd.Wait()
	h.in.Close()
}

// newTeam is the leader's view of a fresh session.
func newTeam(t *testing.T) *Team {
	return Open(Place{Root: filepath.Join(t.TempDir(), "root"), Session: "s", Project: "/p", Cwd: "/p"})
}

// as is the team as seen by a caller with a name, and maybe a spawn id, in its
// environment.
func (t *Team) as(name, spawnID string) *Team {
	u := *t
	u.Name, u.SpawnID, u.envName, u.envSpawn = name, spawnID, name, spawnID
	return &u
}

func wantCode(t *testing.T, err error, code errs.Code) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Fatalf("error %v is of code %q, want %q", err, errs.CodeOf(err), code)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantNothing checks that nothing was created at path.
func wantNothing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s exists (%v)", path, err)
	}
}

// tree lists everything below dir.
func listTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v\n", path, d.Type())
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b.String()
}

func mkdirs(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	mkdirs(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sleeper starts a process that does nothing, and returns how to end it.
func sleeper(t *testing.T) (fsx.Process, func()) {
	t.Helper()
	h := startHelper(t, t.TempDir())
	p, err := fsx.ProcessOf(h.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p, h.kill
}

func millisAgo(ms int64) time.Duration { return time.Since(time.UnixMilli(ms)) }
