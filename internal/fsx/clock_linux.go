package fsx

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func bootClock() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, pathErr("clock_gettime", "CLOCK_BOOTTIME", err)
	}
	return time.Duration(ts.Nano()), nil
}

func readBootID() string {
	b, err := readSmall("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
