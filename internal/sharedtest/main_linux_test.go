package sharedtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/gobuild"
	"github.com/seed6990a682/teams/internal/sharedfs"
)

var (
	long    = flag.Bool("long", false, "run everything in full")
	stopped = flag.Duration("stopped", 0, "how long the file system stands still (3s, with -long 20s)")
)

// teamsBin is the built command.
var teamsBin string

// volume is the file system that the hosts share; nil when there is none.
var volume *sharedfs.Volume

// whyLocal is why there is none.
var whyLocal error

// The first thread stays what it is: it would go on after a goroutine that became
// a host on it has ended, and speak for the process.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	if err := canBeHosts(); err != nil {
		fmt.Printf("internal/sharedtest: skipped, processes cannot be given another host name and boot id here: %v\n", err)
		return 0
	}
	dir, err := os.MkdirTemp("", "teams-shared-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	teamsBin = filepath.Join(dir, "teams")
	if err := gobuild.Build(context.Background(), gobuild.Teams, teamsBin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if whyLocal = sharedfs.Available(); whyLocal == nil {
		if volume, err = sharedfs.Start(filepath.Join(dir, "volume")); err != nil {
			volume, whyLocal = nil, err
		}
	}
	if volume == nil {
		fmt.Printf("internal/sharedtest: on a local directory that counts as shared, since there is no MooseFS: %v\n", whyLocal)
	}
	defer func() {
		if volume == nil {
			return
		}
		if err := volume.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// canBeHosts tries what threads of a host do.
func canBeHosts() error {
	done := make(chan error)
	go func() { done <- becomeHost("probe") }()
	return <-done
}

// needVolume skips a test that a local directory cannot stand in for.
func needVolume(t *testing.T) {
	t.Helper()
	if volume == nil {
		t.Skipf("needs a file system that is shared: %v", whyLocal)
	}
}

// becomeHost gives the calling thread, and what is started from it, a host name
// and a boot id of its own. The goroutine must not end before all of that was
// started, and the thread ends with it.
func becomeHost(name string) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("sethostname: %w", err)
	}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil || unix.ByteSliceToString(uts.Nodename[:]) != name {
		return errors.Join(errors.New("the name did not stay"), err)
	}
	return otherBoot(name)
}

// otherBoot puts another boot id in the place of this machine's, in a mount
// namespace of the thread.
func otherBoot(name string) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	f, err := os.CreateTemp("", "teams-boot-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%x-boot-of-%s\n", os.Getpid(), name); err != nil {
		return err
	}
	if err := unix.Mount(f.Name(), "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// size is how much is done: n, or with -long all of it.
func size(n, all int) int {
	if *long {
		return all
	}
	return n
}

func lines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
}
