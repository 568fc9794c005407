package fsx

import (
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystem names the file system as mount(8) does.
func fileSystem(_ string, st *unix.Statfs_t) FileSystem {
	kind := unix.ByteSliceToString(st.Fstypename[:])
	switch kind {
	case "nfs", "smbfs", "afpfs", "webdav":
		return FileSystem{kind, true}
	}
	return FileSystem{kind, strings.Contains(kind, "fuse")}
}
