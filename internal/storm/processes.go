package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// running is a process that was found in /proc.
type running struct {
	pid  int
	line string
}

// ours says whether a process belongs to the root of this storm.
func (w *world) ours(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return pid > 0 && err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00TEAMS_ROOT="+w.root+"\x00"))
}

// processes lists what runs in this storm. Without /proc it finds nothing.
func (w *world) processes() (out []running) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !w.ours(pid) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		out = append(out, running{pid, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))})
	}
	return out
}

// checkProcesses: nothing runs any more.
func (w *world) checkProcesses() {
	var left []running
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			return
		}
	}
	for _, p := range left {
		w.wrong("still running: %d %s", p.pid, p.line)
	}
}
