package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// machine is where the figures come from, as far as it matters to them.
type machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Cores      int    `json:"cores"`
	Kernel     string `json:"kernel"`
	FileSystem string `json:"fileSystem"` // of the temporary directory
	Go         string `json:"go"`
}

func machineOf(dir string) machine {
	m := machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		Kernel: "unknown", FileSystem: "unknown", Go: runtime.Version(),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil {
		m.FileSystem = fileSystem(&st)
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s/%s, %d cores, kernel %s, %s, %s", m.OS, m.Arch, m.Cores, m.Kernel, m.FileSystem, m.Go)
}
