package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// found is a process that was found in /proc.
type found struct {
	pid  int
	line string
}

func (f found) String() string { return fmt.Sprintf("process %d: %s", f.pid, f.line) }

// processesWith lists the living processes in whose environment an entry
// stands, such as TEAMS_ROOT=/x. Without /proc it finds none.
func processesWith(entry string) (out []found) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	want := []byte(entry + "\x00")
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.HasPrefix(env, want) && !bytes.Contains(env, append([]byte{0}, want...)) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		out = append(out, found{pid, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))})
	}
	return out
}

// processes lists the living processes of the site.
func (s *site) processes() []found { return processesWith("TEAMS_ROOT=" + s.root) }

// gates lists the living processes of gates of the site.
func (s *site) gates() (out []found) {
	for _, p := range s.processes() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if bytes.Contains(env, []byte("\x00TEAMS_GATE=")) || bytes.HasPrefix(env, []byte("TEAMS_GATE=")) {
			out = append(out, p)
		}
	}
	return out
}

// noProcess checks that nothing of the site is running, in a moment.
func (s *site) noProcess() {
	s.t.Helper()
	var left []found
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if left = s.processes(); len(left) == 0 {
			return
		}
	}
	for _, p := range left {
		s.t.Errorf("still running: %s", p)
	}
}

// endAll ends, by pid, what is left of the site, and returns what there was.
// A process that is about to end by itself gets a moment for it.
func (s *site) endAll() []found {
	var left []found
	for range 50 {
		if left = s.processes(); len(left) == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	for range 100 {
		now := s.processes()
		if len(now) == 0 {
			break
		}
		for _, p := range now {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return left
}

// until is shell that waits for a file, which goOn makes: what must still run
// at some point of a test is not given a time.
func (s *site) until(name string) string {
	return "while ! test -e " + filepath.Join(s.base, name) + "; do sleep 0.05; done"
}

// goOn lets everything go on that waits by until.
func (s *site) goOn(name string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.base, name), "")
}

// peakMemory is the largest resident size of a process so far, in bytes, as
// Linux tells it; 0 when it is not known.
func peakMemory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
