package pi

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds how much of one process's environment is read.
const maxEnviron = 4 << 20

// processIDs lists the processes that /proc shows.
func processIDs() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list, nil
}

// environOf reads the environment that a process was started with. It is empty
// for a moment while the process becomes another program, and for a zombie.
// False: it may not be read, or the process is gone.
func environOf(pid int) ([]byte, bool) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, false
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	return env, err == nil
}

// lookup reads what is needed about a process; false when it is gone.
func lookup(pid int) (proc, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The second field is a name in parentheses that may hold anything.
	end := bytes.LastIndexByte(line, ')')
	if err != nil || end < 0 {
		return proc{}, false
	}
	words := bytes.Fields(line[end+1:])
	if len(words) < 20 {
		return proc{}, false
	}
	parent, _ := strconv.Atoi(string(words[1]))
	start, err := strconv.ParseUint(string(words[19]), 10, 64)
	return proc{pid: pid, parent: parent, start: start, zombie: words[0][0] == 'Z' || words[0][0] == 'X'}, err == nil
}

// fresh tells whether a process is so young that it may still be becoming what
// it will be. Kernel threads never have an environment.
func fresh(q proc) bool {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	const ticks, young = 100, 2 // a second; seconds
	return uint64(now.Sec) < q.start/ticks+young
}

// awaitExit waits until the child pid has exited and leaves it unreaped, so
// that nobody else can get its number yet.
func awaitExit(pid int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}
