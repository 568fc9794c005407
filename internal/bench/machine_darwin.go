package main

import "golang.org/x/sys/unix"

// fileSystem names the type of a file system.
func fileSystem(st *unix.Statfs_t) string { return unix.ByteSliceToString(st.Fstypename[:]) }
