package herdr

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// maxSunPath is how long the path in a socket address may be on every system
// that we run on: macOS has 104 bytes with the final zero, Linux 108.
const maxSunPath = 103

// dial connects to the Unix socket at path. The file it returns obeys deadlines
// and is closed by its caller. A server that has no room for one more
// connection is tried again until deadline, as is an interrupted call.
func dial(ctx context.Context, path string, deadline time.Time) (*os.File, error) {
	addr, done, err := sockaddr(path)
	if err != nil {
		return nil, err
	}
	defer done()
	for {
		f, err := connect(path, addr)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
			return nil, err
		}
		pause := time.NewTimer(min(5*time.Millisecond, max(time.Until(deadline), 0)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-pause.C:
		}
		if !time.Now().Before(deadline) {
			return nil, os.ErrDeadlineExceeded
		}
	}
}

// connect makes one attempt without blocking.
func connect(path string, addr syscall.Sockaddr) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("setnonblock", err)
	}
	// Where connecting goes on in the background the first write waits for it.
	if err := syscall.Connect(fd, addr); err != nil && err != syscall.EINPROGRESS {
		syscall.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// sockaddr is the address of the socket at path. A path that is too long for one
// is reached through its directory, where the system can do that. done is called
// once the address is not needed any more.
func sockaddr(path string) (addr syscall.Sockaddr, done func(), err error) {
	if len(path) <= maxSunPath {
		return &syscall.SockaddrUnix{Name: path}, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path))
	if _, err := os.Stat(short); err != nil || len(short) > maxSunPath {
		dir.Close()
		return nil, nil, &os.PathError{Op: "connect", Path: path, Err: syscall.ENAMETOOLONG}
	}
	return &syscall.SockaddrUnix{Name: short}, func() { dir.Close() }, nil
}
