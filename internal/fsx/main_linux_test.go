package fsx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	rest := strings.Repeat(" 1", 18) + " 4711 8 9"
	for _, c := range []struct {
		in    string
		start uint64
		gone  bool
		ok    bool
	}{
		{"12 (sh) S" + rest, 4711, false, true},
		{"12 (a) Z (b c) R" + rest, 4711, false, true},
		{"12 (sh) Z" + rest, 0, true, true},
		{"12 (sh) X" + rest, 0, true, true},
		{"12 (sh S 1 2", 0, false, false},
		{"12 (sh) S 1 2 3", 0, false, false},
		{"", 0, false, false},
	} {
		start, gone, ok := parseStat([]byte(c.in))
		if start != c.start || gone != c.gone || ok != c.ok {
			t.Errorf("%q: %d %v %v", c.in, start, gone, ok)
		}
	}
}

func platformHelper(mode string, args []string) error {
	if mode != "fulldisk" {
		return fmt.Errorf("no helper %q", mode)
	}
	return onFullDisk(args[0])
}

// onFullDisk runs in a mount namespace of its own.
func onFullDisk(dir string) error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	at := func(name string) string { return filepath.Join(dir, name) }
	big := make([]byte, 200_000)
	if err := errors.Join(Publish(at("old"), []byte("old\n")), Append(at("log"), []byte("old\n"), true)); err != nil {
		return err
	}
	filler, err := os.Create(at("filler"))
	if err != nil {
		return err
	}
	filler.Write(big)
	filler.Close()
	l, ok, err := TryAcquire(at("x.lock"))
	if !ok || err != nil {
		return fmt.Errorf("a lock needs no room: %v", err)
	}
	defer l.Unlock()
	for name, f := range map[string]func() error{
		"Publish":      func() error { return Publish(at("new"), []byte("new\n")) },
		"Replace":      func() error { return Replace(at("old"), []byte("new\n")) },
		"ReplaceParts": func() error { return ReplaceParts(at("old"), [][]byte{big, big}) },
		"ReplaceHint":  func() error { return ReplaceHint(at("old"), [][]byte{[]byte("new\n")}) },
		"Append":       func() error { return Append(at("log"), big[:8192], true) },
		"Append new":   func() error { return Append(at("new"), []byte("new\n"), true) },
	} {
		if err := f(); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%s on a full disk: %v", name, err)
		}
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != 4 {
			return fmt.Errorf("%s left something: %v %v", name, names, err)
		}
		if b, err := os.ReadFile(at("old")); err != nil || string(b) != "old\n" {
			return fmt.Errorf("%s: old content is %q %v", name, b, err)
		}
	}
	if err := os.Remove(at("filler")); err != nil {
		return err
	}
	if err := errors.Join(Publish(at("new"), []byte("new\n")), Append(at("log"), []byte("new\n"), true)); err != nil {
		return fmt.Errorf("with room again: %v", err)
	}
	b, err := os.ReadFile(at("log"))
	if err != nil || !strings.HasPrefix(string(b), "old\n") || !strings.HasSuffix(string(b), "\nnew\n") {
		return fmt.Errorf("the log is %.60q %v", b, err)
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	cmd := command0(t, "fulldisk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "operation not permitted") {
		t.Skip("may not mount")
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
