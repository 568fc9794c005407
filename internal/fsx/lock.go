package fsx

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Lock is an exclusive lock that is held. The kernel frees it when the process
// ends, however it ends; a Lock that is merely forgotten stays held.
type Lock struct {
	path string
	fl   *flock.Flock
	once sync.Once
	err  error

	name *lateName // of the holder; nil when it is written already, or never
}

// Path returns the path of the lock file.
func (l *Lock) Path() string { return l.path }

// Unlock frees the lock. The file stays. Further calls do nothing and return
// what the first one did.
func (l *Lock) Unlock() error {
	l.once.Do(func() {
		held.remove(l)
		l.name.end()
		l.err = pathErr("unlock", l.path, unlock(l.fl))
	})
	return l.err
}

// unlock frees a flock. On a network file system that can be interrupted too,
// and the lock would then stay held for as long as the process lives.
func unlock(fl *flock.Flock) error {
	for {
		if err := fl.Unlock(); bare(err) != syscall.EINTR {
			return err
		}
	}
}

// held refers to every lock that is held: were a forgotten one collected, the
// finalizer of its file would free it silently.
var held locks

type locks struct {
	mu  sync.Mutex
	set map[*Lock]struct{}
}

func (h *locks) add(l *Lock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.set == nil {
		h.set = make(map[*Lock]struct{})
	}
	h.set[l] = struct{}{}
}

func (h *locks) remove(l *Lock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.set, l)
}

var sharedMode atomic.Bool

// SetSharedMode says whether the state lies on a file system that several
// machines share. There a blocking flock may wait for ever and changes made
// elsewhere raise no events: Acquire tries again after some ms instead,
// and new Watchers poll. A boot id proves less there, see [SetEarlierBoot].
func SetSharedMode(on bool) { sharedMode.Store(on) }

// SharedMode reports what SetSharedMode was told last.
func SharedMode() bool { return sharedMode.Load() }

// Acquire takes the lock file path, created with mode 0600 if it is missing,
// and waits at most timeout for it, or until ctx ends when timeout is zero or
// less. Waiting costs nothing and is fair: the kernel queues the waiters.
//
// A lock that is not free in time is an *errs.Error with code busy that names
// the holder; Details has it under "holder". If ctx ends first the code is
// interrupted or timed_out, and ctx.Err() is in the chain.
//
// Locks exclude each other within one process too. Nothing may be done
// unlocked when Acquire fails.
func Acquire(ctx context.Context, path string, timeout time.Duration) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, lockedOut(ctx, path)
	}
	var limited context.Context // ctx with the timeout, once one has to wait
	var began time.Time
	tries := 0
	for {
		fl, ok, err := tryFlock(path)
		if err == nil && !ok {
			if limited == nil {
				var cancel context.CancelFunc
				limited, cancel = withTimeout(ctx, timeout)
				defer cancel()
				began = time.Now()
			}
			if sharedMode.Load() {
				tries++
				pause(ctx, sharedPause(time.Since(began)))
				// A file system that stood still is no reason to give up when it goes
				// on: the time was not spent waiting for a holder.
				if limited.Err() != nil && ctx.Err() == nil && timeout >= time.Second && tries < sharedTries {
					continue
				}
			} else {
				if fl, ok, err = waitFlock(limited, path); bare(err) == syscall.ENOENT {
					continue // with its directory, or to be made again
				}
			}
		}
		if err != nil {
			return nil, lockErr(path, err)
		}
		if ok {
			l, err := settle(fl, path)
			if l != nil || err != nil {
				return l, err
			}
			// The file was replaced under us: again, at once.
		}
		if ctx.Err() != nil || limited != nil && limited.Err() != nil {
			return nil, lockedOut(ctx, path)
		}
	}
}

// sharedTries is how often a lock of a shared file system is tried for at least.
const sharedTries = 50

