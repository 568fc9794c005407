package pi

import "golang.org/x/sys/unix"

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
