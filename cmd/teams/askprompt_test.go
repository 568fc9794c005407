package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a program that runs on a terminal of its own.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File
	out string // standard output, when it is a file

	mu   sync.Mutex
	seen string
	done chan struct{}
}

// onTerminal starts teams on a pseudo terminal, with standard output in a file,
// as in answer=$(teams ask ...).
func onTerminal(t *testing.T, root string, env []string, args ...string) *terminal {
	t.Helper()
	path, err := exec.LookPath("teams")
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, cmd: exec.Command(path, args...), out: filepath.Join(t.TempDir(), "out"), done: make(chan struct{})}
	file, err := os.Create(p.out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.cmd.Stdout = file
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append(append(os.Environ(), "TEAMS_ROOT="+root, "TEAMS_SESSION=s", "TERM=xterm", "COLUMNS=80", "GORACE=atexit_sleep_ms=0"), env...)
	if p.pty, err = pty.Start(p.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := p.pty.Read(buf)
			p.mu.Lock()
			p.seen += string(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.pty.Close()
		<-p.done
	})
	return p
}

// see waits for text on the terminal.
func (p *terminal) see(text string) {
	p.t.Helper()
	for range 2000 {
		p.mu.Lock()
		found := strings.Contains(p.seen, text)
		p.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("the terminal does not show %q:\n%s", text, p.seen)
}

func (p *terminal) typed(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.pty, s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the end and checks exit code and standard output.
func (p *terminal) ends(code int, stdout string) {
	p.t.Helper()
	limit := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	limit.Stop()
	got, _ := os.ReadFile(p.out)
	if p.cmd.ProcessState.ExitCode() != code || string(got) != stdout {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.t.Fatalf("%v, want exit %d\nstdout %q, want %q\n%s", err, code, got, stdout, p.seen)
	}
}

func TestAskAtATerminal(t *testing.T) {
	t.Parallel()
	choice := []string{"ask", "Which \x1b[2J port?", "--option", "8080", "--option", "nine"}
	other := append(choice[:len(choice):len(choice)], "--other")
	many := append(other[:len(other):len(other)], "--multi")
	for _, c := range []struct {
		name  string
		args  []string
		steps []string // what is seen, and what is typed then
		code  int
		out   string
	}{
		{"text", []string{"ask", "Which port?"}, []string{"Which port?\r\n", "", "Answer (empty: decline): ", "any port\r"}, 0, "any port\n"},
		{"number", choice, []string{"␛[2J", "", "  2) nine\r\nNumber", "2\r"}, 0, "nine\n"},
		{"label", choice, []string{"Number", "NINE\r"}, 0, "nine\n"},
		{"again", choice, []string{"Number", "seven\r", `"seven" is no option`, "8080\r"}, 0, "8080\n"},
		{"other", other, []string{"  3) Other…", "3\r", "Other (empty", "1\r"}, 0, "1\n"},
		{"other at once", other, []string{"  3) Other…", "seven\r"}, 0, "seven\n"},
		{"several", many, []string{"Numbers, with commas", "3, 2,1\r", "Other (empty", "so, or so\r"}, 0, "8080\nnine\nso, or so\n"},
		{"no other", other, []string{"Number", "3\r", "Other (empty", "\r"}, 1, ""},
		{"empty", choice, []string{"Number", "\r", "teams: the question was declined", ""}, 1, ""},
		{"escape", choice, []string{"Number", "\x1b\r"}, 1, ""},
		{"end of input", choice, []string{"Number", "\x04"}, 1, ""},
		{"interrupt", choice, []string{"Number", "\x03"}, 130, ""},
		{"time", append(choice, "--timeout", "300ms"), []string{"Number", "", "nobody has answered in time", ""}, 124, ""},
		{"json", append(choice, "--json"), []string{"Number", "\r"}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			p := onTerminal(t, root, nil, c.args...)
			for i := 0; i < len(c.steps); i += 2 {
				p.see(c.steps[i])
				p.typed(c.steps[i+1])
			}
			if c.name == "json" {
				_ = p.cmd.Wait()
				got, _ := os.ReadFile(p.out)
				if !strings.Contains(string(got), `"code":"declined"`) || strings.Count(string(got), "\n") != 1 {
					t.Errorf("%s", got)
				}
				return
			}
			p.ends(c.code, c.out)
			if left, _ := os.ReadDir(filepath.Join(root, "teammate")); len(left) > 0 {
				t.Errorf("a question at a terminal left files: %v", left)
			}
		})
	}
}

// In the shell of Pi's model nobody is asked at the terminal: the question
// stands, and says how it is answered.
func TestAskInAModelsTerminal(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := onTerminal(t, root, []string{"PI_CODING_AGENT=1"}, "ask", "Which port?")
	p.see("waiting for a person · teams answer q_")
	p.mu.Lock()
	_, id, _ := strings.Cut(p.seen, "teams answer ")
	p.mu.Unlock()
	id, _, _ = strings.Cut(id, " ")
	p.typed("8080\r")
	path, _ := exec.LookPath("teams")
	answer := exec.Command(path, "answer", id, "9090")
	answer.Env = append(os.Environ(), "TEAMS_ROOT="+root, "TEAMS_SESSION=s")
	if out, err := answer.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.ends(0, "9090\n")
}

// A job in the background of a terminal is not stopped by it: its question
// stands too.
func TestAskInTheBackground(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path, _ := exec.LookPath("teams")
	sh := exec.Command("sh", "-c", `set -m; "$0" ask "Which port?" & wait`, path)
	sh.Env = append(os.Environ(), "TEAMS_ROOT="+root, "TEAMS_SESSION=s", "TERM=xterm")
	sh.Dir = t.TempDir()
	f, err := pty.Start(sh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL)
		_ = sh.Wait()
		f.Close()
	})
	go io.Copy(io.Discard, f)
	var id string
	for range 1000 {
		asks := exec.Command(path, "asks", "-q")
		asks.Env = sh.Env
		out, _ := asks.Output()
		if id = strings.TrimSpace(string(out)); id != "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	answer := exec.Command(path, "answer", id, "9090")
	answer.Env = sh.Env
	if out, err := answer.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := make(chan error, 1)
	go func() { done <- sh.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the job does not end")
	}
}
