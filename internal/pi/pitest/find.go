package pitest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/seed6990a682/teams/internal/gobuild"
)

// Version is the version of pi that the tests are written against; it is
// pinned in testdata/pi.
const Version = "0.74.2"

// RealPi returns the path of the real pi: TEAMS_TEST_PI, else the one that is
// installed in testdata/pi, else that of PATH. The test is skipped when there
// is none, or one of another version.
func RealPi(t testing.TB) string {
	t.Helper()
	path, version, err := realPi()
	switch {
	case err != nil:
		t.Skipf("no real pi: %v (npm ci --ignore-scripts in a copy of testdata/pi, and its node_modules/.bin/pi in TEAMS_TEST_PI)", err)
	case version != Version:
		t.Skipf("the real pi is %s, the tests are for %s", version, Version)
	}
	return path
}

var found struct {
	once          sync.Once
	path, version string
	err           error
}

func realPi() (path, version string, err error) {
	found.once.Do(func() { found.path, found.version, found.err = lookForPi() })
	return found.path, found.version, found.err
}

func lookForPi() (path, version string, err error) {
	path = os.Getenv("TEAMS_TEST_PI")
	if path == "" {
		path = filepath.Join(top(), "testdata", "pi", "node_modules", ".bin", "pi")
		if _, err := os.Stat(path); err != nil {
			if path, err = exec.LookPath("pi"); err != nil {
				return "", "", err
			}
		}
	}
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return path, "", fmt.Errorf("%s --version: %w: %s", path, err, out)
	}
	return path, strings.TrimSpace(string(out)), nil
}

// top is the directory of the module.
func top() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

var fake struct {
	once sync.Once
	path string
	err  error
}

// FakePi builds the test double of pi, once for a test process, and returns its
// path.
func FakePi(t testing.TB) string {
	t.Helper()
	fake.once.Do(func() {
		dir, err := os.MkdirTemp("", "fakepi")
		if err != nil {
			fake.err = err
			return
		}
		fake.path = filepath.Join(dir, "pi")
		fake.err = gobuild.Build(context.Background(), "github.com/seed6990a682/teams/internal/pi/pitest/fakepi", fake.path)
	})
	if fake.err != nil {
		t.Fatal(fake.err)
	}
	return fake.path
}

// Clean removes what FakePi has built; for TestMain.
func Clean() {
	if fake.path != "" {
		_ = os.RemoveAll(filepath.Dir(fake.path))
	}
}
