package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// binaries are the programs that were built.
type binaries struct {
	teams   string
	withCgo string // teams by plain go build; "" when it was not built here
	nothing string // the Go program that does nothing
	peak    string // tells the peak memory of the command it runs
}

// build builds both programs as README says, without cgo; teams only when there
// is none yet.
func build(ctx context.Context, dir, teams string) (b binaries, err error) {
	b.nothing, b.peak = filepath.Join(dir, "nothing"), filepath.Join(dir, "peak")
	if teams != "" {
		if b.teams, err = filepath.Abs(teams); err != nil {
			return b, err
		}
	} else {
		const pkg = "github.com/seed6990a682/teams/cmd/teams"
		b.teams, b.withCgo = filepath.Join(dir, "teams"), filepath.Join(dir, "teams-cgo")
		if err := goBuild(ctx, ".", b.teams, pkg, "CGO_ENABLED=0"); err != nil {
			return b, err
		}
		if err := goBuild(ctx, ".", b.withCgo, pkg); err != nil {
			return b, err
		}
	}
	if err := buildText(ctx, filepath.Join(dir, "src-nothing"), b.nothing, "package main\n\nfunc main() {}\n"); err != nil {
		return b, err
	}
	return b, buildText(ctx, filepath.Join(dir, "src-peak"), b.peak, peakText)
}

// buildText builds the program of one file in the directory src.
func buildText(ctx context.Context, src, out, text string) error {
	if err := os.Mkdir(src, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": "module " + filepath.Base(out) + "\n\ngo 1.26\n", "main.go": text} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return goBuild(ctx, src, out, ".", "CGO_ENABLED=0")
}

func goBuild(ctx context.Context, dir, out, pkg string, env ...string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}
