// Package sharedfs makes a file system that two hosts share, all on this
// machine: a MooseFS with one server on loopback, mounted twice. It is for the
// tests and for the bench, which have no two machines.
//
// It needs Linux, root, /dev/fuse, and the programs of the Debian packages
// moosefs-master, moosefs-chunkserver and moosefs-client. It changes nothing
// outside the directory it is given.
package sharedfs
