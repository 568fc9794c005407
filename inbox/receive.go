package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Receiving says how messages are received.
type Receiving struct {
	Max int // at most so many; 0: all there are
	// MaxBytes bounds the bodies that ReceiveAll hands over at once, but for one
	// message, which always goes; 0: as much as it takes.
	MaxBytes int64
	// Accept says whether a message is for this reader. One that is not is
	// left where it lies, unless Accept itself marks it. Nil accepts all. While
	// it runs no receiver shows the message.
	Accept func(*Message) (bool, error)
	// Show hands a message to its reader. When it fails the message stays
	// unread and Receive ends.
	Show func(*Message) error
	// Keep leaves the messages unread, for a reader that only looks. It keeps
	// no receiver from a message, and none keeps it from one.
	Keep bool
	// Busy, if set, is told the ids of messages that were passed over because
	// another receiver is showing them. If that one dies they are unread again
	// without an event: whoever waits for mail looks again after a while.
	Busy func(id string)
}

// busyPause is how long a receiver that found nothing but locked messages
// waits before it looks once more: a lock may be that of TryMark or Withdraw,
// which take an instant.
const busyPause = 5 * time.Millisecond

// Receive shows the unread messages in order and marks each one read after it
// was shown. While a message is shown its file is locked, so that no other
// receiver shows it; a receiver that dies before the mark lets the next one
// show it again, under the same id. It returns how many were shown and what was
// wrong with single messages.
func (b *Box) Receive(r Receiving) (shown int, problems []error, err error) {
	marked := false
	defer func() {
		if marked {
			err = errors.Join(err, b.sync(true))
		}
	}()
	show := func(t *taken) error {
		defer t.release()
		if err := r.Show(t.m); err != nil {
			return err
		}
		shown++
		if r.Keep {
			return nil
		}
		// A mark that a power cut undoes means that the message is shown again,
		// which is what the promise allows; so it is not synced one by one.
		if err := b.shown(t.m.ID); err != nil {
			return err
		}
		marked = true
		return nil
	}
	problems, err = b.each(&r, func(t *taken) (bool, error) {
		err := show(t)
		return r.Max <= 0 || shown < r.Max, err
	})
	return shown, problems, err
}

// each hands the unread messages over in order, each one locked, until f wants
// no more.
func (b *Box) each(r *Receiving, f func(*taken) (more bool, err error)) (problems []error, err error) {
	var busy []string
	done := map[string]bool{}
	handed := 0
	for round := range 2 {
		ids, err := b.IDs(false)
		if err != nil {
			return problems, err
		}
		busy = busy[:0]
		for _, id := range ids {
			if done[id] {
				continue
			}
			t, err := b.take(id, r)
			if t.busy {
				busy = append(busy, id)
				continue
			}
			done[id] = true
			if err != nil {
				problems = append(problems, err)
			}
			if t.m == nil {
				continue
			}
			handed++
			if more, err := f(&t); err != nil || !more {
				return problems, err
			}
		}
		// All were taken by others: there may be others by now.
		if handed > 0 || len(ids) == 0 {
			break
		}
		if round == 0 && len(busy) > 0 {
			time.Sleep(busyPause)
		}
	}
	if r.Busy != nil {
		for _, id := range busy {
			r.Busy(id)
		}
	}
	return problems, nil
}

// shown marks a message that was shown. That somebody else has marked it is no
// error.
func (b *Box) shown(id string) error {
	if err := b.place(id, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mark %s, which was shown, as read: %w", id, err)
	}
	return nil
}

// taken is an unread message on its way to a reader.
type taken struct {
	m       *Message  // nil: not to be had, or not for this reader
	lock    *fsx.Lock // nil for one that only looks
	busy    bool      // another receiver has it
	refused bool      // by Accept
}

func (t *taken) release() {
	if t.lock != nil {
		_ = t.lock.Unlock()
	}
}

// take locks and reads one unread message.
func (b *Box) take(id string, r *Receiving) (t taken, err error) {
	path := b.file(id, false)
	if !r.Keep {
		lock, ok, err := fsx.LockFile(path)
		if err != nil {
			return taken{}, err
		}
		if !ok {
			_, err := os.Lstat(path)
			return taken{busy: err == nil}, nil
		}
		t.lock = lock
	}
	defer func() {
		if t.m == nil {
			t.release()
			t.lock = nil
		}
	}()
	m, err := b.read(id, false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return t, err
	}
	err = t.offer(m, r)
	return t, err
}

// offer asks whether a message is for this reader.
func (t *taken) offer(m *Message, r *Receiving) error {
	if r.Accept != nil {
		if ok, err := r.Accept(m); err != nil || !ok {
			t.refused = true
			return err
		}
	}
	t.m = m
	return nil
}

// ReceiveID is Receive for one message, which may be read already. It answers
// false when Accept does. busy: another receiver is showing it; not_found:
// there is none. Max does not count.
func (b *Box) ReceiveID(id string, r Receiving) (shown bool, err error) {
	if err := CheckID(id); err != nil {
		return false, err
	}
	if err := b.Check(); err != nil {
		return false, err
	}
	for round := range lookRounds {
		t, err := b.take(id, &r)
		if err == nil && !t.busy && !t.refused && t.m == nil {
			var m *Message
			if m, err = b.read(id, true); err == nil {
				err = t.offer(m, &r)
			} else if errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		switch {
		case err != nil || t.refused:
			return false, err
		case t.m != nil:
			return b.showID(&t, &r)
		case round == lookRounds-1:
			return false, errs.New(errs.Busy, "%s is being shown by another receiver", id).WithPath(b.file(id, false))
		}
		time.Sleep(busyPause)
	}
	return false, notFound(id)
}

func (b *Box) showID(t *taken, r *Receiving) (bool, error) {
	defer t.release()
	if err := r.Show(t.m); err != nil {
		return false, err
	}
	if r.Keep || t.m.Read {
		return true, nil
	}
	if err := b.shown(t.m.ID); err != nil {
		return true, err
	}
	return true, b.sync(true)
}
