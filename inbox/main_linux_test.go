package inbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func platformHelper(mode string, args []string) error {
	if mode != "fulldisk" {
		return fmt.Errorf("no helper %q", mode)
	}
	return onFullDisk(args[0])
}

// onFullDisk runs in a mount namespace of its own.
func onFullDisk(root string) error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	defer syscall.Unmount(root, syscall.MNT_DETACH)
	b := at(root)
	if err := b.Create(); err != nil {
		return err
	}
	if err := b.Publish(message("1", "bob", "early")); err != nil {
		return err
	}
	big := message("2", "bob", strings.Repeat("x", 200_000))
	if err := b.Publish(big); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "new/2.md") {
		return fmt.Errorf("publish on a full disk: %v", err)
	}
	filler := filepath.Join(root, "filler")
	os.WriteFile(filler, make([]byte, 200_000), 0o600)
	for name, f := range map[string]func() error{
		"publish": func() error { return b.Publish(message("3", "bob", "late")) },
		"once": func() error {
			_, _, err := b.PublishOnce(filepath.Join(root, "noticed"), "k", message("4", "bob", "once"))
			return err
		},
	} {
		if err := f(); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%s on a full disk: %v", name, err)
		}
	}
	entries, err := os.ReadDir(b.sub(false))
	if err != nil || len(entries) != 1 {
		return fmt.Errorf("something was left: %v %v", entries, err)
	}
	// Reading and marking need no room.
	n, problems, err := b.Receive(Receiving{Show: func(*Message) error { return nil }})
	if n != 1 || len(problems) > 0 || err != nil {
		return fmt.Errorf("receive on a full disk: %d %v %v", n, problems, err)
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	id, first, err := b.PublishOnce(filepath.Join(root, "noticed"), "k", message("5", "bob", "once"))
	if err != nil || !first || id != "5" {
		return fmt.Errorf("with room again: %s %v %v", id, first, err)
	}
	return b.Publish(message("3", "bob", "late"))
}

func TestFullDisk(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, t.TempDir())
	cmd.Env = append(os.Environ(), "INBOX_HELPER=fulldisk")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "operation not permitted") {
		t.Skip("may not mount")
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
