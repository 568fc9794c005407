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

// CollectMail removes read mail, rejected reports and open requests older than
// age, and the keys of notices that are over. With dryRun it only tells.
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
		for _, dir := range []string{filepath.Join(t.InboxDir(name), "cur"), filepath.Join(t.OutboxDir(name), "rejected"), t.NoticedDir(name), t.requestsDir(name)} {
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
// another life than the present one of a teammate, or, for one that names no
// life, what it was told of is gone.
func (t *Team) keyIsOver(name, key string) bool {
	if id, ok := strings.CutPrefix(key, "hook-"); ok {
		unread, err := t.isUnread(name, id)
		return err == nil && !unread
	}
	if name == LeaderName {
		if mate, life, ok := leaderKey(key); ok {
			tm, err := t.Read(mate)
			return errors.Is(err, fs.ErrNotExist) || err == nil && life != digest(tm.SpawnID)[:lifeDigits]
		}
	}
	life := key[strings.LastIndexByte(key, '-')+1:]
	if isLife(life) {
		tm, err := t.Read(name)
		return err == nil && life != digest(tm.SpawnID)[:lifeDigits]
	}
	if id, ok := strings.CutPrefix(key, "stale_wait-"); ok {
		_, err := os.Lstat(t.requestPath(name, id))
		return errors.Is(err, fs.ErrNotExist)
	}
	// The message that came back was put away with its key; what was held for
	// whoever came next has long been there.
	return strings.HasPrefix(key, "undelivered-") || strings.HasPrefix(key, "sent-")
}

// leaderKey reads whose life a key is about that the leader was told of: it is
// EVENT-NAME-LIFE, and may have more behind it.
func leaderKey(key string) (mate, life string, ok bool) {
	_, rest, ok := strings.Cut(key, "-")
	parts := strings.Split(rest, "-")
	for i := len(parts) - 1; ok && i > 0; i-- {
		if isLife(parts[i]) {
			return strings.Join(parts[:i], "-"), parts[i], true
		}
	}
	return "", "", false
}

func isLife(s string) bool {
	return len(s) == lifeDigits && strings.Trim(s, "0123456789abcdef") == ""
}
