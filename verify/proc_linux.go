package verify

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds how much of one process's environment is read.
const maxEnviron = 16 << 20

// processIDs lists the processes of the machine, as far as /proc shows them.
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

// lastPID returns the number that was given to the youngest process or thread;
// false when the system does not say.
func lastPID() (int, bool) {
	var room [128]byte
	text, _ := readFile("/proc/sys/kernel/ns_last_pid", room[:0], int64(len(room)))
	if len(text) == 0 {
		text, _ = readFile("/proc/loadavg", room[:0], int64(len(room)))
	}
	fields := bytes.Fields(text)
	if len(fields) == 0 {
		return 0, false
	}
	pid := int(number(fields[len(fields)-1]))
	return pid, pid > 0
}

// isLeader tells whether pid is a process and not a thread of another.
func isLeader(pid int) bool {
	var room [4096]byte
	text, ok := readProc(pid, "status", room[:0], int64(len(room)))
	_, rest, found := bytes.Cut(text, []byte("\nTgid:"))
	if !ok || !found {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	return int(number(bytes.TrimSpace(line))) == pid
}

// lookup reads what is needed about one process; false when it is gone.
func lookup(pid int) (process, bool) {
	var room [1024]byte
	line, _ := readProc(pid, "stat", room[:0], int64(len(room)))
	// The second field is a name in parentheses that may hold anything.
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return process{}, false
	}
	p := process{pid: pid}
	field := 2
	for word := range bytes.FieldsSeq(line[end+1:]) {
		switch field++; field {
		case 3:
			p.zombie = word[0] == 'Z' || word[0] == 'X'
			p.stopped = word[0] == 'T' || word[0] == 't'
		case 5:
			p.group = int(number(word))
		case 6:
			p.session = int(number(word))
		case 9:
			const kernelThread = 0x00200000 // PF_KTHREAD
			p.kernel = number(word)&kernelThread != 0
		case 22:
			p.start = number(word)
			return p, true
		}
	}
	return process{}, false
}

// number reads a decimal number, negative ones as 0.
func number(word []byte) uint64 {
	var n uint64
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// environ reads the environment a process was started with, its entries ended
// by NUL, into buf's array if it fits. It is empty for a moment while the
// process is in execve(2). False: it may not be read, or the process is gone.
func environ(pid int, buf []byte) ([]byte, bool) {
	return readProc(pid, "environ", buf[:0], maxEnviron)
}

func readProc(pid int, file string, buf []byte, limit int64) ([]byte, bool) {
	return readFile("/proc/"+strconv.Itoa(pid)+"/"+file, buf, limit)
}

// readFile appends a file of /proc to buf, at most limit bytes; false when it
// cannot be read. Without os.File, since hundreds are read for one look.
func readFile(path string, buf []byte, limit int64) ([]byte, bool) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	for int64(len(buf)) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return nil, false
		}
		if n <= 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, true
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

// hasExited tells whether the child pid has exited.
func hasExited(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		return err != nil || info.Signo != 0
	}
}

// widen makes a pipe hold up to 1 MiB, which saves a chatty gate most of its
// waiting, and returns what it holds.
func widen(fd int) int {
	if n, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20); err == nil {
		return n
	}
	if n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil {
		return n
	}
	return 1 << 20
}
