package fsx

import "golang.org/x/sys/unix"

// osRandom fills b with random bytes of the kernel.
func osRandom(b []byte) bool {
	fd, err := unix.Open("/dev/urandom", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, b)
	return err == nil && n == len(b)
}
