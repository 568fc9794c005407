package gobuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBuild(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "teams")
	if err := Build(t.Context(), Teams, bin); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "version").Output(); err != nil || !strings.HasPrefix(string(out), "teams ") {
		t.Errorf("%v: %s", err, out)
	}
	if err := Build(t.Context(), Teams+"/nothing", bin); err == nil || !strings.Contains(err.Error(), "cmd/teams/nothing") {
		t.Errorf("%v", err)
	}
}

// A result that go test has kept is not used when a program has changed that the
// test builds, though the test does not import it.
func TestChangeIsSeen(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// What has changed in the last seconds is never kept.
		then := mustStat(t, path).ModTime().Add(-10 * time.Minute)
		if strings.Contains(text, "two") {
			then = then.Add(time.Minute)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile("gobuild.go")
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	write("prog/main.go", "package main\n\nfunc main() { println(\"one\") }\n")
	write("gobuild/gobuild.go", string(source))
	write("user/user_test.go", `package user

import (
	"context"
	"path/filepath"
	"testing"

	"example.org/m/gobuild"
)

func Test(t *testing.T) {
	if err := gobuild.Build(context.Background(), "example.org/m/prog", filepath.Join(t.TempDir(), "prog")); err != nil {
		t.Fatal(err)
	}
}
`)
	run := func() string {
		cmd := exec.Command("go", "test", "./user")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if run(); !strings.Contains(run(), "(cached)") {
		t.Error("the result is not kept")
	}
	write("prog/main.go", "package main\n\nfunc main() { println(\"two\") }\n")
	if out := run(); strings.Contains(out, "(cached)") {
		t.Errorf("the change is not seen: %s", out)
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi
}
