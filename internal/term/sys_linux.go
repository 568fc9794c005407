package term

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// pids lists all processes.
func pids() (out []int) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// marked lists the processes whose environment has a terminal's mark.
func marked(mark string) (out []int) {
	want := []byte(EnvMark + "=" + mark + "\x00")
	self := os.Getpid()
	for _, pid := range pids() {
		if pid == self {
			continue
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && (bytes.HasPrefix(b, want) || bytes.Contains(b, append([]byte{0}, want...))) {
			out = append(out, pid)
		}
	}
	return out
}

// foregroundOf returns the process group in the foreground of a process's
// terminal, and the name of its leader.
func foregroundOf(pid int) (group int, name string, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, "", false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 6 {
		return 0, "", false
	}
	group, err = strconv.Atoi(fields[5]) // tpgid
	if err != nil || group <= 0 {
		return 0, "", false
	}
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(group) + "/comm")
	return group, strings.TrimSpace(string(comm)), true
}
