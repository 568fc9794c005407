package fsx

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// within fails the test when f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
	}
}

// irregulars makes one of each kind of thing that is no regular file.
func irregulars(t *testing.T) map[string]string {
	t.Helper()
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "fsx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("target"), "outside\n")
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, err := range []error{
		os.Symlink(at("target"), at("link")),
		os.Symlink(at("nothing"), at("dangling")),
		os.Symlink(at("circle"), at("circle")),
		syscall.Mkfifo(at("fifo"), 0o600),
		os.Mkdir(at("dir"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m := map[string]string{}
	for _, name := range []string{"link", "dangling", "circle", "fifo", "dir", "socket"} {
		m[name] = at(name)
	}
	return m
}

func TestIrregularRefused(t *testing.T) {
	ops := map[string]func(string) error{
		"ReadFile":   func(p string) error { _, err := ReadFile(p, 100); return err },
		"ReadHead":   func(p string) error { _, err := ReadHead(p, 10); return err },
		"ReadTail":   func(p string) error { _, _, err := ReadTail(p, 10); return err },
		"ReadHolder": func(p string) error { _, err := ReadHolder(p); return err },
		"Replace":    func(p string) error { return Replace(p, []byte("x")) },
		"Hint":       func(p string) error { return ReplaceHint(p, nil) },
		"Append":     func(p string) error { return Append(p, []byte("x"), true) },
		"SyncFile": func(p string) error {
			if strings.HasSuffix(p, "/dir") || strings.HasSuffix(p, "/fifo") {
				return irregular("", p, "", "") // harmless, whatever it answers
			}
			return SyncFile(p)
		},
		"TryAcquire": func(p string) error { _, _, err := TryAcquire(p); return err },
		"Acquire":    func(p string) error { _, err := Acquire(t.Context(), p, time.Second); return err },
		"Held":       func(p string) error { _, err := Held(p); return err },
		"CheckDir": func(p string) error {
			if strings.HasSuffix(p, "/dir") {
				return irregular("", p, "", "")
			}
			if strings.HasSuffix(p, "/link") {
				p += "/"
			}
			return CheckDir(p)
		},
	}
	things := irregulars(t)
	for name, op := range ops {
		for kind, path := range things {
			within(t, name+" of "+kind, func() {
				err := op(path)
				if !errors.Is(err, ErrIrregular) || errs.CodeOf(err) != errs.Corrupt {
					t.Errorf("%s of %s: %v", name, kind, err)
				} else if !strings.Contains(err.Error(), path) {
					t.Errorf("%s of %s does not name it: %v", name, kind, err)
				}
			})
		}
	}
	target := filepath.Join(filepath.Dir(things["link"]), "target")
	wantContent(t, target, "outside\n")
	wantMissing(t, filepath.Join(filepath.Dir(target), "nothing"))
	wantNoTemps(t, filepath.Dir(target))
	for kind, path := range things {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone: %v", kind, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	content := strings.Repeat("0123456789", 1000)
	write(t, path, content)
	size := int64(len(content))
	for _, limit := range []int64{size, size + 1, math.MaxInt64} {
		if b, err := ReadFile(path, limit); err != nil || string(b) != content {
			t.Errorf("limit %d: %d bytes, %v", limit, len(b), err)
		}
	}
	for _, limit := range []int64{size - 1, 0, -1, math.MinInt64} {
		_, err := ReadFile(path, limit)
		if !errors.Is(err, ErrTooLarge) || errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), path) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	write(t, path, "")
	if b, err := ReadFile(path, 0); err != nil || len(b) != 0 {
		t.Errorf("empty: %q %v", b, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ReadFile(filepath.Join(path, "below"), 1); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

// The file grows between the look at its size and the reading.
func TestReadFileGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, limit := range []int64{8, 9, 1000, 100_000} {
		write(t, path, "12345678")
		grow := []byte(strings.Repeat("x", 5000))
		restore := SetFault(func(op Op, _ string) error {
			if op == OpRead && grow != nil {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				f.Write(grow)
				grow = nil
			}
			return nil
		})
		b, err := ReadFile(path, limit)
		restore()
		if limit < 5008 {
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("limit %d: %d bytes, %v", limit, len(b), err)
			}
		} else if err != nil || len(b) != 5008 {
			t.Errorf("limit %d: %d bytes, %v", limit, len(b), err)
		}
	}
}

func TestReadHeadTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "0123456789")
	for n, want := range map[int]string{-1: "", 0: "", 3: "012", 10: "0123456789", 99: "0123456789"} {
		if b, err := ReadHead(path, n); err != nil || string(b) != want {
			t.Errorf("ReadHead(%d) = %q, %v", n, b, err)
		}
	}
	for n, want := range map[int64]string{-1: "", 0: "", 3: "789", 10: "0123456789", 99: "0123456789"} {
		if b, size, err := ReadTail(path, n); err != nil || string(b) != want || size != 10 {
			t.Errorf("ReadTail(%d) = %q, %d, %v", n, b, size, err)
		}
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, step := range []struct{ data, want string }{
		{"a\n", "a\n"},
		{"b\nc\n", "a\nb\nc\n"},
		{"torn", "a\nb\nc\ntorn"},
		{"d\n", "a\nb\nc\ntorn\nd\n"},
		{"", "a\nb\nc\ntorn\nd\n"},
	} {
		data := []byte(step.data)
		if err := Append(path, data, true); err != nil {
			t.Fatal(err)
		}
		if string(data) != step.data {
			t.Error("Append changed its argument")
		}
		wantContent(t, path, step.want)
	}
	if err := SyncFile(path); err != nil {
		t.Error(err)
	}
	if err := SyncFile(path + "x"); err != nil {
		t.Error(err)
	}
}

func TestReplaceParts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	line := bytes.Repeat([]byte("y"), 999)
	for _, n := range []int{0, 1, 2, 70, 1000} {
		parts := make([][]byte, n)
		for i := range parts {
			parts[i] = line
		}
		want := strings.Repeat(string(line), n)
		for _, replace := range []func(string, [][]byte) error{ReplaceParts, ReplaceHint} {
			if err := replace(path, parts); err != nil {
				t.Fatal(err)
			}
			wantContent(t, path, want)
			os.Remove(path)
		}
	}
	wantNoTemps(t, dir)
}

func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o177, 0o777} {
		root := filepath.Join(t.TempDir(), "new", "root")
		old := syscall.Umask(mask)
		dir := filepath.Join(root, "a", "b")
		err := errors.Join(
			MkdirAll(root, dir),
			Publish(filepath.Join(dir, "published"), []byte("x")),
			Replace(filepath.Join(dir, "replaced"), []byte("x")),
			Replace(filepath.Join(dir, "replaced"), []byte("y")),
			ReplaceHint(filepath.Join(dir, "hint"), nil),
			Append(filepath.Join(dir, "appended"), []byte("x\n"), false),
		)
		l, ok, lerr := TryAcquire(filepath.Join(dir, "x.lock"))
		syscall.Umask(old)
		if err != nil || lerr != nil || !ok {
			t.Fatalf("umask %03o: %v %v", mask, err, lerr)
		}
		l.Unlock()
		filepath.WalkDir(filepath.Dir(root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			fi, err := d.Info()
			if err != nil {
				t.Fatal(err)
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700 | fs.ModeDir
			}
			if got := fi.Mode() & (fs.ModePerm | fs.ModeDir); got != want {
				t.Errorf("umask %03o: %s is %v", mask, path, got)
			}
			return nil
		})
	}
}

