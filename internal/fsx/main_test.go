package fsx

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "run the storms for longer")

// patience bounds waits that only end when something is broken.
const patience = 30 * time.Second

// TestMain runs the test binary as one of the other processes of a test when
// FSX_HELPER says so.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FSX_HELPER"); mode != "" {
		if err := helper(mode, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, mode+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(mode string, args []string) error {
	switch mode {
	case "publish": // dir tag: one try for each line on stdin
		return publishRounds(args[0], args[1])
	case "hold": // lock: held until stdin ends
		l, err := Acquire(context.Background(), args[0], 10*time.Second)
		if err != nil {
			return err
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		return l.Unlock()
	case "count": // lock, counter, times
		n, _ := strconv.Atoi(args[2])
		return countUp(args[0], args[1], n)
	case "die": // what, path, n: do it, killed at the n-th system call
		n, _ := strconv.Atoi(args[2])
		SetFault(func(Op, string) error {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		return operation(args[0])(args[1])
	case "storm": // dir: publish, replace and append until killed
		return storm(args[0])
	case "append": // path, tag, times
		n, _ := strconv.Atoi(args[2])
		for i := range n {
			line := fmt.Sprintf("%s %d %s\n", args[1], i, strings.Repeat(args[1], 500))
			if err := Append(args[0], []byte(line), false); err != nil {
				return err
			}
		}
		return nil
	case "mkdir": // root, path
		io.Copy(io.Discard, os.Stdin)
		return MkdirAll(args[0], args[1])
	case "sleep":
		fmt.Println("up")
		io.Copy(io.Discard, os.Stdin)
		return nil
	}
	return platformHelper(mode, args)
}

// peer is another process of a test.
type peer struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs bytes.Buffer
}

func command0(t testing.TB, mode string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	// The race detector lets every process sleep for 1 s at its end.
	cmd.Env = append(os.Environ(), "FSX_HELPER="+mode, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// start starts a peer; it is killed at the end of the test if it still runs.
func start(t testing.TB, mode string, args ...string) *peer {
	t.Helper()
	p := &peer{Cmd: command0(t, mode, args...)}
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = &p.errs
	p.out = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
	})
	return p
}

// line returns the next line that the peer prints.
func (p *peer) line(t testing.TB) string {
	t.Helper()
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	defer timer.Stop()
	if !p.out.Scan() {
		p.Wait()
		t.Fatalf("%v ended without an answer: %s", p.Args, p.errs.String())
	}
	return p.out.Text()
}

// finish ends the peer's input and expects it to succeed.
func (p *peer) finish(t testing.TB) {
	t.Helper()
	p.in.Close()
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	defer timer.Stop()
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %v: %s", p.Args[1:], err, p.errs.String())
	}
}

func (p *peer) kill(t testing.TB) {
	t.Helper()
	p.Process.Kill()
	p.Wait()
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if string(got) != want {
		t.Errorf("%s holds %.80q, want %.80q", filepath.Base(path), got, want)
	}
}

func wantMissing(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there (%v)", path, err)
	}
}

// temps returns the dot-names in dir, and checks that IsTemp knows them.
func temps(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
			if !IsTemp(e.Name()) {
				t.Errorf("IsTemp(%q) is false", e.Name())
			}
		}
	}
	return names
}

func wantNoTemps(t testing.TB, dir string) {
	t.Helper()
	if names := temps(t, dir); len(names) > 0 {
		t.Errorf("temporary files left: %q", names)
	}
}

// eventually waits for cond.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
