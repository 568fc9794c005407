package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree maps every file below a directory to what it is and holds. Lock files,
// which name whoever had them last, and temporary files are left out.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case strings.HasSuffix(name, ".lock"), strings.HasPrefix(filepath.Base(name), ".") && name != ".":
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			out[name] = "-> " + target
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil && info.Size() > 1<<24 {
				out[name] = "large: " + strconv.FormatInt(info.Size(), 10)
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[name] = string(data)
		default:
			out[name] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameTree reports what differs between two looks at a directory.
func sameTree(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for name, text := range before {
		if now, ok := after[name]; !ok {
			t.Errorf("%s: %s is gone", what, name)
		} else if now != text {
			t.Errorf("%s: %s changed\nbefore: %s\nafter: %s", what, name, clip(text), clip(now))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

// keepTree copies a directory; the returned function puts it back as it was.
func keepTree(t *testing.T, dir string) (restore func()) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		for _, err := range []error{os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(kept)), closeModes(dir)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// closeModes gives a copied directory the modes of a session.
func closeModes(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}
