// Package gobuild builds the programs of this module for the tests and tools
// that run them.
package gobuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Teams is the command.
const Teams = "github.com/seed6990a682/teams/cmd/teams"

// Build builds a package of this module as out. It is static, as it is
// installed. The working directory has to lie in the module.
//
// See [Watch] for what a test that has built something in TestMain has to do.
func Build(ctx context.Context, pkg, out string, flags ...string) error {
	if err := Watch(); err != nil {
		return err
	}
	args := append([]string{"build", "-buildvcs=false", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// Watch makes the results of the running test depend on the programs of this
// module. go test keeps a result for as long as the files stay the same that the
// test itself has looked at, and knows nothing of those that a compiler read for
// it; so Watch looks at every file that can be part of a program. Build does that
// too, but what is done before m.Run in TestMain does not count.
func Watch() error {
	top, err := module()
	if err != nil {
		return err
	}
	return look(top)
}

// module is the directory of the module.
func module() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the working directory lies in no module")
		}
		dir = up
	}
}

// look stats the files of programs below top.
func look(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "docs"):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		_, err = os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) { // an editor's, say
			return nil
		}
		return err
	})
}
