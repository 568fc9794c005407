package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "update the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"teams":       main,
		"teams-frame": frameMain, // with the commands of framecmds_test.go
		"teams-clock": clockMain, // with the clocks of clock_test.go
	})
}

// TestScript runs every script of testdata/script; -run TestScript/frame_ runs
// those of one subject. Programs are run with exec, each a process of its own.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams())
}

// scriptParams is where conditions, commands and variables of all scripts are
// added.
func scriptParams() testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               scriptSetup,
		Condition:           scriptCondition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": cmdExitCode,
			"waitfor":  cmdWaitFor,
			"sigterm":  cmdSigterm,
			"bytes":    cmdBytes,
		},
	}
}

// scriptSetup gives every script an environment of its own: an empty home, a
// fixed width, no colour from outside and none of our variables.
func scriptSetup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("COLUMNS", "80")
	env.Setenv("TERM", "xterm-256color")
	env.Setenv("LC_ALL", "C.UTF-8")
	// A program with the race detector otherwise sleeps a second at its end.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	return nil
}

// scriptCondition answers [name] for programs (bash, zsh, fish, strace, ...)
// and for root, and says why a script skips something.
func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "bash", "zsh", "fish", "strace", "git", "setpriv", "mandoc":
		if _, err := exec.LookPath(cond); err != nil {
			fmt.Fprintf(os.Stderr, "script: %s is not installed, its checks are skipped\n", cond)
			return false, nil
		}
		return true, nil
	case "devfull":
		_, err := os.Stat("/dev/full")
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// cmdExitCode runs "exitcode N COMMAND ARG...": the program must exit with N.
// Its output is checked with stdout and stderr as after exec.
func cmdExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%s did not run: %v", args[1], err)
		}
		if got = exit.ExitCode(); got < 0 {
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				got = 128 + int(status.Signal())
			}
		}
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdWaitFor runs "waitfor FILE...": waits until every file is there.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitfor FILE...")
	}
	deadline := time.Now().Add(20 * time.Second)
	for _, name := range args {
		for {
			if _, err := os.Stat(ts.MkAbs(name)); err == nil {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("%s did not appear", name)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// cmdSigterm runs "sigterm FILE [SIGNAL]": sends SIGTERM, or INT, to the
// process whose id the file holds.
func cmdSigterm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: sigterm PIDFILE [INT]")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	sig := syscall.SIGTERM
	if len(args) == 2 && args[1] == "INT" {
		sig = syscall.SIGINT
	}
	ts.Check(syscall.Kill(pid, sig))
}

// cmdBytes runs "bytes FILE TEXT": writes TEXT, a Go string without its quotes,
// to a file, for content that a script cannot hold.
func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
