package inbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// onceKey is the content of a key file: what is told once, and whether it was.
type onceKey struct {
	ID   string `json:"id"`
	Done bool   `json:"done"`
}

// keyPatience is how long PublishOnce waits for somebody else who is finishing
// the same key, which takes a few milliseconds. Tests shorten it.
var keyPatience = 10 * time.Second

// PublishOnce delivers a message at most once per key, whatever dies in
// between. dir is where keys are remembered and key a file name in it. The
// message gets the id that the key stands for, which is m's own for the first
// caller; m is not changed. The key is on disk before the message, and says
// done after it; whoever finds one that is not done finishes it, under a lock
// on the key. It returns the id that the key stands for, and whether this call
// made the key. Without an error the message is on disk: when somebody else is
// just finishing the key, that is waited for, and busy after 10 s. It serves for
// a directory that has only a new/ too.
func (b *Box) PublishOnce(dir, key string, m *Message) (id string, first bool, err error) {
	// A key whose message can never be written would be in the way for ever.
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	if err := CheckID(m.ID); err != nil {
		return "", false, err
	}
	if _, err := m.encode(); err != nil {
		return "", false, err
	}
	if err := b.CheckNew(); err != nil {
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
	for end := time.Now().Add(keyPatience); err == nil && !k.Done; k, err = readKey(path) {
		lock, ok, lerr := fsx.LockFile(path)
		if lerr != nil {
			return k.ID, first, lerr
		}
		if ok {
			err := b.finishOnce(path, m, first)
			_ = lock.Unlock()
			return k.ID, first, err
		}
		if time.Now().After(end) {
			return k.ID, first, errs.New(errs.Busy, "another process is about to send what this key stands for").WithPath(path)
		}
		time.Sleep(time.Millisecond)
	}
	return k.ID, first, err
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
func (b *Box) finishOnce(path string, m *Message, mine bool) error {
	k, err := readKey(path)
	if err != nil || k.Done {
		return err
	}
	if !mine {
		// Whoever made the key may have died before its name was durable.
		if err := fsx.FsyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
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
		// So may the one who published it.
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
