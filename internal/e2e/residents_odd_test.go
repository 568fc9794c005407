package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed6990a682/teams/internal/gobuild"
)

// odd is the command with its main goroutine on one thread, which strace counts
// the calls of, and with a wall clock that a file sets apart.
var odd = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(teamsBin)
	source, err := filepath.Abs(filepath.Join("..", "..", "cmd", "teams"))
	if err != nil {
		return "", err
	}
	added, overlay, bin := filepath.Join(dir, "odd.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "odd", "teams")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(source, "zz_odd.go"): added}})
	if err != nil {
		return "", err
	}
	for path, text := range map[string]string{added: oddSource, overlay: string(data)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return bin, gobuild.Build(context.Background(), gobuild.Teams, bin, "-overlay", overlay)
})

const oddSource = `package main

import (
	"os"
	"runtime"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

func init() {
	runtime.LockOSThread()
	path := os.Getenv("TEAMS_TEST_CLOCK")
	if path == "" {
		return
	}
	fsx.SetNow(func() time.Time {
		data, _ := os.ReadFile(path)
		d, err := time.ParseDuration(string(data))
		if err != nil {
			os.Exit(99)
		}
		return time.Now().Add(d).Round(0)
	})
}
`

// clocked is the site with a command, by name too, whose wall clock is apart by
// what a file says.
func (s *site) clocked(file string) *site {
	s.t.Helper()
	bin, err := odd()
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.with("TEAMS_TEST_CLOCK="+file, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
	c.bin = bin
	return c
}
