package fsx

import (
	"bytes"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// nameAfter is how long a lock of a shared file system is held before it names
// its holder.
const nameAfter = 250 * time.Millisecond

// lateName writes the holder into a lock file that has been held for a while,
// and takes it out again at the end. To write the same few bytes again and again
// costs more than all else on a file system that several machines share; and
// where its servers fail in the middle of it, MooseFS keeps everybody from that
// file for two minutes.
type lateName struct {
	path  string
	fl    *flock.Flock
	since time.Time
	timer *time.Timer

	mu      sync.Mutex
	ended   bool
	written bool
}

func nameLater(path string, fl *flock.Flock) *lateName {
	n := &lateName{path: path, fl: fl, since: Now()}
	n.timer = time.AfterFunc(nameAfter, n.now)
	return n
}

// now writes the holder, unless the lock was let go or names it already.
func (n *lateName) now() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended && !n.written {
		n.written = n.write(func(fd int) { writeHolder(fd, n.since) })
	}
}

// end is called before the lock is let go.
func (n *lateName) end() {
	if n == nil {
		return
	}
	n.timer.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	if n.written {
		blank := append(bytes.Repeat([]byte{' '}, holderSize-1), '\n')
		n.write(func(fd int) { writeLine(fd, blank) })
	}
}

// write writes into the lock file, if it is still the one that is locked.
func (n *lateName) write(f func(fd int)) bool {
	fd, err := openFD(n.path, n.path, unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	locked, err := n.fl.Stat()
	if err != nil || fstat(fd, &st) != nil || !sameFile(locked, &st) {
		return false
	}
	f(fd)
	return true
}
