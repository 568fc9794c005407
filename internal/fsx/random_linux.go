package fsx

import "golang.org/x/sys/unix"

// osRandom fills b with random bytes of the kernel.
func osRandom(b []byte) bool {
	for {
		n, err := unix.Getrandom(b, 0)
		if err != unix.EINTR {
			return err == nil && n == len(b)
		}
	}
}
