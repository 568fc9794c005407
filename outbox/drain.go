package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Drained says what a drain did. What another drain was quicker with is told
// by that one alone.
type Drained struct {
	Delivered []*inbox.Message // without their bodies
	Rejected  []*inbox.Message // Outcome says why
	Dropped   []string         // ids of copies of what the leader's mailbox had already
	Problems  []error          // of single reports, which stay where they are
}

// Drain moves the waiting reports into the leader's mailbox, in order, for good
// when it returns. check returns why a report must not be delivered, "" when it
// may; it is asked for each report, by the header alone. One that cannot be
// read now is a problem and leaves the others whole; what can never be a report
// (no regular file, or larger than any) is rejected as it is. A report sent
// before Drain began is delivered, rejected, dropped or a problem after it.
func (o *Outbox) Drain(leader *inbox.Box, check func(*inbox.Message) string) (Drained, error) {
	var d Drained
	ids, err := o.IDs()
	if err != nil || len(ids) == 0 {
		return d, err
	}
	if err := leader.Check(); err != nil {
		return d, fmt.Errorf("drain reports: %w", err)
	}
	for _, id := range ids {
		if err := o.drain(leader, id, check, &d); err != nil {
			d.Problems = append(d.Problems, fmt.Errorf("drain report: %w", err))
		}
	}
	if len(d.Delivered)+len(d.Rejected)+len(d.Dropped) == 0 {
		return d, nil
	}
	// First that the reports are there, then that they are not here.
	dirs := []string{filepath.Join(leader.Dir(), "new"), filepath.Join(o.dir, "rejected"), filepath.Join(o.dir, "new")}
	for i, dir := range dirs {
		if i == 1 && len(d.Rejected) == 0 {
			continue
		}
		if err := fsx.FsyncDir(dir); err != nil {
			return d, fmt.Errorf("drain reports: %w", err)
		}
	}
	return d, nil
}

// drain handles one report. That it is gone at any step means that another
// drain, or its sender, was quicker.
func (o *Outbox) drain(leader *inbox.Box, id string, check func(*inbox.Message) string, d *Drained) error {
	m, err := o.Peek(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fsx.ErrIrregular):
		return o.setAside(&inbox.Message{Header: inbox.Header{ID: id}}, err.Error(), d)
	case err != nil:
		return err
	case m.Size > inbox.MaxBody:
		return o.setAside(m, inbox.TooLarge(m.Size).Error(), d)
	}
	there, _, err := leader.Has(id)
	if err != nil {
		return err
	}
	if there {
		return o.drop(leader, m, d)
	}
	if reason := check(m); reason != "" {
		return o.reject(leader, m, reason, d)
	}
	err = fsx.MoveUnique(o.waiting(id), filepath.Join(leader.Dir(), "new", id+ext))
	switch {
	case err == nil:
		d.Delivered = append(d.Delivered, m)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return o.gone(leader, id, err)
	case errors.Is(err, fs.ErrExist):
		return o.drop(leader, m, d)
	}
	return err
}

// gone tells whether a report could not be moved because somebody else was
// quicker, or because the leader's mailbox is not there any more.
func (o *Outbox) gone(leader *inbox.Box, id string, err error) error {
	if cerr := leader.Check(); cerr != nil {
		return cerr
	}
	if _, perr := o.Peek(id); errors.Is(perr, fs.ErrNotExist) {
		return nil
	}
	return err
}

// drop removes a report that the leader's mailbox has already, when that is
// known to be durable. Another message that has its id is no reason to lose it.
func (o *Outbox) drop(leader *inbox.Box, m *inbox.Message, d *Drained) error {
	full, err := inbox.ReadFile(o.waiting(m.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := delivered(leader, full)
	if err != nil {
		return err
	}
	if dir == "" {
		return o.reject(leader, m, "the leader's mailbox has another message with its id", d)
	}
	if err := fsx.FsyncDir(dir); err != nil {
		return err
	}
	err = fsx.Unlink(o.waiting(m.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		d.Dropped = append(d.Dropped, m.ID)
	}
	return err
}

// delivered returns where in the leader's mailbox a report lies, "" for nowhere.
func delivered(leader *inbox.Box, m *inbox.Message) (dir string, err error) {
	for range 2 { // it may be marked between the looks
		for _, sub := range []string{"new", "cur"} {
			dir := filepath.Join(leader.Dir(), sub)
			if ok, err := same(filepath.Join(dir, m.ID+ext), m); ok || err != nil {
				return dir, err
			}
		}
	}
	return "", nil
}

// same reports whether the file at path is this report, for whatever reason it
// was rejected. What can never be read is not.
func same(path string, m *inbox.Message) (bool, error) {
	have, err := inbox.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrIrregular) || errors.Is(err, fsx.ErrTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	have.Outcome = m.Outcome
	a, aerr := have.Encode()
	b, berr := m.Encode()
	return aerr == nil && berr == nil && bytes.Equal(a, b) && bytes.Equal(have.Body, m.Body), nil
}

// reject writes the report, with the reason in its header, into rejected/, and
// then removes it from the waiting ones.
func (o *Outbox) reject(leader *inbox.Box, m *inbox.Message, reason string, d *Drained) error {
	full, err := inbox.ReadFile(o.waiting(m.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	full.Outcome = reason
	if _, err := full.Encode(); err != nil {
		return o.setAside(m, reason, d) // no room for the reason
	}
	if err := o.makeRejected(); err != nil {
		return err
	}
	path := o.rejected(m.ID)
	err = full.WriteTo(path)
	if errors.Is(err, fs.ErrExist) {
		var done bool // by another drain, or one that died before the next step
		if done, err = same(path, full); done {
			path = ""
		} else if err == nil {
			path = o.rejected(inbox.FreshID(m.ID))
			err = full.WriteTo(path)
		}
	}
	if err != nil {
		return err
	}
	err = fsx.Unlink(o.waiting(m.ID))
	if errors.Is(err, fs.ErrNotExist) {
		// Another drain rejected it too; or one that knew better delivered it.
		if path == "" {
			return nil
		}
		if dir, err := delivered(leader, full); err != nil || dir == "" {
			return err
		}
		return fsx.Remove(path)
	}
	if err != nil {
		return err
	}
	m.Outcome = reason
	d.Rejected = append(d.Rejected, m)
	return nil
}

// setAside moves what cannot be rewritten with a reason into rejected/ as it
// is; a symlink is moved itself.
func (o *Outbox) setAside(m *inbox.Message, reason string, d *Drained) error {
	if err := o.makeRejected(); err != nil {
		return err
	}
	err := fsx.MoveUnique(o.waiting(m.ID), o.rejected(m.ID))
	if errors.Is(err, fs.ErrExist) {
		err = fsx.MoveUnique(o.waiting(m.ID), o.rejected(inbox.FreshID(m.ID)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m.Outcome = reason
	d.Rejected = append(d.Rejected, m)
	return nil
}

func (o *Outbox) makeRejected() error {
	return fsx.MkdirAll(o.root, filepath.Join(o.dir, "rejected"))
}
