package inbox

import (
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Receiving says how messages are received.
type Receiving struct {
	Max int // at most so many; 0: all there are
	// Accept says whether a message is for this reader. One that is not is
	// left where it lies. Nil accepts all.
	Accept func(*Message) (bool, error)
	// Show hands a message to its reader. When it fails the message stays
	// unread and Receive ends.
	Show func(*Message) error
	// Keep leaves the messages unread, for a reader that only looks.
	Keep bool
}

// Receive shows the unread messages in order and marks each one read after it
// was shown. While a message is shown its file is locked, so that no other
// receiver shows it; a receiver that dies before the mark lets the next one
// show it again, under the same id. It returns how many were shown and what was
// wrong with single messages.
func (b *Box) Receive(r Receiving) (shown int, problems []error, err error) {
	defer func() {
		if shown > 0 && !r.Keep {
			if serr := b.sync(); err == nil {
				err = serr
			}
		}
	}()
	done := map[string]bool{}
	// Two rounds: a listing taken while others rename can miss a name.
	for round := 0; round < 2; round++ {
		ids, err := b.IDs(false)
		if err != nil {
			return shown, problems, err
		}
		for _, id := range ids {
			if r.Max > 0 && shown >= r.Max {
				return shown, problems, nil
			}
			if done[id] {
				continue
			}
			done[id] = true
			ok, err := b.receive(id, &r)
			if errors.Is(err, errShow) {
				return shown, problems, errors.Unwrap(err)
			}
			if err != nil {
				problems = append(problems, err)
			}
			if ok {
				shown++
			}
		}
		if shown > 0 {
			break
		}
	}
	return shown, problems, nil
}

// showError tells an error of Show from one of the message.
type showError struct{ err error }

func (e *showError) Error() string        { return e.err.Error() }
func (e *showError) Unwrap() error        { return e.err }
func (e *showError) Is(target error) bool { return target == errShow }

var errShow = errors.New("the message could not be shown")

// receive shows one unread message and marks it.
func (b *Box) receive(id string, r *Receiving) (bool, error) {
	path := b.file(id, false)
	lock, ok, err := fsx.LockFile(path)
	if err != nil || !ok {
		return false, err
	}
	defer lock.Unlock()
	m, err := b.read(id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if r.Accept != nil {
		if ok, err := r.Accept(m); err != nil || !ok {
			return false, err
		}
	}
	if err := r.Show(m); err != nil {
		return false, &showError{err}
	}
	if r.Keep {
		return true, nil
	}
	// A mark that a power cut undoes means that the message is shown again,
	// which is what the promise allows; so it is not synced one by one.
	if err := fsx.Move(path, b.file(id, true)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, &showError{err}
	}
	return true, nil
}
