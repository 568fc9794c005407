package meta

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a running sh that reads block after block, so that variables,
// directories and its process id last.
type shell struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at the end of its output
	dir   string      // for the blocks
	n     int
}

// endOfBlock is printed after each block, with the status of the last command.
const endOfBlock = "@@@ end of block "

// shellLoop reads names of files and runs each as part of this shell.
const shellLoop = `set -e; while read -r block; do . "$block" </dev/null; printf '\n` + endOfBlock + `%s\n' "$?"; done`

// docEnviron is environ without a root: the documents use the one below home.
func docEnviron(t testing.TB, home string) []string {
	return slices.DeleteFunc(environ(t, home), func(kv string) bool { return strings.HasPrefix(kv, "TEAMS_ROOT=") })
}

func startShell(t *testing.T, home string) *shell {
	t.Helper()
	s := &shell{cmd: exec.Command("sh", "-c", shellLoop), lines: make(chan string, 1000), dir: t.TempDir()}
	s.cmd.Dir, s.cmd.Env = home, docEnviron(t, home)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				s.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// run runs one block and returns what it printed, both streams together.
func (s *shell) run(text string) (string, error) {
	s.n++
	file := filepath.Join(s.dir, strconv.Itoa(s.n)+".sh")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(s.in, file); err != nil {
		return "", err
	}
	printed := ""
	limit := time.After(time.Minute)
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				return printed, errors.New("a command of the block failed")
			}
			if status, end := strings.CutPrefix(line, endOfBlock); end {
				if status != "0\n" {
					return printed, fmt.Errorf("the block ended with exit status %s", status)
				}
				return strings.TrimSuffix(printed, "\n"), nil
			}
			printed += line
		case <-limit:
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			return printed, errors.New("the block did not end within a minute")
		}
	}
}

// close ends the shell and what it still runs.
func (s *shell) close(t *testing.T) {
	s.in.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range s.lines {
		}
		_ = s.cmd.Wait()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a shell of a document does not end")
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-done
	}
}

// normalizer replaces what is different at each run by what a document shows.
type normalizer struct {
	home string
	sets []replacement
}

type replacement struct {
	re   *regexp.Regexp
	with string
}

func newNormalizer(home string) *normalizer {
	n := &normalizer{home: home}
	for _, r := range [][2]string{
		{`\bapp-[0-9a-f]{8}\b`, "app-1f0c3a9e"},
		{`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "4c1e9b2a-7d30-4f68-9a51-c2e8d07b6f13"},
		{`\b[0-9a-f]{64}\b`, "9f2b0c6e4d81a7350e9c5b16f8d2473a9f2b0c6e4d81a7350e9c5b16f8d2473a"},
		{`\b[0-9a-f]{40}\b`, "6b1f0e9d8c7a5b4c3d2e1f0a9b8c7d6e5f4a3b2c"},
		{`\b[0-9a-f]{32}\b`, "b37458fc5864cd4fd7bf30f1d06c8435"},
		{`\b1[0-9]{12}\b`, "1796056180351"},
		{`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z`, "2026-11-30T16:29:40.351Z"},
		{`\b20[0-9]{2}[0-9]{4}T[0-9]{6}\.[0-9]{6}Z-([a-z]+)-[0-9a-f]{6}`, "20261130T162940.351207Z-$1-7f3a9c"},
		{`"host":"[^"]*"`, `"host":"box"`},
		{`"bootMs":[0-9]+`, `"bootMs":363881`},
		{`"durationMs":[0-9]+`, `"durationMs":5`},
		{`"pid":[0-9]+`, `"pid":4966`},
		{`took [0-9.]+(ms|s)\b`, "took 5ms"},
		{`\b[0-9]+s ago`, "just now"},
	} {
		n.sets = append(n.sets, replacement{regexp.MustCompile(r[0]), r[1]})
	}
	return n
}

func (n *normalizer) apply(s string) string {
	s = strings.ReplaceAll(s, n.home, "/home/me")
	for _, r := range n.sets {
		s = r.re.ReplaceAllString(s, r.with)
	}
	return s
}

// matches compares a documented output with a real one. Spaces that only
// align columns do not count, nor those at the end of a line.
func matches(want, got string) bool {
	return matchLines(tidyLines(want), tidyLines(got))
}

func tidyLines(s string) []string {
	rows := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, row := range rows {
		indent := len(row) - len(strings.TrimLeft(row, " "))
		rows[i] = row[:indent] + strings.Join(strings.Fields(row), " ")
	}
	return rows
}

func matchLines(want, got []string) bool {
	for i, row := range want {
		if row == "..." {
			for n := i; n <= len(got); n++ {
				if matchLines(want[i+1:], got[n:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != row {
			return false
		}
	}
	return len(got) == len(want)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a  b\n", "a     b \n", true},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\n", "a\n", true},
		{"a\n...\nd\n", "a\nb\n", false},
		{"a\n", "a\nb\n", false},
		{"  a\n", "a\n", false},
	} {
		if matches(c.want, c.got) != c.ok {
			t.Errorf("%q and %q: want %v", c.want, c.got, c.ok)
		}
	}
}
