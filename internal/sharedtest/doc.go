// Package sharedtest runs the built teams on two hosts that share a file system:
// a MooseFS on this machine that is mounted twice, each mount used by processes
// that have another host name. Where there is no MooseFS the two use one local
// directory, and what only a file system between machines shows is skipped.
package sharedtest
