package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/gobuild"
)

// program is the built teams.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "teams-demo-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "teams")
		if err := gobuild.Build(context.Background(), gobuild.Teams, program); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// watchSources is for the program that TestMain has built.
var watchSources = sync.OnceValue(gobuild.Watch)

// demo is a command line of the built program, with a temporary directory of
// its own and an environment as a teammate somewhere would have it.
func demo(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if err := watchSources(); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(program, append([]string{"demo"}, args...)...)
	cmd.Dir = home
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TEAMS_") }),
		"HOME="+home, "TMPDIR="+home, "TEAMS_ROOT="+filepath.Join(home, "own"), "TEAMS_NAME=zoe", "TEAMS_SPAWN=x", "GIT_DIR=/nowhere")
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(home, "own")); err == nil {
			t.Error("the demo touched the root of its caller")
		}
		for _, left := range processesBelow(home) {
			t.Errorf("a process is left: %s", left)
		}
	})
	return cmd
}

// processesBelow lists the processes whose environment names a directory.
func processesBelow(dir string) (out []string) {
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range list {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, []byte("TEAMS_ROOT="+dir+"/teams-demo-")) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			out = append(out, file+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// remains lists what a demo left in its temporary directory.
func remains(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(cmd.Dir, "teams-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// The story is told, and what it leaves can be looked at as it says.
func TestKeep(t *testing.T) {
	t.Parallel()
	cmd := demo(t, "--keep")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if exitCode(t, err) != 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"FAIL: greet.sh printed 'Hello'", "$ teams task add", "$ kill -9 ", "(killed)", "the holder is dead", "gate_failed  t_1",
		"TEAMS_FEEDBACK says: FAIL: greet.sh printed 'Hello Ann'", "released from bob: holder dead", "✓ bob was killed with t_2, and ",
		"✓ teams doctor finds nothing wrong", "✓ rex did its task, reported, and was ended", "To look around:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the story lacks %q", want)
		}
	}
	if strings.Contains(text, "✗ ") && strings.Contains(text, ", but ") || strings.Contains(text, "\x1b") {
		t.Errorf("a check failed, or there are colours:\n%s", text)
	}
	_, rest, _ := strings.Cut(text, "To look around:\n")
	dirs := remains(t, cmd)
	if len(dirs) != 1 {
		t.Fatalf("left: %v", dirs)
	}
	look := exec.Command("sh", "-ec", rest)
	look.Dir, look.Env = cmd.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	got, err := look.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands to look around: %v\n%s", err, got)
	}
	for _, want := range []string{"t_3  ✓  completed", "last gate: run 2, gate passed", "holder dead", `{"format":1,`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the commands to look around do not print %q:\n%s", want, got)
		}
	}
	if left := remains(t, cmd); len(left) > 0 {
		t.Errorf("the last command did not remove %v", left)
	}
}

