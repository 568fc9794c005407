package fsx

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystem names the file system by its magic number.
func fileSystem(path string, st *unix.Statfs_t) FileSystem {
	switch magic := uint32(st.Type); magic {
	case unix.EXT4_SUPER_MAGIC:
		return FileSystem{Type: "ext4"} // and its forebears
	case unix.TMPFS_MAGIC:
		return FileSystem{Type: "tmpfs"}
	case unix.OVERLAYFS_SUPER_MAGIC:
		return FileSystem{Type: "overlay"}
	case unix.XFS_SUPER_MAGIC:
		return FileSystem{Type: "xfs"}
	case unix.BTRFS_SUPER_MAGIC:
		return FileSystem{Type: "btrfs"}
	case unix.FUSE_SUPER_MAGIC:
		t := mountType(path)
		return FileSystem{Type: t, Network: !localFUSE(t)}
	case unix.NFS_SUPER_MAGIC:
		return FileSystem{"nfs", true}
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return FileSystem{"cifs", true}
	case unix.CEPH_SUPER_MAGIC:
		return FileSystem{"ceph", true}
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return FileSystem{"afs", true}
	case unix.CODA_SUPER_MAGIC:
		return FileSystem{"coda", true}
	case unix.OCFS2_SUPER_MAGIC:
		return FileSystem{"ocfs2", true}
	case 0x01161970:
		return FileSystem{"gfs2", true}
	case 0x0BD00BD0:
		return FileSystem{"lustre", true}
	case 0x47504653:
		return FileSystem{"gpfs", true}
	case 0x19830326:
		return FileSystem{"beegfs", true}
	case 0xAAD7AAEA:
		return FileSystem{"panfs", true}
	case unix.V9FS_MAGIC:
		return FileSystem{Type: "9p"}
	default:
		return FileSystem{Type: "0x" + strconv.FormatUint(uint64(magic), 16)}
	}
}

// localFUSE reports whether a file system in user space is one of those that
// only ever serve one machine.
func localFUSE(kind string) bool {
	switch kind {
	case "fuseblk", "fuse.fuse-overlayfs", "fuse.bindfs", "fuse.encfs", "fuse.gocryptfs", "fuse.cryfs", "fuse.securefs",
		"fuse.lxcfs", "fuse.portal", "fuse.gvfsd-fuse", "fuse.unionfs", "fuse.mergerfs", "fuse.squashfuse", "fuse.fuse-archive":
		return true
	}
	return false
}

// mountType finds the type of the mount that path lies on among the mounts of
// this process; "fuse" when it is not there. Where the type says no more than
// that, the first word of the source does, as in mfs#host:9421.
func mountType(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return "fuse"
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "fuse"
	}
	return typeOfMount(mounts, uint64(st.Dev))
}

func typeOfMount(mounts []byte, dev uint64) string {
	want := strconv.Itoa(int(unix.Major(dev))) + ":" + strconv.Itoa(int(unix.Minor(dev)))
	for line := range bytes.Lines(mounts) {
		head, tail, ok := strings.Cut(string(line), " - ")
		fields := strings.Fields(head)
		if !ok || len(fields) < 3 || fields[2] != want {
			continue
		}
		after := strings.Fields(tail)
		if len(after) == 0 {
			break
		}
		kind := after[0]
		if kind == "fuse" && len(after) > 1 {
			if source, _, ok := strings.Cut(strings.ReplaceAll(after[1], `\043`, "#"), "#"); ok && CheckHandle(source) == nil {
				kind += "." + source
			}
		}
		return SafeLine(kind)
	}
	return "fuse"
}
