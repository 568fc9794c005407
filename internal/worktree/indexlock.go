package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	indexPatience = 2 * time.Second  // for a git that is about to end
	indexStale    = 10 * time.Minute // where processes cannot be seen
)

// indexBusy says that a git works in the worktree, "" when none does. A lock
// that a killed one has left is removed.
func (w *tree) indexBusy(ctx context.Context) (string, error) {
	lock := w.file("index.lock")
	end := time.Now().Add(indexPatience)
	for {
		info, err := os.Lstat(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		busy, known := gitAtWork(w.path)
		if known && !busy || !known && fsx.Now().Sub(info.ModTime()) > indexStale {
			return "", os.Remove(lock)
		}
		if time.Now().After(end) {
			return "a git seems to be at work in it (its index.lock is there)", nil
		}
		select {
		case <-ctx.Done():
			return "", interrupted(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// gitAtWork says whether a git process stands in dir, as each does that works
// on the worktree there; known is false where that cannot be seen.
func gitAtWork(dir string) (busy, known bool) {
	if _, err := os.Readlink("/proc/self/cwd"); err != nil {
		return false, false
	}
	list, err := os.ReadDir("/proc")
	if err != nil {
		return false, false
	}
	for _, d := range list {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", d.Name(), "cwd"))
		if err != nil || cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", d.Name(), "comm"))
		if err == nil && strings.HasPrefix(string(name), "git") {
			return true, true
		}
	}
	return false, true
}