// sharedPause is the time between two tries. Nobody queues the waiters there, so
// whoever has waited for long tries more often than who has just come.
func sharedPause(waited time.Duration) time.Duration {
	switch {
	case waited < time.Second:
		return 10*time.Millisecond + rand.N(40*time.Millisecond)
	case waited < 3*time.Second:
		return 6*time.Millisecond + rand.N(18*time.Millisecond)
	}
	return 4*time.Millisecond + rand.N(8*time.Millisecond) // a try costs every host something
}

func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// TryAcquire takes the lock file path if it is free now. It answers false when
// somebody holds the lock; or, for an instant, when somebody looks at it with
// Held, or is given it after having stopped to wait.
func TryAcquire(path string) (*Lock, bool, error) {
	for {
		fl, ok, err := tryFlock(path)
		if err != nil {
			return nil, false, lockErr(path, err)
		}
		if !ok {
			return nil, false, nil
		}
		l, err := settle(fl, path)
		if l != nil || err != nil {
			return l, l != nil, err
		}
	}
}

// AcquireTenure is TryAcquire for a lock that is held for as long as something
// runs: it tries for up to patience (1 s is right) before it answers false, so
// that a look by Held is not taken for another one that runs.
func AcquireTenure(path string, patience time.Duration) (*Lock, bool, error) {
	end := time.Now().Add(patience)
	for {
		l, ok, err := TryAcquire(path)
		left := time.Until(end)
		if ok {
			l.name.now()
		}
		if ok || err != nil || left <= 0 {
			return l, ok, err
		}
		time.Sleep(min(left, time.Millisecond+rand.N(20*time.Millisecond)))
	}
}

// Held reports whether anybody, this process included, holds the lock file
// path. A missing file is held by nobody, and is not created.
//
// It looks by taking a shared lock for an instant, in which a TryAcquire
// elsewhere fails: whoever starts something long uses AcquireTenure.
func Held(path string) (bool, error) {
	fl := flock.New(path, flock.SetFlag(
		os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK))
	var ok bool
	err := call(OpFlock, path, func() (err error) {
		ok, err = fl.TryRLock()
		return err
	})
	switch {
	case bare(err) == syscall.ENOENT:
		return false, nil
	case err != nil:
		return false, lockErr(path, err)
	case !ok:
		return true, nil
	}
	defer unlock(fl)
	if fi, err := fl.Stat(); err == nil && !fi.Mode().IsRegular() {
		return false, notLockFile(path, fi)
	}
	return false, nil
}

// newFlock is a lock of its own for each acquisition: one that is held answers
// every further caller with success. O_NONBLOCK does not matter to flock(2), but
// to a fifo; and package os then spares four calls of fcntl(2) for each file.
func newFlock(path string, more int) *flock.Flock {
	return flock.New(path,
		flock.SetFlag(os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|more),
		flock.SetPermissions(fileMode))
}

func tryFlock(path string) (fl *flock.Flock, ok bool, err error) {
	fl = newFlock(path, os.O_CREATE)
	err = call(OpFlock, path, func() (err error) {
		ok, err = fl.TryLock()
		return err
	})
	return fl, ok && err == nil, err
}

// waiter is a goroutine that is blocked in flock(2), which cannot be cancelled.
type waiter struct {
	fl      *flock.Flock
	arrived chan error // what flock answered; not sent to once it is idle
}

// idle has the waiters, by path, whose callers gave up. The next caller takes
// over such a one: a process that keeps trying for a lock that is never freed
// would else lose a thread each time.
var idle struct {
	mu      sync.Mutex
	waiters map[string][]*waiter
}

// newWaiter returns a waiter for path, an idle one if there is any.
func newWaiter(path string) *waiter {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if ws := idle.waiters[path]; len(ws) > 0 {
		idle.waiters[path] = ws[1:]
		return ws[0]
	}
	// It does not make the file, which is there: its caller may have given up
	// before it opens it, and have removed the directory.
	w := &waiter{fl: newFlock(path, 0), arrived: make(chan error, 1)}
	go func() {
		err := call(OpFlock, path, w.fl.Lock)
		idle.mu.Lock()
		defer idle.mu.Unlock()
		if i := slices.Index(idle.waiters[path], w); i >= 0 {
			idle.waiters[path] = slices.Delete(idle.waiters[path], i, i+1)
			_ = unlock(w.fl) // too late
			return
		}
		w.arrived <- err
	}()
	return w
}

