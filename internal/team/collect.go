package team

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// CollectMail removes read mail and rejected reports older than age, and the
// keys of notices of lives that are over. With dryRun it only tells.
func (t *Team) CollectMail(age time.Duration, dryRun bool) ([]string, error) {
	names, err := t.mailboxNames()
	if err != nil {
		return nil, err
	}
	before := fsx.Now().Add(-age)
	var removed []string
	var problems []error
	remove := func(path string) {
		removed = append(removed, path)
		if !dryRun {
			problems = append(problems, fsx.Remove(path))
		}
	}
	for _, name := range names {
		for _, dir := range []string{filepath.Join(t.InboxDir(name), "cur"), filepath.Join(t.OutboxDir(name), "rejected"), t.NoticedDir(name)} {
			files, err := fsx.List(dir)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			for _, file := range files {
				path := filepath.Join(dir, file)
				info, err := os.Lstat(path)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					problems = append(problems, err)
					continue
				}
				if !info.Mode().IsRegular() || info.ModTime().After(before) {
					continue
				}
				if dir == t.NoticedDir(name) && !t.keyIsOver(name, file) {
					continue
				}
				remove(path)
			}
		}
	}
	return removed, errors.Join(problems...)
}

// keyIsOver reports whether a remembered key can never matter again: it is of
// another life than the present one of a teammate. Keys of the leader, which
// has one life, are kept.
func (t *Team) keyIsOver(name, key string) bool {
	if name == LeaderName {
		return false
	}
	tm, err := t.Read(name)
	return err == nil && !strings.HasSuffix(key, "-"+digest(tm.SpawnID)[:12]) && tm.Status != StatusStopped
}
