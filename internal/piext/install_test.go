package piext_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/piext"
)

func install(t *testing.T, target piext.Target, want ...piext.State) []piext.File {
	t.Helper()
	files, err := piext.Install(target)
	if err != nil {
		t.Fatal(err)
	}
	var got []piext.State
	for _, f := range files {
		got = append(got, f.State)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the states are %v, not %v", got, want)
	}
	return files
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An earlier version of ours is replaced, and what somebody has changed is not.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	target := piext.Target{Dir: filepath.Join(dir, "agent"), Within: dir, Options: piext.Options{Binary: "/opt/one/teams"}}
	files := install(t, target, piext.Written, piext.Written)
	extension, skill := files[0].Path, files[1].Path
	if extension != filepath.Join(dir, "agent", "extensions", "teams.ts") || skill != filepath.Join(dir, "agent", "skills", "teams", "SKILL.md") {
		t.Fatalf("it wrote %v", files)
	}
	if got := text(t, extension); !strings.Contains(got, `INSTALLED_BINARY: string = "/opt/one/teams"`) || strings.Contains(got, "todo_write") {
		t.Errorf("the extension is not what was asked for")
	}
	if got := text(t, skill); !strings.HasPrefix(got, "---\nname: teams\ndescription: ") {
		t.Errorf("the skill begins with %.40q", got)
	}
	install(t, target, piext.Unchanged, piext.Unchanged)
	target.Binary = `/opt/"two"/teams`
	install(t, target, piext.Updated, piext.Unchanged)
	if got := text(t, extension); !strings.Contains(got, `INSTALLED_BINARY: string = "/opt/\"two\"/teams"`) {
		t.Errorf("the program is not named")
	}

	changed := strings.Replace(text(t, extension), "const", "let  ", 1)
	put(t, extension, changed)
	put(t, skill, text(t, skill)+"More of mine.\n")
	install(t, target, piext.Kept, piext.Kept)
	if text(t, extension) != changed {
		t.Error("a changed file was replaced")
	}
	target.Force, target.Pier = true, true
	files = install(t, target, piext.Replaced, piext.Replaced, piext.Written)
	if !strings.Contains(text(t, extension), `"todo_write"`) {
		t.Error("the tools of pier are missing")
	}
	put(t, files[2].Path, "---\nname: task\n---\nMine.\n")
	target.Force = false
	install(t, target, piext.Unchanged, piext.Unchanged, piext.Kept)
}

// Whatever is in the way is kept, and what cannot be written is an error that
// names it.
func TestInstallInTheWay(t *testing.T) {
	dir := t.TempDir()
	target := piext.Target{Dir: filepath.Join(dir, "agent"), Within: dir}
	elsewhere := filepath.Join(dir, "elsewhere.ts")
	put(t, elsewhere, "mine")
	if err := os.MkdirAll(filepath.Join(target.Dir, "extensions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(target.Dir, "extensions", "teams.ts")); err != nil {
		t.Fatal(err)
	}
	install(t, target, piext.Kept, piext.Written)
	if text(t, elsewhere) != "mine" {
		t.Error("it wrote through a link")
	}

	if err := os.RemoveAll(filepath.Join(target.Dir, "skills")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(target.Dir, "skills"), "a file")
	files, err := piext.Install(target)
	if err == nil || !strings.Contains(err.Error(), "skills") || len(files) != 1 {
		t.Errorf("it ends with %v and %v", files, err)
	}

	full := errors.New("no space")
	defer fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpWrite {
			return &fs.PathError{Op: "write", Path: path, Err: full}
		}
		return nil
	})()
	if _, err := piext.Install(piext.Target{Dir: filepath.Join(dir, "other"), Within: dir}); !errors.Is(err, full) {
		t.Errorf("a full disk is %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other", "extensions", "teams.ts")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left something: %v", err)
	}
}

func TestWriteResident(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teams.ts")
	put(t, path, "an earlier one")
	if err := piext.WriteResident(path, "/opt/teams"); err != nil {
		t.Fatal(err)
	}
	if got := text(t, path); !strings.Contains(got, `"resident" === ("resident" as string)`) || strings.Contains(got, "@") && strings.Contains(got, "@BINARY@") {
		t.Error("it is no extension of a resident")
	}
	if err := piext.WriteResident("teams.ts", ""); errs.CodeOf(err) != errs.Usage {
		t.Errorf("a relative path is %v", err)
	}
}
