package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystem names the type of a file system.
func fileSystem(st *unix.Statfs_t) string {
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC: // of ext2 and ext3 too
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	}
	return fmt.Sprintf("file system type %#x", uint64(st.Type))
}

// residentSet is how much of a process is in memory now, in MB.
func residentSet(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return megabytes(text)
		}
	}
	return 0, fmt.Errorf("process %d has no memory", pid)
}
