package verify

import (
	"bytes"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

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

// lastPID: numbers are not given out in order here.
func lastPID() (int, bool) { return 0, false }

// isLeader: threads have no numbers here.
func isLeader(int) bool { return true }

// lookup reads what is needed about one process; false when it is gone.
func lookup(pid int) (process, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return process{}, false
	}
	return fromKinfo(info), true
}

func fromKinfo(k *unix.KinfoProc) process {
	const stopped, zombie = 4, 5 // SSTOP, SZOMB
	p := process{
		pid:     int(k.Proc.P_pid),
		group:   int(k.Eproc.Pgid),
		start:   uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		zombie:  k.Proc.P_stat == zombie,
		stopped: k.Proc.P_stat == stopped,
		kernel:  k.Proc.P_pid == 0,
	}
	if sid, err := unix.Getsid(p.pid); err == nil {
		p.session = sid
	}
	return p
}

// environ reads the environment a process was started with, its entries ended
// by NUL. False: it may not be read, or the process is gone. kern.procargs2
// answers with the number of arguments, the path of the program, padding, the arguments and the
// environment.
func environ(pid int, _ []byte) ([]byte, bool) {
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

// awaitExit waits until the child pid has exited and leaves it unreaped, so
// that nobody else can get its number yet. waitid(2) is of no use here: it
// returns for a stopped child as well.
func awaitExit(pid int) {
	if queue, err := unix.Kqueue(); err == nil {
		unix.CloseOnExec(queue)
		var change, event [1]unix.Kevent_t
		unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		change[0].Fflags = unix.NOTE_EXIT
		changes := change[:]
		for !hasExited(pid) {
			// The limit is for an exit between the look and the call.
			n, err := unix.Kevent(queue, changes, event[:], &unix.Timespec{Sec: 1})
			changes = nil // it was taken in, also by a call that a signal ended
			if n > 0 || (err != nil && err != unix.EINTR) {
				break
			}
		}
		unix.Close(queue)
	}
	for !hasExited(pid) {
		time.Sleep(2 * time.Millisecond)
	}
}

// hasExited tells whether the child pid has exited.
func hasExited(pid int) bool {
	p, ok := lookup(pid)
	return !ok || p.zombie
}

// widen returns how much a pipe holds; it cannot be changed here.
func widen(int) int { return 64 << 10 }
