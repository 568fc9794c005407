package worktree

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// maxExclude bounds info/exclude, which people write.
const maxExclude = 16 << 20

func (r *repo) excludePath() string { return filepath.Join(r.common, "info", "exclude") }

// excludePattern is the pattern that has git ignore the project's worktrees and
// nothing else. Such a pattern begins at the top of the checkout.
func (r *repo) excludePattern() (string, error) {
	rel, err := filepath.Rel(r.top, r.dir())
	if err != nil || !filepath.IsLocal(rel) {
		return "", errs.New(errs.Failure, "does not lie in the checkout %s", r.top).WithPath(r.dir())
	}
	var b strings.Builder
	b.WriteByte('/')
	for _, c := range []byte(rel) {
		switch c {
		case '*', '?', '[', ']', '\\', ' ':
			b.WriteByte('\\')
		case '\n', '\r': // cannot be written in such a file
			c = '?'
		}
		b.WriteByte(c)
	}
	b.WriteByte('/')
	return b.String(), nil
}

// What has to be added to info/exclude. A record names it so, since a path may
// have bytes that JSON cannot hold.
const (
	excludeLine  = "line"
	excludeBreak = "break and line" // the file does not end with one
)

// excludeText is the text that is meant.
func (r *repo) excludeText(what string) (string, error) {
	pattern, err := r.excludePattern()
	switch {
	case err != nil || what == "":
		return "", err
	case what == excludeBreak:
		return "\n" + pattern + "\n", nil
	}
	return pattern + "\n", nil
}

// missingExclude is what has to be added to info/exclude; "" when it has the
// line.
func (r *repo) missingExclude() (string, error) {
	line, err := r.excludePattern()
	if err != nil {
		return "", err
	}
	data, err := r.readExclude()
	if err != nil {
		return "", err
	}
	for have := range bytes.Lines(data) {
		if string(bytes.TrimRight(have, "\r\n")) == line {
			return "", nil
		}
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		return excludeBreak, nil
	}
	return excludeLine, nil
}

func (r *repo) readExclude() ([]byte, error) {
	info, err := os.Stat(r.excludePath()) // people link it to a file of theirs
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxExclude:
		return nil, errs.New(errs.Failure, "is not a file that git can read").WithPath(r.excludePath())
	}
	return os.ReadFile(r.excludePath())
}

// addExclude adds what is missing to info/exclude: all of it or nothing. The
// file is the user's, so it is not replaced; its mode and its links stay.
func (r *repo) addExclude(what string) error {
	text, err := r.excludeText(what)
	if err != nil || text == "" {
		return err
	}
	path := r.excludePath()
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Truncate(info.Size())
		if info.Size() == 0 {
			_ = os.Remove(path)
		}
	}
	return err
}

// dropExclude takes back what addExclude added, if it is still the end of the
// file and no worktree needs it.
func (r *repo) dropExclude(what string) error {
	text, err := r.excludeText(what)
	if err != nil || text == "" {
		return err
	}
	if there, err := exists(r.dir()); there || err != nil {
		return err // others are there, or something is that is not to be seen
	}
	data, err := r.readExclude()
	if err != nil || !bytes.HasSuffix(data, []byte(text)) {
		return err
	}
	if len(data) == len(text) {
		return os.Remove(r.excludePath())
	}
	return os.Truncate(r.excludePath(), int64(len(data)-len(text)))
}
