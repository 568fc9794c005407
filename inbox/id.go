package inbox

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// idTime is the layout of the time at the start of an id.
const idTime = "20060102T150405.000000Z"

// NewID makes an id of a time, a sender and random digits.
func NewID(at time.Time, from string) string {
	return at.UTC().Format(idTime) + "-" + from + "-" + fsx.RandomID()[:6]
}

// IDTime reads the time of an id.
func IDTime(id string) (time.Time, bool) {
	stamp, _, ok := strings.Cut(id, "-")
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(idTime, stamp)
	return t, err == nil
}

// CheckID refuses what cannot be the id of a message: it is used as a file's
// name.
func CheckID(id string) error {
	if id == "" || len(id) > 200 || id[0] == '.' || strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-+=,@", r)
	}) {
		return errs.New(errs.Usage, "%q is no message id", id).WithHint("teams inbox --all shows the ids")
	}
	return nil
}

// NextID makes the next id of a sender, whose ids always increase whatever the
// clock does. dir is the sender's own directory; the last time used is kept
// there. The file is a hint that need not survive a power cut: after one, the
// clock itself is ahead of it.
func NextID(ctx context.Context, dir, from string) (string, time.Time, error) {
	lock, err := fsx.Acquire(ctx, filepath.Join(dir, "last-id.lock"), 10*time.Second)
	if err != nil {
		return "", time.Time{}, err
	}
	defer lock.Unlock()
	path := filepath.Join(dir, "last-id")
	at := fsx.Now().UTC().Truncate(time.Microsecond)
	data, err := fsx.ReadFile(path, 1<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", time.Time{}, err
	}
	if last, err := time.Parse(idTime, strings.TrimSpace(string(data))); err == nil && !at.After(last) {
		at = last.Add(time.Microsecond)
	}
	if err := fsx.ReplaceHint(path, [][]byte{[]byte(at.Format(idTime) + "\n")}); err != nil {
		return "", time.Time{}, err
	}
	return NewID(at, from), at, nil
}
