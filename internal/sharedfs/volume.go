package sharedfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Volume is a running file system. A and B are where it is mounted.
type Volume struct {
	A, B string

	dir     string
	servers []*exec.Cmd // the master first
	mounts  []*exec.Cmd
}

// programs are what is needed, besides root.
var programs = [...]string{"mfsmaster", "mfschunkserver", "mfsmount", "fusermount3"}

// find finds a program in PATH or where the packages put it.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
}

// Available returns why there can be no volume here, nil when there can.
func Available() error {
	switch {
	case runtime.GOOS != "linux":
		return errors.New("a volume is mounted on Linux only")
	case os.Getuid() != 0:
		return errors.New("mounting a volume needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return fmt.Errorf("no FUSE: %w", err)
	}
	for _, name := range programs {
		if _, err := find(name); err != nil {
			return fmt.Errorf("%s is missing; the packages are moosefs-master, moosefs-chunkserver, moosefs-client and fuse3", name)
		}
	}
	return nil
}

// Start makes a volume whose files lie in dir, which is empty or not there.
func Start(dir string) (v *Volume, err error) {
	if err := Available(); err != nil {
		return nil, err
	}
	p, err := freePorts()
	if err != nil {
		return nil, err
	}
	if err := configure(dir, p); err != nil {
		return nil, err
	}
	v = &Volume{A: filepath.Join(dir, "a"), B: filepath.Join(dir, "b"), dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w\n%s", err, v.log()), v.Stop())
		}
	}()
	for _, s := range [...][2]string{{"mfsmaster", "master.cfg"}, {"mfschunkserver", "chunks.cfg"}} {
		cmd, err := v.start(s[0], "-f", "-c", filepath.Join(dir, s[1]), "start")
		if err != nil {
			return v, err
		}
		v.servers = append(v.servers, cmd)
	}
	for _, at := range []string{v.A, v.B} {
		if err := v.mount(at, p.client); err != nil {
			return v, err
		}
	}
	return v, v.awaitWritable()
}

// start starts a program in a process group of its own, so that a ^C for the
// test does not take the file system away from under it.
func (v *Volume) start(name string, args ...string) (*exec.Cmd, error) {
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(v.dir, "up.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// patience bounds what is waited for while the servers start.
const patience = 30 * time.Second

// mount mounts the volume; the master may not answer yet.
func (v *Volume) mount(at string, port int) error {
	for end := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
		cmd, err := v.start("mfsmount", at, "-f", "-o", fmt.Sprintf(
			"mfsmaster=127.0.0.1,mfsport=%d,mfsdirentrycacheto=0,mfserroronlostchunk,mfsnice=0,mfsallowoomkiller", port))
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for {
			if mounted(at) {
				v.mounts = append(v.mounts, cmd)
				return nil
			}
			select {
			case err = <-ended:
			case <-time.After(20 * time.Millisecond):
				if time.Now().Before(end) {
					continue
				}
				_ = cmd.Process.Kill()
				err = <-ended
			}
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("mount %s: %w", at, err)
		}
	}
}

func mounted(at string) bool {
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	return err == nil && strings.Contains(string(mounts), " "+at+" ")
}

// awaitWritable waits until the chunk server takes data.
func (v *Volume) awaitWritable() error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		probe := filepath.Join(v.A, ".probe")
		if err = os.WriteFile(probe, []byte("ok"), 0o600); err != nil {
			continue
		}
		var data []byte
		if data, err = os.ReadFile(filepath.Join(v.B, ".probe")); err == nil && string(data) == "ok" {
			return os.Remove(probe)
		}
	}
	return fmt.Errorf("the volume takes no data: %w", err)
}

// Freeze stops the servers until Thaw: every call on the volume then waits.
func (v *Volume) Freeze() error { return v.signal(syscall.SIGSTOP) }

// Thaw lets them go on.
func (v *Volume) Thaw() error { return v.signal(syscall.SIGCONT) }

func (v *Volume) signal(sig syscall.Signal) error {
	var problems []error
	for _, s := range v.servers {
		problems = append(problems, s.Process.Signal(sig))
	}
	return errors.Join(problems...)
}

// Stop unmounts the volume and ends its servers. Its directory stays.
func (v *Volume) Stop() error {
	_ = v.Thaw()
	var problems []error
	for _, at := range []string{v.A, v.B} {
		if !mounted(at) {
			continue
		}
		unmount, err := find("fusermount3")
		if err == nil {
			err = exec.Command(unmount, "-u", at).Run()
		}
		if err != nil {
			err = exec.Command("umount", "-l", at).Run()
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("unmount %s: %w", at, err))
		}
	}
	for _, cmd := range v.mounts {
		await(func() bool { return cmd.Process.Signal(syscall.Signal(0)) != nil }, func() { _ = cmd.Process.Kill() })
	}
	for i := len(v.servers) - 1; i >= 0; i-- {
		cmd := v.servers[i]
		_ = cmd.Process.Kill() // nobody wants the files
		_ = cmd.Wait()
	}
	return errors.Join(problems...)
}

// await waits until ok, and does otherwise when that takes long.
func await(ok func() bool, otherwise func()) {
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			otherwise()
			return
		}
	}
}

// log is what the programs said.
func (v *Volume) log() string {
	data, _ := os.ReadFile(filepath.Join(v.dir, "up.log"))
	return string(data[max(len(data)-4000, 0):])
}
