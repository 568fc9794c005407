package crashtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed6990a682/teams/internal/gobuild"
)

var long = flag.Bool("long", false, "every verb, every system call, every occurrence")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	tools.clean()
	if code == 0 && (testing.Verbose() || *long) {
		counts.print()
	}
	os.Exit(code)
}

// tools is what the tests need from outside, looked for once.
var tools toolbox

type toolbox struct {
	once   sync.Once
	skip   string // why strace cannot be used
	strace string
	dir    string // a temporary directory, for programs
	state  string // another one, for state
	teams  string // the command
	plain  string // the command as it is released, for -long
	err    error
	number atomic.Int64
}

// need skips a test that cannot trace, and says why even without -v: nobody
// shall believe that it ran.
func need(t *testing.T) *toolbox {
	t.Helper()
	tools.once.Do(tools.prepare)
	if tools.err != nil {
		t.Fatal(tools.err)
	}
	if tools.skip != "" {
		t.Skip(tools.skip)
	}
	return &tools
}

func (b *toolbox) prepare() {
	b.strace, b.skip = findStrace()
	if b.skip != "" {
		fmt.Fprintln(os.Stderr, "crashtest: skipped:", b.skip)
		return
	}
	if b.dir, b.err = os.MkdirTemp("", "crashtest"); b.err != nil {
		return
	}
	// State lies in memory where that can be had. What a power cut leaves is
	// worked out, not waited for, so nothing is lost but the time of each fsync.
	if b.state, b.err = os.MkdirTemp("/dev/shm", "crashtest"); b.err != nil {
		b.state, b.err = b.dir, nil
	}
	b.err = b.build()
}

// scratch returns the path of a directory that is not there yet.
func (b *toolbox) scratch() string {
	return filepath.Join(b.state, strconv.FormatInt(b.number.Add(1), 10))
}

func (b *toolbox) clean() {
	for _, dir := range []string{b.dir, b.state} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
}

// findStrace looks for an strace that may trace and can inject.
func findStrace() (path, skip string) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return "", "strace is not installed"
	}
	out, err := exec.Command(path, "-f", "-qq", "-o", "/dev/null", "-e", "trace=close",
		"-e", "inject=close:delay_enter=0:when=1", "/bin/sh", "-c", ":").CombinedOutput()
	if err != nil {
		return "", "strace may not trace here: " + strings.TrimSpace(string(out)+" "+err.Error())
	}
	return path, ""
}

// pin is added to the command under test. strace counts the occurrences of a
// call by thread, and without it the Go runtime moves the main goroutine
// between threads as it likes; then an occurrence that comes after a move can
// never be the one that counts.
const pin = `package main

import "runtime"

func init() { runtime.LockOSThread() }
`

// build builds the command with its main goroutine pinned to one thread, and,
// for -long, as it is.
func (b *toolbox) build() error {
	b.teams, b.plain = filepath.Join(b.dir, "teams"), filepath.Join(b.dir, "teams-plain")
	source, err := filepath.Abs(filepath.Join("..", "..", "cmd", "teams"))
	if err != nil {
		return err
	}
	added := filepath.Join(b.dir, "pin.go")
	if err := os.WriteFile(added, []byte(pin), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(source, "zz_pin.go"): added}})
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	if err := gobuild.Build(context.Background(), gobuild.Teams, b.teams, "-overlay", file); err != nil || !*long {
		return err
	}
	return gobuild.Build(context.Background(), gobuild.Teams, b.plain)
}

// counts is what all tests did together.
var counts tally

type tally struct {
	mu    sync.Mutex
	lines []string
}

func (c *tally) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

func (c *tally) print() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		fmt.Println("crashtest:", l)
	}
}
