package fsx

import (
	"golang.org/x/sys/unix"
)

// SSTOP and SZOMB of <sys/proc.h>.
const (
	statStopped = 4
	statZombie  = 5
)

// startTime returns when the process was started, in microseconds of the wall
// clock at that moment, or that it is gone. A zombie is gone.
func startTime(pid int) (start uint64, gone bool, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		// An unknown number yields an empty answer, reported as EIO.
		if noSuchProcess(pid) {
			return 0, true, nil
		}
		return 0, false, pathErr("sysctl", procPath(pid, "stat"), err)
	}
	if int(k.Proc.P_pid) != pid || k.Proc.P_stat == statZombie {
		return 0, true, nil
	}
	t := k.Proc.P_starttime
	return uint64(t.Sec)*1_000_000 + uint64(t.Usec), false, nil
}

func suspended(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Proc.P_stat == statStopped
}

// pidNamespace is the same for all: macOS has no pid namespaces.
func pidNamespace() string { return "global" }
