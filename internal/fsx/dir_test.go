package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestMkdirAll(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "x", "root")
	path := filepath.Join(root, "a", "b", "c")
	var synced []string
	restore := SetFault(func(op Op, p string) error {
		if op == OpFsyncDir {
			synced = append(synced, p)
		}
		return nil
	})
	err := MkdirAll(root, path)
	restore()
	if err != nil {
		t.Fatal(err)
	}
	wantSynced := []string{base, filepath.Join(base, "x"), root, filepath.Join(root, "a"), filepath.Join(root, "a", "b")}
	if !reflect.DeepEqual(synced, wantSynced) {
		t.Errorf("fsynced %q, want %q", synced, wantSynced)
	}
	// Existing directories are left alone, and cost no fsync.
	if err := os.Chmod(filepath.Join(root, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	restore = SetFault(func(op Op, p string) error {
		t.Errorf("%s %s although all is there", op, p)
		return nil
	})
	for _, p := range []string{root, path, path + "/", path + "/../c"} {
		if err := MkdirAll(root, p); err != nil {
			t.Error(err)
		}
	}
	restore()
	if fi, _ := os.Stat(filepath.Join(root, "a")); fi.Mode().Perm() != 0o755 {
		t.Errorf("mode changed to %v", fi.Mode())
	}

	for _, p := range []string{base, filepath.Join(root, ".."), root + "2", "/", "rel"} {
		if err := MkdirAll(root, p); errs.CodeOf(err) != errs.Usage {
			t.Errorf("MkdirAll(%s): %v", p, err)
		}
	}
	wantMissing(t, root+"2")
}

func TestMkdirAllThroughLinks(t *testing.T) {
	base := t.TempDir()
	real := filepath.Join(base, "real")
	outside := filepath.Join(base, "outside")
	for _, d := range []string{real, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(base, "root")
	for link, target := range map[string]string{
		root:                             real,
		filepath.Join(real, "out"):       outside,
		filepath.Join(real, "dangling"):  filepath.Join(outside, "none"),
		filepath.Join(base, "dangling"):  filepath.Join(base, "none"),
		filepath.Join(outside, "to-out"): outside,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(real, "file"), "")
	if err := MkdirAll(root, filepath.Join(root, "a")); err != nil {
		t.Errorf("the root may be a link: %v", err)
	}
	for _, p := range []string{"out", "out/x", "dangling", "dangling/x", "file", "file/x"} {
		err := MkdirAll(root, filepath.Join(root, p))
		if !errors.Is(err, ErrIrregular) || errs.CodeOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", p, err)
		}
	}
	if err := MkdirAll(filepath.Join(base, "dangling"), filepath.Join(base, "dangling", "x")); err == nil {
		t.Error("made a root behind a dangling link")
	}
	if err := MkdirAll(filepath.Join(real, "file"), filepath.Join(real, "file")); !errors.Is(err, ErrIrregular) {
		t.Errorf("root is a file: %v", err)
	}
	wantMissing(t, filepath.Join(base, "none"))
	if names, _ := List(outside); len(names) != 1 {
		t.Errorf("made something outside: %q", names)
	}
}

func TestMkdirAllFaults(t *testing.T) {
	for _, op := range []Op{OpMkdir, OpFsyncDir} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EINTR} {
			root := t.TempDir()
			path := filepath.Join(root, "a", "b")
			once := true
			restore := SetFault(func(o Op, _ string) error {
				if o == op && once {
					once = false
					return errno
				}
				return nil
			})
			err := MkdirAll(root, path)
			restore()
			if errno == syscall.EINTR && err != nil || errno != syscall.EINTR && !errors.Is(err, errno) {
				t.Errorf("%s %v: %v", op, errno, err)
			}
			if err := MkdirAll(root, path); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMkdirAllRace(t *testing.T) {
	for round := range 5 {
		root := filepath.Join(t.TempDir(), "r", fmt.Sprint(round))
		path := filepath.Join(root, "a", "b", "c", "d", "e")
		var peers []*peer
		for range 6 {
			peers = append(peers, start(t, "mkdir", root, path))
		}
		for _, p := range peers {
			p.in.Close()
		}
		for _, p := range peers {
			p.finish(t)
		}
		if err := CheckDir(path); err != nil {
			t.Error(err)
		}
	}
}

// The other process comes between the look and the mkdir.
func TestMkdirAllOvertaken(t *testing.T) {
	for _, what := range []string{"directory", "link", "file"} {
		root := t.TempDir()
		path := filepath.Join(root, "a")
		restore := SetFault(func(op Op, p string) error {
			if op == OpMkdir {
				switch what {
				case "directory":
					os.Mkdir(p, 0o700)
				case "link":
					os.Symlink("/", p)
				case "file":
					write(t, p, "")
				}
			}
			return nil
		})
		err := MkdirAll(root, path)
		restore()
		if (what == "directory") != (err == nil) || err != nil && !errors.Is(err, ErrIrregular) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	if err := CheckDir(dir); err != nil {
		t.Error(err)
	}
	if err := CheckDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	if names, err := List(filepath.Join(dir, "none")); names != nil || err != nil {
		t.Errorf("missing: %q %v", names, err)
	}
	if names, err := List(dir); len(names) != 0 || err != nil {
		t.Errorf("empty: %q %v", names, err)
	}
	var want []string
	for i := range 500 {
		name := fmt.Sprintf("%03d", (i*7)%500)
		want = append(want, fmt.Sprintf("%03d", i))
		write(t, filepath.Join(dir, name), "")
	}
	for _, name := range []string{".hidden", ".x.0123456789abcdef", "..."} {
		write(t, filepath.Join(dir, name), "")
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := List(dir)
	if err != nil || !reflect.DeepEqual(names, append(want, "sub")) {
		t.Errorf("%d names, %v", len(names), err)
	}
	for kind, path := range irregulars(t) {
		if kind == "dir" || kind == "dangling" {
			continue
		}
		within(t, "List of "+kind, func() {
			if _, err := List(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("List of %s: %v", kind, err)
			}
		})
	}
	for _, op := range []Op{OpOpen, OpRead} {
		restore := SetFault(func(o Op, _ string) error {
			if o == op {
				return syscall.EACCES
			}
			return nil
		})
		if names, err := List(dir); names != nil || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("unreadable: %q %v", names, err)
		}
		restore()
	}
}
