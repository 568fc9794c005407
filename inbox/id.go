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

// IDSender reads the sender of an id, "" for one that names none. It is a
// hint that saves opening the file: only the header tells who sent a message.
func IDSender(id string) string {
	first, last := strings.IndexByte(id, '-'), strings.LastIndexByte(id, '-')
	if first == last {
		return ""
	}
	return id[first+1 : last]
}

// FreshID makes a further id of one that is taken. It sorts behind it, unless
// that one is very long.
func FreshID(id string) string { return id[:min(len(id), maxID-7)] + "-" + fsx.RandomID()[:6] }

// maxID is the length of the longest id in bytes: a file's name has 255.
const maxID = 200

// CheckID refuses what cannot be the id of a message: it is used as a file's
// name. Ids are 1 to 200 letters and digits of ASCII and "._-+=,@", and begin
// with no dot.
func CheckID(id string) error {
	ok := id != "" && len(id) <= maxID && id[0] != '.'
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-+=,@", c) >= 0
	}
	if !ok {
		return errs.New(errs.Usage, "%q is no message id", id[:min(len(id), maxID)]).WithHint("teams inbox --all shows the ids")
	}
	return nil
}

// NextID makes the next id of a sender, whose ids always increase whatever the
// clock does. dir is the sender's own directory; the last time used is kept
// there. The file is a hint that need not survive a power cut: after one, the
// clock itself is ahead of it.
func NextID(ctx context.Context, dir, from string) (string, time.Time, error) {
	if err := CheckID(from); err != nil {
		return "", time.Time{}, errs.New(errs.Usage, "%q cannot be the sender in an id", from)
	}
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
