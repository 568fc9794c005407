package fsx

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// startTime returns when the process was started, in clock ticks since boot,
// or that it is gone. A zombie is gone: it does nothing any more.
func startTime(pid int) (start uint64, gone bool, err error) {
	path := procPath(pid, "stat")
	b, err := readSmall(path)
	if err != nil {
		// With hidepid, or without /proc, a living process has no file either.
		if noSuchProcess(pid) {
			return 0, true, nil
		}
		return 0, false, pathErr("read", path, err)
	}
	start, gone, ok := parseStat(b)
	if !ok {
		return 0, false, pathErr("parse", path, unix.EINVAL)
	}
	return start, gone, nil
}

// parseStat reads fields 3 (state) and 22 (start time) of /proc/<pid>/stat.
// Field 2 is the name of the program, which may hold blanks and parentheses.
func parseStat(b []byte) (start uint64, gone, ok bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, false, false
	}
	n := 2
	for field := range bytes.FieldsSeq(b[i+1:]) {
		n++
		switch n {
		case 3:
			if c := field[0]; c == 'Z' || c == 'X' || c == 'x' {
				return 0, true, true
			}
		case 22:
			start, err := strconv.ParseUint(string(field), 10, 64)
			return start, false, err == nil
		}
	}
	return 0, false, false
}

// suspended reports whether a process is stopped, by field 3 of its stat.
func suspended(pid int) bool {
	b, err := readSmall(procPath(pid, "stat"))
	i := bytes.LastIndexByte(b, ')')
	return err == nil && i >= 0 && bytes.HasPrefix(b[i+1:], []byte(" T"))
}

func pidNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}

// readSmall reads a file of /proc, which has no size, in one call.
func readSmall(path string) ([]byte, error) {
	var fd int
	var err error
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 1024)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}
