package fsx

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootClock reads CLOCK_MONOTONIC_RAW, which goes on while the machine sleeps.
func bootClock() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		return 0, pathErr("clock_gettime", "CLOCK_MONOTONIC_RAW", err)
	}
	return time.Duration(ts.Nano()), nil
}

func readBootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
