package fsboard

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestModes: directories are 0700 and files 0600, whatever the umask.
func TestModes(t *testing.T) {
	ctx := context.Background()
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		b := openTest(t, Options{Gates: failing(1)})
		old := syscall.Umask(mask)
		func() {
			defer syscall.Umask(old)
			mustAdd(t, b, NewTask{Subject: "1", Verify: "false"}, NewTask{Subject: "2"}, NewTask{Subject: "3"})
			b.o.HarnessLive = live
			mustClaim(t, b, "t_1", "ann")
			mustClaim(t, b, "t_3", "bob")
			s := submission("t_3", "bob")
			s.NoWait = true
			if _, err := b.Submit(ctx, s); err != nil {
				t.Fatal(err)
			}
			b.o.HarnessLive = func() bool { return false }
			mustSubmit(t, b, "t_1", "ann")
			if _, err := b.Cancel(ctx, "t_2", "", false); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Collect(ctx, 0, false); err != nil {
				t.Fatal(err)
			}
		}()
		if err := filepath.WalkDir(b.o.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has mode %04o", mask, path, info.Mode().Perm())
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		wantSound(t, b)
	}
}

// TestFixModes takes away the access of others, and nothing else.
func TestFixModes(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 1)
	for path, mode := range map[string]fs.FileMode{b.Path(): 0o644, b.path("claims"): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := b.Check()
	if err != nil || len(findings) != 2 || findings[0].Code != "open_mode" || !findings[0].Fixable {
		t.Fatalf("%+v, %v", findings, err)
	}
	before := readFile(t, b.Path())
	if err := b.Fix(ctx); err != nil {
		t.Fatal(err)
	}
	if findings, err := b.Check(); err != nil || len(findings) != 0 {
		t.Fatalf("%+v, %v", findings, err)
	}
	if string(readFile(t, b.Path())) != string(before) {
		t.Error("the board was written")
	}
}

// TestSymlinkedDirectories below the root are refused, and nothing is followed
// out of the session.
func TestSymlinkedDirectories(t *testing.T) {
	ctx := context.Background()
	for _, dir := range []string{"", "claims", "submissions", "gates", "rejected"} {
		b := openTest(t, Options{})
		addN(t, b, 1)
		outside := filepath.Join(b.o.Root, "outside")
		if err := os.Mkdir(outside, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(b.path(dir), filepath.Join(outside, "moved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "moved"), b.path(dir)); err != nil {
			t.Fatal(err)
		}
		before := tree(t, outside)
		if _, err := b.Claim(ctx, request("t_1", "ann")); err == nil {
			t.Errorf("%q: a claim was published through a link", dir)
		}
		if _, err := b.Add(ctx, NewTask{Subject: "x"}); err == nil {
			t.Errorf("%q: a task was added through a link", dir)
		}
		if after := tree(t, outside); after != before {
			t.Errorf("%q: something was written outside:\n%s", dir, after)
		}
		if f, err := b.Check(); err != nil || len(f) == 0 || f[0].Severity != SeverityError {
			t.Errorf("%q: %v, %v", dir, f, err)
		}
	}
}