// abandon makes w idle, unless the lock has arrived in this very moment.
func (w *waiter) abandon(path string) bool {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if len(w.arrived) > 0 {
		return false
	}
	if idle.waiters == nil {
		idle.waiters = make(map[string][]*waiter)
	}
	idle.waiters[path] = append(idle.waiters[path], w)
	return true
}

// waitFlock waits for the lock. It answers false when ctx ended first; the lock
// is then given back the moment it arrives.
func waitFlock(ctx context.Context, path string) (*flock.Flock, bool, error) {
	w := newWaiter(path)
	var err error
	select {
	case err = <-w.arrived:
	case <-ctx.Done():
		if w.abandon(path) {
			return nil, false, nil
		}
		err = <-w.arrived
	}
	return w.fl, err == nil, err
}

// settle turns a flock that was just taken into a Lock: it checks that the
// path still names the locked file, and writes the holder into it. It returns
// nil, nil when the file was replaced, so that the lock excludes nobody.
func settle(fl *flock.Flock, path string) (*Lock, error) {
	ok, err := checkLocked(fl, path)
	if !ok || err != nil {
		_ = unlock(fl)
		return nil, err
	}
	l := &Lock{path: path, fl: fl}
	if sharedMode.Load() {
		l.name = nameLater(path, fl)
	}
	held.add(l)
	return l, nil
}

func checkLocked(fl *flock.Flock, path string) (bool, error) {
	locked, err := fl.Stat()
	if err != nil {
		return false, lockErr(path, err)
	}
	if !locked.Mode().IsRegular() {
		return false, notLockFile(path, locked)
	}
	if perm := locked.Mode().Perm(); perm&fileMode != fileMode {
		// A umask that takes even the owner's bits away locks out the next one.
		now, err := os.Lstat(path)
		if err == nil && os.SameFile(locked, now) {
			err = os.Chmod(path, fileMode)
		}
		if err != nil && !os.IsNotExist(err) {
			return false, lockErr(path, err)
		}
	}
	if sharedMode.Load() {
		var st unix.Stat_t
		switch err := lstat(path, &st); {
		case err == unix.ENOENT:
			return false, nil
		case err != nil:
			return false, lockErr(path, err)
		}
		return sameFile(locked, &st), nil
	}
	// The file is opened again for the holder, flock keeps its own to itself;
	// so one open serves for the check as well.
	fd, err := openFD(path, path, unix.O_WRONLY|unix.O_NONBLOCK)
	switch err {
	case nil:
	case unix.ENOENT, unix.ELOOP, unix.ENXIO, unix.EISDIR:
		return false, nil
	default:
		return false, lockErr(path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return false, lockErr(path, err)
	}
	if !sameFile(locked, &st) {
		return false, nil
	}
	writeHolder(fd, Now())
	return true, nil
}

// sameFile reports whether two looks were at one file.
func sameFile(a fs.FileInfo, b *unix.Stat_t) bool {
	sys, _ := a.Sys().(*syscall.Stat_t)
	return sys != nil && idOf(b) == fileID{uint64(sys.Dev), uint64(sys.Ino)}
}

func lockErr(path string, err error) error { return openErr("lock", path, err) }

func notLockFile(path string, fi fs.FileInfo) error {
	sys, _ := fi.Sys().(*syscall.Stat_t)
	kind := "device"
	if sys != nil {
		kind = kindOf(uint32(sys.Mode))
	}
	return irregular("lock", path, kind, "regular file")
}

// Is reports whether the file that the lock is on is the one that info is of.
func (l *Lock) Is(info fs.FileInfo) (bool, error) {
	locked, err := l.fl.Stat()
	if err != nil {
		return false, pathErr("stat", l.path, err)
	}
	return os.SameFile(locked, info), nil
}
