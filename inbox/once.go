package inbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// onceKey is the content of a key file: what is told once, and whether it was.
type onceKey struct {
	ID   string `json:"id"`
	Done bool   `json:"done"`
}

// PublishOnce delivers a message at most once per key, whatever dies in
// between. dir is where keys are remembered and key a file name in it. The
// message gets the id that the key stands for, which is m's own for the first
// caller; m is not changed. The key is on disk before the message, and says
// done after it; whoever finds one that is not done finishes it, under a lock
// on the key that is skipped when somebody else has it. It returns the id that
// the key stands for, and whether this call made the key. It serves for a
// directory that has only a new/ too.
func (b *Box) PublishOnce(dir, key string, m *Message) (id string, first bool, err error) {
	// A key whose message can never be written would be in the way for ever.
	if err := errors.Join(checkKey(key), CheckID(m.ID), b.CheckNew()); err != nil {
		return "", false, err
	}
	if _, err := m.encode(); err != nil {
		return "", false, err
	}
	path := filepath.Join(dir, key)
	k, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := fsx.MkdirAll(b.root, dir); err != nil {
			return "", false, err
		}
		k, first, err = makeKey(path, m.ID)
	}
	if err != nil || k.Done {
		return k.ID, first, err
	}
	lock, ok, err := fsx.LockFile(path)
	if err != nil || !ok {
		// Not to be had: somebody else finishes it just now.
		return k.ID, first, err
	}
	defer lock.Unlock()
	if k, err = readKey(path); err != nil || k.Done {
		return k.ID, first, err
	}
	return k.ID, first, b.finishOnce(path, k, m)
}

// makeKey makes the key, or reads what somebody else has just made.
func makeKey(path, id string) (k onceKey, first bool, err error) {
	k = onceKey{ID: id}
	data, err := encodeKey(k)
	if err != nil {
		return k, false, err
	}
	switch err := fsx.Publish(path, data); {
	case err == nil:
		return k, true, nil
	case !errors.Is(err, fs.ErrExist):
		return onceKey{}, false, err
	}
	k, err = readKey(path)
	return k, false, err
}

// finishOnce publishes the message of a key unless it is there, and marks the
// key done. The caller holds the key's lock.
func (b *Box) finishOnce(path string, k onceKey, m *Message) error {
	there, read, err := b.Has(k.ID)
	if err != nil {
		return err
	}
	if !there {
		c := *m
		c.ID = k.ID
		if c.Thread == m.ID {
			c.Thread = k.ID
		}
		err := b.publish(&c)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		there = err != nil
	}
	if there {
		// Whoever published it may have died before its name was durable.
		if err := fsx.FsyncDir(b.sub(read)); err != nil {
			return err
		}
	}
	k.Done = true
	data, err := encodeKey(k)
	if err != nil {
		return err
	}
	return fsx.Replace(path, data)
}

// checkKey refuses what cannot be the name of a key file.
func checkKey(key string) error {
	if key == "" || len(key) > maxID || key[0] == '.' || strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r == '/' || r == 0x7f
	}) {
		return errs.New(errs.Usage, "%q cannot be the name of a key", key)
	}
	return nil
}

func encodeKey(k onceKey) ([]byte, error) {
	data, err := json.MarshalIndent(k, "", " ")
	return append(data, '\n'), err
}

func readKey(path string) (onceKey, error) {
	var k onceKey
	data, err := fsx.ReadFile(path, 1<<12)
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(data, &k); err != nil || CheckID(k.ID) != nil {
		return onceKey{}, errs.New(errs.Corrupt, "it is no key of a notice").WithPath(path)
	}
	return k, nil
}
