package inbox

import (
	"errors"
	"syscall"
)

// batchBytes bounds the bodies that ReceiveAll holds at once: 64 MiB, or one
// message. Tests lower it.
var batchBytes int64 = 64 << 20

// ReceiveAll is Receive for a reader that takes all messages at once, as one
// that prints a single value does: every message is locked and read, show gets
// them together, and they are marked when it has returned. When it fails all
// stay unread and none counts as shown. r.Show is not used. What exceeds 64 MiB,
// or r.MaxBytes, or the number of files that the process may open, is left for the next call.
func (b *Box) ReceiveAll(r Receiving, show func([]*Message) error) (shown int, problems []error, err error) {
	var all []taken
	defer func() {
		for i := range all {
			all[i].release()
		}
	}()
	var list []*Message
	size := int64(0)
	problems, err = b.each(&r, func(t *taken) (bool, error) {
		if r.MaxBytes > 0 && len(list) > 0 && size+t.m.Size > r.MaxBytes {
			t.release() // it comes with the next call
			return false, nil
		}
		all, list = append(all, *t), append(list, t.m)
		size += t.m.Size
		return size < batchBytes && (r.Max <= 0 || len(list) < r.Max), nil
	})
	if len(list) > 0 {
		problems = dropTooManyFiles(problems)
	}
	if err != nil || len(list) == 0 {
		return 0, problems, err
	}
	if err := show(list); err != nil {
		return 0, problems, err
	}
	if r.Keep {
		return len(list), problems, nil
	}
	var failed []error
	for _, m := range list {
		failed = append(failed, b.shown(m.ID))
	}
	return len(list), problems, errors.Join(errors.Join(failed...), b.sync(true))
}

// dropTooManyFiles drops the problems of messages that could not be opened
// beside all the others that are open: they come next time.
func dropTooManyFiles(problems []error) []error {
	var left []error
	for _, err := range problems {
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			left = append(left, err)
		}
	}
	return left
}
