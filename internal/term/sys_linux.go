package term

import (
	"bytes"
	"errors"
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

// processes lists all processes.
func processes() (out []process) {
	for _, pid := range pids() {
		if p, ok := lookup(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// lookup reads what is to be known of a process, false when it is gone.
func lookup(pid int) (process, bool) {
	fields, ok := stat(pid)
	if !ok || len(fields) < 20 {
		return process{}, false
	}
	p := process{pid: pid, zombie: strings.ContainsAny(fields[0], "ZXx")}
	var err [3]error
	p.parent, err[0] = strconv.Atoi(fields[1])
	p.session, err[1] = strconv.Atoi(fields[3])
	p.start, err[2] = strconv.ParseUint(fields[19], 10, 64)
	return p, errors.Join(err[:]...) == nil
}

// stat returns the fields of a process's stat behind the name of its program,
// which may hold anything.
func stat(pid int) ([]string, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, false
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])), true
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
	fields, ok := stat(pid)
	if !ok || len(fields) < 6 {
		return 0, "", false
	}
	group, err := strconv.Atoi(fields[5]) // tpgid
	if err != nil || group <= 0 {
		return 0, "", false
	}
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(group) + "/comm")
	return group, strings.TrimSpace(string(comm)), true
}
