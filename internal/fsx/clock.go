package fsx

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	nowSeam    atomic.Pointer[func() time.Time]
	bootSeam   atomic.Pointer[func() (time.Duration, error)]
	bootIDSeam atomic.Pointer[string]
	bootIDOnce sync.Once
	bootID     string
)

// Now returns the time of the wall clock, which may jump either way.
func Now() time.Time {
	if f := nowSeam.Load(); f != nil {
		return (*f)()
	}
	return time.Now()
}

// SetNow puts f in the place of the wall clock, for tests.
func SetNow(f func() time.Time) (restore func()) {
	p := &f
	if f == nil {
		p = nil
	}
	old := nowSeam.Swap(p)
	return func() { nowSeam.Store(old) }
}

// BootClock returns the time since the machine was started, or since another
// fixed point of the same boot. It never jumps and counts the time that the
// machine was suspended. Two values compare only if BootID is the same.
func BootClock() (time.Duration, error) {
	if f := bootSeam.Load(); f != nil {
		return (*f)()
	}
	return bootClock()
}

// SetBootClock puts f in the place of the boot clock, for tests.
func SetBootClock(f func() (time.Duration, error)) (restore func()) {
	p := &f
	if f == nil {
		p = nil
	}
	old := bootSeam.Swap(p)
	return func() { bootSeam.Store(old) }
}

// BootID returns a text that is another one after each start of the machine,
// "" where there is none. It is read once per process.
func BootID() string {
	if id := bootIDSeam.Load(); id != nil {
		return *id
	}
	bootIDOnce.Do(func() { bootID = readBootID() })
	return bootID
}

// SetBootID puts id in the place of the boot id, for tests.
func SetBootID(id string) (restore func()) {
	old := bootIDSeam.Swap(&id)
	return func() { bootIDSeam.Store(old) }
}

// ClockAhead measures how far the wall clock of this machine is ahead of the one
// that dates files in dir, in ms: on a file system that several machines share
// that may be the server's. It makes a file there for a moment.
func ClockAhead(dir string) (ms int64, err error) {
	f, err := os.CreateTemp(dir, ".clock-*")
	if err != nil {
		return 0, pathErr("create", dir, err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	began := Now()
	if _, err = f.WriteString("\n"); err == nil {
		err = f.Sync()
	}
	ended := Now()
	if err != nil {
		return 0, pathErr("write", dir, err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, pathErr("stat", dir, err)
	}
	switch at := info.ModTime(); {
	case at.Before(began):
		// Times may be cut to whole seconds, or to the tick of the system.
		if ahead := began.Sub(at).Milliseconds(); ahead >= 1000 {
			return ahead, nil
		}
	case at.After(ended):
		return -at.Sub(ended).Milliseconds(), nil
	}
	return 0, nil
}
