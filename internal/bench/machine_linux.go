package main

import (
	"fmt"

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
