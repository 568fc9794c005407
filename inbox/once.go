package inbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// onceKey is the content of a key file: what is told once, and whether it was.
type onceKey struct {
	ID   string `json:"id"`
	Done bool   `json:"done"`
}

// PublishOnce delivers a message at most once per key, whatever dies in
// between. dir is where keys are remembered and key a file name in it. m gets
// the id to use in place of its own. The key is on disk before the message, and
// says done after it; whoever finds one that is not done finishes it, under a
// lock on the key that is skipped when somebody else has it. It returns the id
// that the key stands for, and whether this call made the key.
func (b *Box) PublishOnce(dir, key string, m *Message) (id string, first bool, err error) {
	path := filepath.Join(dir, key)
	if err := fsx.MkdirAll(b.root, dir); err != nil {
		return "", false, err
	}
	k := onceKey{ID: m.ID}
	err = publishKey(path, k)
	switch {
	case err == nil:
		first = true
	case !errors.Is(err, fs.ErrExist):
		return "", false, err
	}
	if k, err = readKey(path); err != nil || k.Done {
		return k.ID, first, err
	}
	lock, ok, err := fsx.LockFile(path)
	if err != nil {
		return k.ID, first, err
	}
	if !ok {
		// Somebody else finishes it; the key is there, so it will be told.
		return k.ID, first, nil
	}
	defer lock.Unlock()
	if k, err = readKey(path); err != nil || k.Done {
		return k.ID, first, err
	}
	there, _, err := b.Has(k.ID)
	if err != nil {
		return k.ID, first, err
	}
	if !there {
		c := *m
		c.ID = k.ID
		if err := b.Publish(&c); err != nil && !errors.Is(err, fs.ErrExist) {
			return k.ID, first, err
		}
	}
	k.Done = true
	data, err := encodeKey(k)
	if err != nil {
		return k.ID, first, err
	}
	return k.ID, first, fsx.Replace(path, data)
}

func publishKey(path string, k onceKey) error {
	data, err := encodeKey(k)
	if err != nil {
		return err
	}
	return fsx.Publish(path, data)
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
		return k, errs.New(errs.Corrupt, "it is no key of a notice").WithPath(path)
	}
	return k, nil
}
