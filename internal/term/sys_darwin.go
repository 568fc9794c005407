package term

import (
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// processes lists all processes.
func processes() (out []process) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	for i := range table {
		out = append(out, fromKinfo(&table[i]))
	}
	return out
}

// lookup reads what is to be known of a process, false when it is gone.
func lookup(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return process{}, false
	}
	return fromKinfo(k), true
}

func fromKinfo(k *unix.KinfoProc) process {
	const zombie = 5 // SZOMB of <sys/proc.h>
	p := process{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == zombie,
		start: uint64(k.Proc.P_starttime.Sec)*1_000_000 + uint64(k.Proc.P_starttime.Usec),
	}
	if session, err := unix.Getsid(p.pid); err == nil {
		p.session = session
	}
	return p
}

// marked lists the processes whose environment has a terminal's mark, as far as
// ps shows the environments of one's own.
func marked(mark string) (out []int) {
	b, err := exec.Command("ps", "-Axww", "-E", "-o", "pid=,command=").Output()
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.Contains(line, EnvMark+"="+mark) {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// foregroundOf returns the process group in the foreground of a process's
// terminal, and the name of its leader.
func foregroundOf(pid int) (group int, name string, ok bool) {
	b, err := exec.Command("ps", "-o", "tpgid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, "", false
	}
	group, err = strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || group <= 0 {
		return 0, "", false
	}
	comm, _ := exec.Command("ps", "-o", "ucomm=", "-p", strconv.Itoa(group)).Output()
	return group, strings.TrimSpace(string(comm)), true
}
