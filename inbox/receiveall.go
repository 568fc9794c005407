package inbox

import (
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/internal/fsx"
)

// ReceiveAll is Receive for a reader that takes all messages at once, as one
// that prints a single value does: every message is locked and read, show gets
// them together, and they are marked when it has returned. r.Show is not used.
func (b *Box) ReceiveAll(r Receiving, show func([]*Message) error) (shown int, problems []error, err error) {
	var list []*Message
	var locks []*fsx.Lock
	defer func() {
		for _, l := range locks {
			_ = l.Unlock()
		}
	}()
	done := map[string]bool{}
	for round := 0; round < 2 && len(list) == 0; round++ {
		ids, err := b.IDs(false)
		if err != nil {
			return 0, problems, err
		}
		for _, id := range ids {
			if r.Max > 0 && len(list) >= r.Max || done[id] {
				continue
			}
			done[id] = true
			m, lock, err := b.take(id, &r)
			if err != nil {
				problems = append(problems, err)
			}
			if m == nil {
				continue
			}
			list, locks = append(list, m), append(locks, lock)
		}
	}
	if len(list) == 0 {
		return 0, problems, nil
	}
	if err := show(list); err != nil || r.Keep {
		return len(list), problems, err
	}
	for _, m := range list {
		if err := fsx.Move(b.file(m.ID, false), b.file(m.ID, true)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return len(list), problems, err
		}
	}
	return len(list), problems, b.sync()
}

// take locks and reads one unread message; nil when it is not to be had or not
// for this reader.
func (b *Box) take(id string, r *Receiving) (*Message, *fsx.Lock, error) {
	lock, ok, err := fsx.LockFile(b.file(id, false))
	if err != nil || !ok {
		return nil, nil, err
	}
	m, err := b.read(id, false)
	if err == nil && r.Accept != nil {
		var mine bool
		if mine, err = r.Accept(m); !mine {
			m = nil
		}
	}
	if err != nil || m == nil {
		_ = lock.Unlock()
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, nil, err
	}
	return m, lock, nil
}
