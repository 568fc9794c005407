package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed6990a682/teams/internal/gobuild"
)

var update = flag.Bool("update", false, "write anew what the documents take from the program")

// scratch is removed after the tests.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		var err error
		if scratch, err = os.MkdirTemp("", "teams-meta-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// top is the directory of the project.
func top(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// read returns a file of the project.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(top(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files lists the files of the project with their slash-separated paths.
func files(t testing.TB) []string {
	t.Helper()
	dir := top(t)
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if rel, _ := filepath.Rel(dir, path); !d.IsDir() && rel != ".git" {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// binary builds the program, once, and returns the directory that has it as
// teams.
var binary = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "bin")
	return dir, gobuild.Build(context.Background(), gobuild.Teams, filepath.Join(dir, "teams"))
})

// environ is the environment of a user who has nothing yet, with home and root
// below dir.
func environ(t testing.TB, dir string) []string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "TEAMS_"), strings.HasPrefix(name, "GIT_"), name == "PI_CODING_AGENT_DIR",
			name == "HOME", name == "PATH", name == "COLUMNS":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir, "COLUMNS=80",
		"TEAMS_ROOT="+filepath.Join(dir, "root"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=doc", "GIT_AUTHOR_EMAIL=doc@localhost", "GIT_COMMITTER_NAME=doc", "GIT_COMMITTER_EMAIL=doc@localhost",
		"GORACE=atexit_sleep_ms=0")
}

// ask runs teams with --json in an empty place and decodes its data.
func ask(t testing.TB, data any, args ...string) {
	t.Helper()
	dir := t.TempDir()
	env := environ(t, dir)
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "teams"), append(args, "--json")...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("teams %v: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	envelope := struct {
		Schema int
		OK     bool
		Data   any
	}{Data: data}
	if err := json.Unmarshal(out, &envelope); err != nil || !envelope.OK || envelope.Schema != 1 {
		t.Fatalf("teams %v: %v\n%s", args, err, out)
	}
}
