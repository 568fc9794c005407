package fsx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestFileSystemOf(t *testing.T) {
	dir := t.TempDir()
	a, err := FileSystemOf(dir)
	if err != nil || a.Type == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if b, err := FileSystemOf(filepath.Join(dir, "not", "there")); err != nil || a != b {
		t.Errorf("of a path that is not there: %+v, %v", b, err)
	}
	write(t, filepath.Join(dir, "file"), "")
	if b, err := FileSystemOf(filepath.Join(dir, "file", "below")); err != nil || a != b {
		t.Errorf("below a file: %+v, %v", b, err)
	}
	if p, err := FileSystemOf("/proc"); err != nil || p.Network {
		t.Errorf("/proc: %+v, %v", p, err)
	}
	for magic, want := range map[int64]FileSystem{
		unix.NFS_SUPER_MAGIC: {"nfs", true}, unix.CIFS_SUPER_MAGIC: {"cifs", true}, unix.CEPH_SUPER_MAGIC: {"ceph", true},
		unix.V9FS_MAGIC: {"9p", false}, unix.BTRFS_SUPER_MAGIC: {"btrfs", false}, 0x1234: {"0x1234", false},
	} {
		if got := fileSystem(dir, &unix.Statfs_t{Type: magic}); got != want {
			t.Errorf("%x is %+v, want %+v", magic, got, want)
		}
	}
}

func TestTypeOfMount(t *testing.T) {
	mounts := []byte(`22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 22 0:39 / /mnt/a rw,nosuid - fuse mfs\043127.0.0.1:29421 rw,user_id=0
41 22 0:40 / /mnt/b rw,nosuid shared:3 - fuse.gocryptfs /home/x rw
42 22 0:41 / /mnt/c rw - fuse sshfs rw
43 22 0:42 / /mnt/d rw - fuse Odd\040Name#x rw
short
`)
	for minor, want := range map[uint32]string{39: "fuse.mfs", 40: "fuse.gocryptfs", 41: "fuse", 42: "fuse", 99: "fuse"} {
		if got := typeOfMount(mounts, unix.Mkdev(0, minor)); got != want {
			t.Errorf("0:%d is %q, want %q", minor, got, want)
		}
	}
	if !localFUSE("fuse.gocryptfs") || localFUSE("fuse.mfs") || localFUSE("fuse") {
		t.Error("localFUSE")
	}
}

// Where hosts share their files a boot id of another start proves nothing unless
// it is known to be one of this machine.
func TestRebootedOnShared(t *testing.T) {
	p, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	p.BootID = "before"
	want(t, "alone", p, Dead)
	SetSharedMode(true)
	defer SetSharedMode(false)
	want(t, "shared, nothing known", p, Unknown)
	restore := SetEarlierBoot(func(id string) bool { return id == "before" })
	defer restore()
	want(t, "shared, an earlier start", p, Dead)
	p.BootID = "elsewhere"
	want(t, "shared, another machine of the name", p, Unknown)
	if p.BootID = ""; p.Rebooted() {
		t.Error("rebooted without a boot id")
	}
}

func TestClockAhead(t *testing.T) {
	dir := t.TempDir()
	if ms, err := ClockAhead(dir); err != nil || ms != 0 {
		t.Errorf("on one machine: %d, %v", ms, err)
	}
	restore := SetNow(func() time.Time { return time.Now().Add(time.Hour) })
	if ms, err := ClockAhead(dir); err != nil || ms < 3_590_000 || ms > 3_610_000 {
		t.Errorf("an hour ahead: %d, %v", ms, err)
	}
	restore()
	restore = SetNow(func() time.Time { return time.Now().Add(-time.Hour) })
	if ms, err := ClockAhead(dir); err != nil || ms > -3_590_000 || ms < -3_610_000 {
		t.Errorf("an hour behind: %d, %v", ms, err)
	}
	restore()
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if _, err := ClockAhead(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// A file system that stands still for longer than the timeout is no reason to
// give up as soon as it goes on.
func TestAcquireAfterStall(t *testing.T) {
	SetSharedMode(true)
	defer SetSharedMode(false)
	path := filepath.Join(t.TempDir(), "l")
	l, ok, err := TryAcquire(path)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	tries := 0
	restore := SetFault(func(op Op, p string) error {
		if op == OpFlock && p == path {
			if tries++; tries == 2 {
				time.Sleep(1200 * time.Millisecond) // the stall; the holder goes on after it
				l.Unlock()
			}
		}
		return nil
	})
	defer restore()
	within(t, "Acquire", func() {
		got, err := Acquire(context.Background(), path, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		got.Unlock()
	})
	restore()
	held, _, err := TryAcquire(path)
	if err != nil || held == nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	within(t, "Acquire", func() {
		if _, err := Acquire(context.Background(), path, time.Second); errs.CodeOf(err) != errs.Busy {
			t.Errorf("of a lock that stays held: %v", err)
		}
	})
}