func TestMove(t *testing.T) {
	for _, method := range []string{"rename", "link"} {
		t.Run(method, func(t *testing.T) {
			if method == "link" {
				defer SetFault(func(op Op, p string) error {
					if op == OpRename && !strings.HasSuffix(p, "dir") {
						return syscall.EINVAL // the file system knows no flags
					}
					return nil
				})()
			}
			things := irregulars(t)
			dir := filepath.Dir(things["link"])
			things["file"] = filepath.Join(dir, "target")
			taken := filepath.Join(dir, "taken")
			write(t, taken, "keep")
			for kind, src := range things {
				before, err := os.Lstat(src)
				if err != nil {
					t.Fatal(err)
				}
				if err := Move(src, taken); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), taken) {
					t.Errorf("%s onto a file: %v", kind, err)
				}
				if err := Move(src, things["dangling"]); kind != "dangling" && !errors.Is(err, fs.ErrExist) {
					t.Errorf("%s onto a link: %v", kind, err)
				}
				dst := filepath.Join(dir, "moved-"+kind)
				if err := Move(src, dst); err != nil {
					t.Errorf("%s: %v", kind, err)
					continue
				}
				wantMissing(t, src)
				after, err := os.Lstat(dst)
				if err != nil || !os.SameFile(before, after) {
					t.Errorf("%s became something else: %v", kind, err)
				}
				if err := Move(src, dst+"2"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), src) {
					t.Errorf("missing %s: %v", kind, err)
				}
				if err := Move(dst, src); err != nil { // for the next one
					t.Error(err)
				}
			}
			wantContent(t, taken, "keep")
			if err := Move(taken, taken); !errors.Is(err, fs.ErrExist) {
				t.Errorf("onto itself: %v", err)
			}
			wantContent(t, taken, "keep")
		})
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "")
	for range 2 {
		if err := Remove(path); err != nil {
			t.Error(err)
		}
		wantMissing(t, path)
	}
	if err := Remove(dir); err == nil {
		t.Error("removed a directory")
	}
}

func TestIsTemp(t *testing.T) {
	for name, want := range map[string]bool{
		".board.json.0123456789abcdef": true,
		".board.json1234567890123456":  true,
		".a.0123456789abcdef":          true,
		".board.json":                  false,
		".gitignore":                   false,
		".t_12":                        false,
		"board.json.0123456789abcdef":  false,
		".0123456789abcdef":            false,
		".":                            false,
		"..":                           false,
		"":                             false,
		".x.0123456789abcdeg":          false,
		".x.0123456789ABCDEF":          false,
	} {
		if IsTemp(name) != want {
			t.Errorf("IsTemp(%q) = %v", name, !want)
		}
	}
	for range 1000 {
		if name := tempName("d", "x.json"); !IsTemp(filepath.Base(name)) {
			t.Errorf("IsTemp does not know %q", name)
		}
	}
}
