// Package outbox carries the reports of a teammate to its leader.
//
// A report is published into the teammate's own outbox, with the id of the life
// that speaks; that is when it is sent. A drain validates each report and moves
// it by rename into the leader's mailbox, exactly once whoever drains and
// whatever dies; what is stale or foreign goes to rejected/ with the reason in
// its header and never reaches the leader. Any number of drains may run at once.
package outbox

import (
	"fmt"
	"path/filepath"

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

// ext is the ending of a report's file.
const ext = ".md"

func (o *Outbox) waiting(id string) string  { return filepath.Join(o.dir, "new", id+ext) }
func (o *Outbox) rejected(id string) string { return filepath.Join(o.dir, "rejected", id+ext) }

// Create makes the outbox's directories.
func (o *Outbox) Create() error {
	for _, name := range []string{"tmp", "new", "rejected"} {
		if err := fsx.MkdirAll(o.root, filepath.Join(o.dir, name)); err != nil {
			return fmt.Errorf("create outbox: %w", err)
		}
	}
	return nil
}

// Check refuses an outbox that is not there, or that is or lies below what is
// no real directory. A missing one is fs.ErrNotExist.
func (o *Outbox) Check() error { return o.box.CheckNew() }

// Send publishes a report: it is on disk when Send returns, and every later
// drain delivers or rejects it.
func (o *Outbox) Send(m *inbox.Message) error { return o.box.PublishNew(m) }

// SendOnce is Send at most once per key; see [inbox.Box.PublishOnce].
func (o *Outbox) SendOnce(dir, key string, m *inbox.Message) (id string, first bool, err error) {
	return o.box.PublishOnce(dir, key, m)
}

// Withdraw takes a report back that no drain has taken yet; false when one has.
func (o *Outbox) Withdraw(id string) (bool, error) { return o.box.Withdraw(id) }

// IDs lists the reports that wait, in order. An outbox that is not there is
// fs.ErrNotExist: only one that can be read is ever empty.
func (o *Outbox) IDs() ([]string, error) { return o.box.NewIDs() }

// Rejected lists the reports that were rejected, in order.
func (o *Outbox) Rejected() ([]string, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return inbox.ListIDs(filepath.Join(o.dir, "rejected"))
}

// Peek returns the header of a waiting report.
func (o *Outbox) Peek(id string) (*inbox.Message, error) { return o.box.Peek(id, false) }

// Get returns a waiting report with its body, not_found when there is none.
func (o *Outbox) Get(id string) (*inbox.Message, error) { return o.box.Get(id) }

// PeekRejected returns the header of a rejected report; Outcome says why it was
// rejected.
func (o *Outbox) PeekRejected(id string) (*inbox.Message, error) {
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	return inbox.PeekFile(o.rejected(id))
}

// Strays lists the paths of what lies among the waiting reports under names
// that are none of a report.
func (o *Outbox) Strays() ([]string, error) { return o.box.Strays() }
