// Package crashtest tests the built command at the level of system calls: what
// is on disk when it is killed at any of them, when one of them fails, and when
// the power is cut between any two. It holds tests, and what they are made of:
// [Parse] reads what strace recorded, [Disk] knows which of the recorded calls
// a power cut may undo.
//
// The tests need strace and the permission to trace; where either is missing
// they are skipped and say so. With -long they try every verb, every system
// call and every occurrence of it, else a part that takes about half a minute:
//
//	go test ./internal/crashtest -long -timeout 30m
package crashtest
