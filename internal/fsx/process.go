package fsx

import (
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/seed6990a682/teams/internal/errs"
)

// Process identifies one process beyond its number, which is used again.
type Process struct {
	PID          int    `json:"pid"`
	StartTime    uint64 `json:"startTime"` // in a unit of the system; compared only
	BootID       string `json:"bootId"`
	PIDNamespace string `json:"pidNamespace"`
	Host         string `json:"host"`
}

// Liveness is what is known about a process.
type Liveness int

// The answers. Unknown is never to be taken for Dead.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// String returns "unknown", "alive" or "dead".
func (l Liveness) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	}
	return "unknown"
}

// Self identifies the calling process.
func Self() (Process, error) { return ProcessOf(os.Getpid()) }

// ProcessOf identifies the process with number pid, which has to exist now: a
// number that is in nobody's use, or a zombie's, has code not_found.
func ProcessOf(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, errs.New(errs.Usage, "%d is no process id", pid)
	}
	start, gone, err := startTime(pid)
	if err != nil {
		return Process{}, err
	}
	if gone {
		return Process{}, errs.New(errs.NotFound, "there is no process %d", pid)
	}
	return Process{
		PID:          pid,
		StartTime:    start,
		BootID:       BootID(),
		PIDNamespace: PIDNamespace(),
		Host:         Host(),
	}, nil
}

// Liveness tells whether p still runs. Dead is proven: the process was on this
// host, in this pid namespace, and the machine was started anew since, or its
// number is free, a zombie's, or that of a process with another start time. On
// a shared file system [Process.Rebooted] has to be proven as well.
// Whatever cannot be seen from here is Unknown.
func (p Process) Liveness() Liveness {
	if p.PID <= 0 || p.StartTime == 0 || p.BootID == "" || p.PIDNamespace == "" || p.Host == "" {
		return Unknown
	}
	if p.Host != Host() || p.PIDNamespace != PIDNamespace() {
		return Unknown
	}
	switch {
	case p.Rebooted():
		return Dead
	case p.BootID != BootID():
		return Unknown // not to be had, or perhaps of another machine of this name
	}
	start, gone, err := startTime(p.PID)
	switch {
	case err != nil:
		return Unknown
	case gone, start != p.StartTime:
		return Dead
	}
	return Alive
}

// Suspended tells whether p lives, but was stopped by a signal, as by ctrl+z, and
// so does nothing until it is continued.
func (p Process) Suspended() bool { return p.Liveness() == Alive && suspended(p.PID) }

// noSuchProcess reports whether the kernel knows no process with this number.
// A process that is only hidden from us is known.
func noSuchProcess(pid int) bool {
	return syscall.Kill(pid, 0) == syscall.ESRCH
}

var (
	hostOnce, nsOnce sync.Once
	hostName, nsName string
)

// Host returns the name of this host, "" when it has none. It is read once per
// process.
func Host() string {
	hostOnce.Do(func() { hostName, _ = os.Hostname() })
	return hostName
}

// PIDNamespace names the pid namespace of the calling process, "" when it
// cannot be told. It is read once per process.
func PIDNamespace() string {
	nsOnce.Do(func() { nsName = pidNamespace() })
	return nsName
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}
