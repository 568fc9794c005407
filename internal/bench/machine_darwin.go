package main

import (
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// fileSystem names the type of a file system.
func fileSystem(st *unix.Statfs_t) string { return unix.ByteSliceToString(st.Fstypename[:]) }

// residentSet is how much of a process is in memory now, in MB.
func residentSet(pid int) (float64, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, err
	}
	return megabytes(string(out))
}
