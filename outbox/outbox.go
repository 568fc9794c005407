// Package outbox carries the reports of a teammate to its leader.
//
// A report is published into the teammate's own outbox, with the id of the life
// that speaks; that is when it is sent. A drain validates each report and moves
// it by rename into the leader's mailbox, exactly once whoever drains and
// whatever dies; what is stale or foreign goes to rejected/ with the reason in
// its header and never reaches the leader. Any number of drains may run at once.
package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Outbox is where the reports of one teammate wait.
type Outbox struct {
	dir  string
	root string
	box  *inbox.Box // new/ has the form of a mailbox's
}

// Open returns the outbox in dir. Nothing is read or created. Symlinks are
// allowed down to root and refused below it.
func Open(root, dir string) *Outbox {
	return &Outbox{dir: dir, root: root, box: inbox.Open(root, dir)}
}

// Dir returns the outbox's directory.
func (o *Outbox) Dir() string { return o.dir }

func (o *Outbox) waiting(id string) string { return filepath.Join(o.dir, "new", id+".md") }

// Create makes the outbox's directories.
func (o *Outbox) Create() error {
	for _, name := range []string{"tmp", "new", "rejected"} {
		if err := fsx.MkdirAll(o.root, filepath.Join(o.dir, name)); err != nil {
			return fmt.Errorf("create outbox: %w", err)
		}
	}
	return nil
}

// Send publishes a report: it is on disk when Send returns, and every later
// drain delivers or rejects it.
func (o *Outbox) Send(m *inbox.Message) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.box.PublishNew(m)
}

func (o *Outbox) check() error {
	for _, dir := range []string{o.dir, filepath.Join(o.dir, "new")} {
		if err := fsx.CheckDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Withdraw takes a report back that no drain has taken yet; false when one has.
func (o *Outbox) Withdraw(id string) (bool, error) { return o.box.Withdraw(id) }

// IDs lists the reports that wait, in order.
func (o *Outbox) IDs() ([]string, error) { return o.list("new") }

// Rejected lists the reports that were rejected.
func (o *Outbox) Rejected() ([]string, error) { return o.list("rejected") }

func (o *Outbox) list(sub string) ([]string, error) {
	if err := fsx.CheckDir(o.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	names, err := fsx.List(filepath.Join(o.dir, sub))
	if err != nil {
		return nil, err
	}
	ids := names[:0]
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ".md"); ok && inbox.CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Peek returns the header of a waiting report.
func (o *Outbox) Peek(id string) (*inbox.Message, error) { return o.box.Peek(id, false) }

// Drained says what a drain did.
type Drained struct {
	Delivered []*inbox.Message // without their bodies
	Rejected  []*inbox.Message // Outcome says why
	Problems  []error
}

// Drain moves the waiting reports into the leader's mailbox. check returns why
// a report must not be delivered, "" when it may.
func (o *Outbox) Drain(leader *inbox.Box, check func(*inbox.Message) string) (Drained, error) {
	var d Drained
	ids, err := o.IDs()
	if err != nil || len(ids) == 0 {
		return d, err
	}
	for _, id := range ids {
		if err := o.drain(leader, id, check, &d); err != nil {
			d.Problems = append(d.Problems, err)
		}
	}
	if len(d.Delivered)+len(d.Rejected) == 0 {
		return d, nil
	}
	// The reports are safe in either place; the names are made durable so that
	// a power cut does not bring one back that was read meanwhile.
	return d, errors.Join(fsx.FsyncDir(filepath.Join(leader.Dir(), "new")), fsx.FsyncDir(filepath.Join(o.dir, "new")))
}

func (o *Outbox) drain(leader *inbox.Box, id string, check func(*inbox.Message) string, d *Drained) error {
	path := o.waiting(id)
	m, err := o.box.Peek(id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another drain took it
	}
	if err != nil {
		return fmt.Errorf("drain report: %w", err)
	}
	if reason := check(m); reason != "" {
		m.Outcome = reason
		if err := o.reject(m); err != nil {
			return err
		}
		d.Rejected = append(d.Rejected, m)
		return nil
	}
	there, _, err := leader.Has(id)
	if err != nil {
		return err
	}
	if there {
		return fsx.Remove(path) // it was delivered before
	}
	err = fsx.Move(path, filepath.Join(leader.Dir(), "new", id+".md"))
	switch {
	case err == nil:
		d.Delivered = append(d.Delivered, m)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrExist):
		return fsx.Remove(path)
	}
	return fmt.Errorf("drain report: %w", err)
}

// reject writes the report, with the reason in its header, into rejected/, and
// then removes it from the waiting ones.
func (o *Outbox) reject(m *inbox.Message) error {
	full, err := o.box.Get(m.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	full.Outcome = m.Outcome
	if err := full.WriteTo(filepath.Join(o.dir, "rejected", m.ID+".md")); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("reject report: %w", err)
	}
	return fsx.Remove(o.waiting(m.ID))
}