// With --json there is one value and nothing else, also without home, git and
// colours; and nothing stays.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(t *testing.T, cmd *exec.Cmd)
		says   string
	}{
		{name: "as usual", change: func(*testing.T, *exec.Cmd) {}},
		{name: "no home", change: func(_ *testing.T, cmd *exec.Cmd) {
			cmd.Env = append(slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }), "NO_COLOR=1")
		}},
		{name: "no git", change: func(t *testing.T, cmd *exec.Cmd) {
			bin := t.TempDir()
			for _, name := range []string{"sh", "cat", "ls", "sleep", "grep"} {
				at, err := exec.LookPath(name)
				if err != nil {
					t.Skip(err)
				}
				if err := os.Symlink(at, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Env = append(cmd.Env, "PATH="+bin)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := demo(t, "--json")
			c.change(t, cmd)
			out, err := cmd.Output()
			if exitCode(t, err) != 0 {
				t.Fatalf("%v\n%s", err, out)
			}
			var v struct {
				OK   bool
				Data Result
			}
			d := json.NewDecoder(bytes.NewReader(out))
			d.DisallowUnknownFields()
			var envelope struct {
				Schema int             `json:"schema"`
				OK     bool            `json:"ok"`
				Data   json.RawMessage `json:"data"`
			}
			if err := d.Decode(&envelope); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Token(); err != io.EOF {
				t.Fatal("more than one value")
			}
			v.OK = envelope.OK
			if err := json.Unmarshal(envelope.Data, &v.Data); err != nil {
				t.Fatal(err)
			}
			if !v.OK || !v.Data.OK || v.Data.Kept || len(v.Data.Checks) < 8 || len(v.Data.Steps) < 12 {
				t.Errorf("%+v", v)
			}
			killed := false
			for _, s := range v.Data.Steps {
				killed = killed || s.Signal == "killed" && s.ExitCode == 137
			}
			if !killed {
				t.Error("no step was killed")
			}
			if left := remains(t, cmd); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A signal ends the demo wherever it is, and nothing stays. Tools such as
// timeout send it twice.
func TestSignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after string
		sig   syscall.Signal
	}{
		{"$ teams task list", syscall.SIGINT},
		{"t_2  claimed  bob", syscall.SIGTERM},
		{"ann  claimed", syscall.SIGINT},
		{"$ teams wait", syscall.SIGHUP},
		{"$ teams spawn", syscall.SIGINT},
		{"$ teams delegate", syscall.SIGTERM},
	} {
		t.Run(c.after, func(t *testing.T) {
			t.Parallel()
			cmd := demo(t)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var text []byte
			sent := false
			buf := make([]byte, 4096)
			for {
				n, err := out.Read(buf)
				text = append(text, buf[:n]...)
				if !sent && bytes.Contains(text, []byte(c.after)) {
					sent = true
					_ = cmd.Process.Signal(c.sig)
					_ = cmd.Process.Signal(c.sig)
				}
				if err != nil {
					break
				}
			}
			code := exitCode(t, cmd.Wait())
			// On a machine that was busy at that moment the demo may be over.
			finished := code == 0 && bytes.Contains(text, []byte("All of it was done"))
			if code != 130 && !finished || !sent {
				t.Errorf("exit %d\n%s%s", code, text, stderr.Bytes())
			}
			if code == 130 && !strings.Contains(stderr.String(), "interrupted by SIG") {
				t.Errorf("it says %q", stderr.String())
			}
			if left := remains(t, cmd); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Whoever stops reading ends the demo, and nothing stays.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	cmd := demo(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
	if left := remains(t, cmd); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// fake makes a program in place of teams that runs the script, in which $teams
// is the real one.
func fake(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fake")
	text := "#!/bin/sh\nteams='" + program + "'\n" + script
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// When the program does something else than what is told, the demo fails, says
// what, and leaves nothing.
func TestNotAsTold(t *testing.T) {
	for _, c := range []struct{ name, script, says string }{
		{"broken", "echo no >&2; exit 1\n", "ended with exit status 1: no"},
		{"a gate that never fails", `
if [ "$1" = work ]; then
	exec "$teams" work --as "$3" -- sh -c 'case $TEAMS_TASK in
		t_1) echo "echo \"Hello, \$1!\"" >greet.sh ;;
		t_2) echo greet.sh >USAGE ;;
		t_3) cp USAGE NOTES ;;
		esac'
fi
exec "$teams" "$@"
`, "the gate of t_1 failed once"},
		{"a worker that gives up", `
if [ "$1" = work ]; then exec "$teams" work --as "$3" --max-tasks 1 -- sh -c 'cat; exit 3'; fi
if [ "$1" = wait ]; then sleep 0.1; exit 0; fi
exec "$teams" "$@"
`, "gates/t_1.1.log"},
		{"a claim that is not printed", `
if [ "$1" = claim ]; then exit 2; fi
exec "$teams" "$@"
`, ""},
		{"a resident that does nothing", `
if [ "$1" = spawn ]; then exec "$teams" spawn rex reviewer -- sleep 60; fi
exec "$teams" "$@"
`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			ctx := context.Background()
			if c.says == "" {
				// bob sleeps for a minute and claims nothing, and so does rex: only the
				// end of ctx helps.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
				defer cancel()
			}
			r, err := Run(ctx, Options{Program: fake(t, c.script), Environ: os.Environ()})
			switch {
			case err == nil || r.OK:
				t.Fatalf("it came out well: %+v", r)
			case c.says == "" && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("%v", err)
			case c.says != "" && (errs.CodeOf(err) != errs.Failure || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v (code %s)", err, errs.CodeOf(err))
			}
			if _, err := os.Stat(r.Dir); r.Dir == "" || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left (%v)", r.Dir, err)
			}
			if runtime.GOOS == "linux" {
				for _, left := range processesBelow(os.Getenv("TMPDIR")) {
					t.Errorf("a process is left: %s", left)
				}
			}
		})
	}
}

// No directory for the demo is an error that names it.
func TestNoTempDir(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := Run(context.Background(), Options{Program: program, Environ: os.Environ()})
	if errs.CodeOf(err) != errs.Unusable || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
}
