package pi

import (
	"bytes"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const zombieStat = 5 // SZOMB

// processIDs lists the processes of the machine.
func processIDs() ([]int, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	list := make([]int, 0, len(table))
	for i := range table {
		list = append(list, int(table[i].Proc.P_pid))
	}
	return list, nil
}

// environOf reads the environment that a process was started with. False: it
// may not be read, or the process is gone. kern.procargs2 answers with the
// number of arguments, the path of the program, padding, the arguments and the
// environment.
func environOf(pid int) ([]byte, bool) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return nil, false
	}
	args := int(int32(binary.NativeEndian.Uint32(data)))
	data = data[4:]
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = bytes.TrimLeft(data[i:], "\x00")
	}
	for ; args > 0; args-- {
		i := bytes.IndexByte(data, 0)
		if i < 0 {
			return nil, false
		}
		data = data[i+1:]
	}
	return data, true
}

// lookup reads what is needed about a process; false when it is gone.
func lookup(pid int) (proc, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return proc{}, false
	}
	return proc{
		pid: pid, parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == zombieStat,
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
	}, true
}

// fresh: a process has its environment at once here.
func fresh(proc) bool { return false }

// awaitExit waits until the child pid has exited and leaves it unreaped, so
// that nobody else can get its number yet. waitid(2) is of no use here: it
// returns for a stopped child as well.
func awaitExit(pid int) {
	for {
		if q, ok := lookup(pid); !ok || q.zombie {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
