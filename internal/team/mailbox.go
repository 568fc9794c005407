package team

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// ReceiveRequest says how a caller receives its mail.
type ReceiveRequest struct {
	Who  Identity
	Max  int
	Keep bool // leave the messages unread
	// Show hands over one message. Batch, used in its place when set, hands over
	// all at once; they are marked when it has returned.
	Show  func(*inbox.Message) error
	Batch func([]*inbox.Message) error
}

// Receive shows the unread messages of the caller and marks them. The leader's
// reports are drained first. A message that was for another life is returned
// to its sender instead. It says how many were shown and how many are left.
func (t *Team) Receive(ctx context.Context, r ReceiveRequest) (shown, left int, problems []error, err error) {
	box, err := t.openBox(r.Who)
	if err != nil {
		return 0, 0, nil, err
	}
	if r.Who.Leader {
		if _, problems, err = t.DrainReports(ctx); err != nil {
			return 0, 0, problems, err
		}
	}
	rec := inbox.Receiving{Max: r.Max, Keep: r.Keep, Show: r.Show, Accept: func(m *inbox.Message) (bool, error) {
		if r.Who.Leader || m.Hold != "" || m.ToSpawn == "" || m.ToSpawn == r.Who.SpawnID {
			return true, nil
		}
		return false, t.undeliver(ctx, box, m)
	}}
	var more []error
	if r.Batch != nil {
		shown, more, err = box.ReceiveAll(rec, r.Batch)
	} else {
		shown, more, err = box.Receive(rec)
	}
	problems = append(problems, more...)
	if err != nil {
		return shown, 0, problems, err
	}
	ids, err := box.IDs(false)
	if r.Keep {
		return shown, max(len(ids)-shown, 0), problems, err
	}
	return shown, len(ids), problems, err
}

// openBox is the caller's own mailbox, which must be there.
func (t *Team) openBox(who Identity) (*inbox.Box, error) {
	if who.Leader {
		if _, err := t.EnsureSession(); err != nil {
			return nil, err
		}
	}
	return t.Box(who.Name), nil
}

// Inbox lists a mailbox without changing anything but, for the leader, the
// place of its reports. A session without state has no mail.
func (t *Team) Inbox(ctx context.Context, who Identity, all bool) (list []*inbox.Message, problems []error, err error) {
	exists, err := t.Exists()
	if err != nil || !exists {
		return nil, nil, err
	}
	if who.Leader {
		if _, problems, err = t.DrainReports(ctx); err != nil {
			return nil, problems, err
		}
	} else if _, err := t.Find(who.Name); err != nil {
		return nil, nil, err
	}
	list, more, err := t.Box(who.Name).List(all)
	if errors.Is(err, fs.ErrNotExist) && who.Leader {
		return nil, problems, nil // nobody has written to it yet
	}
	return list, append(problems, more...), err
}

// Mail reads one message of a mailbox and marks it unless peek is set.
func (t *Team) Mail(ctx context.Context, who Identity, id string, show func(*inbox.Message) error, peek bool) error {
	if who.Leader {
		if _, _, err := t.DrainReports(ctx); err != nil {
			return err
		}
	}
	box := t.Box(who.Name)
	m, err := box.Get(id)
	if errors.Is(err, fs.ErrNotExist) {
		return errs.New(errs.NotFound, "there is no message %s here", id).WithHint("teams inbox --all shows the ids")
	}
	if err != nil {
		return err
	}
	if err := show(m); err != nil || peek || m.Read {
		return err
	}
	return box.Mark(id)
}

// findMessage finds a message that the caller got or sent.
func (t *Team) findMessage(who Identity, id string) (*inbox.Message, error) {
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	names, err := t.mailboxNames()
	if err != nil {
		return nil, err
	}
	// Its own box first: that is where what one replies to lies.
	slices.SortStableFunc(names, func(a, b string) int {
		return boolOrder(b == who.Name) - boolOrder(a == who.Name)
	})
	for _, name := range names {
		box := t.Box(name)
		there, read, err := box.Has(id)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		m, err := box.Peek(id, read)
		if err == nil && (name == who.Name || m.From == who.Name) {
			return m, nil
		}
	}
	return nil, errs.New(errs.NotFound, "there is no message %s that %s got or sent", id, who.Name).WithHint("teams inbox --all shows the ids")
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sent lists what a caller has sent, as it lies at the recipients; reports
// that wait in its outbox are there too.
func (t *Team) Sent(who Identity, unreadOnly bool) ([]*inbox.Message, []error, error) {
	return t.collect(func(name string, m *inbox.Message) bool {
		return m.From == who.Name && name != who.Name && !(unreadOnly && m.Read)
	}, who.Name)
}

// Thread lists a conversation from both sides, oldest first. id is any message
// of it.
func (t *Team) Thread(who Identity, id string) ([]*inbox.Message, []error, error) {
	first, err := t.findMessage(who, id)
	if err != nil {
		return nil, nil, err
	}
	list, problems, err := t.collect(func(name string, m *inbox.Message) bool {
		return m.Thread == first.Thread && (name == who.Name || m.From == who.Name)
	}, who.Name)
	if err != nil {
		return nil, problems, err
	}
	for i, m := range list {
		full, err := t.whole(m)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list[i] = full
	}
	return list, problems, nil
}

// whole reads a message with its body from where it lies.
func (t *Team) whole(m *inbox.Message) (*inbox.Message, error) {
	full, err := t.Box(m.To).Get(m.ID)
	if err != nil && m.Kind == inbox.KindReport {
		if waiting, werr := inbox.Open(t.Root, t.OutboxDir(m.From)).Get(m.ID); werr == nil {
			return waiting, nil
		}
	}
	return full, err
}

// collect lists the messages of all mailboxes that a test selects, and those
// that wait in a sender's outbox, in the order of their ids.
func (t *Team) collect(keep func(name string, m *inbox.Message) bool, sender string) ([]*inbox.Message, []error, error) {
	names, err := t.mailboxNames()
	if err != nil {
		return nil, nil, err
	}
	var out []*inbox.Message
	var problems []error
	seen := map[string]bool{}
	add := func(name string, m *inbox.Message) {
		if !seen[m.To+"/"+m.ID] && keep(name, m) {
			seen[m.To+"/"+m.ID] = true
			out = append(out, m)
		}
	}
	if sender != LeaderName {
		ids, err := t.Outbox(sender).IDs()
		if err != nil {
			problems = append(problems, err)
		}
		for _, id := range ids {
			if m, err := t.Outbox(sender).Peek(id); err == nil {
				add(LeaderName, m)
			}
		}
	}
	for _, name := range names {
		list, more, err := t.Box(name).List(true)
		if err != nil {
			return nil, nil, err
		}
		problems = append(problems, more...)
		for _, m := range list {
			add(name, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *inbox.Message) int { return strings.Compare(a.ID, b.ID) })
	return out, problems, nil
}

// MailWaiter pauses until something new may lie in a mailbox, or for a second,
// which is how often the leader's reports are drained.
type MailWaiter struct{ watcher *fsx.Watcher }

// NewMailWaiter watches the caller's mailbox.
func (t *Team) NewMailWaiter(who Identity, poll time.Duration) *MailWaiter {
	return &MailWaiter{watcher: fsx.NewWatcher(poll, filepath.Join(t.InboxDir(who.Name), "new"))}
}

// Polling reports whether the watcher has to look instead of being told.
func (w *MailWaiter) Polling() bool { return w.watcher.Polling() }

// Wait pauses. It returns ctx's error when that ended.
func (w *MailWaiter) Wait(ctx context.Context) error {
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-w.watcher.C:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Close ends the watching.
func (w *MailWaiter) Close() { w.watcher.Close() }

// HoldLead takes the lock of a leader's session. conflict: another one has it.
func (t *Team) HoldLead() (*fsx.Lock, error) {
	if _, err := t.EnsureSession(); err != nil {
		return nil, err
	}
	lock, ok, err := fsx.AcquireTenure(t.AliveLock(LeaderName), tenureWait)
	if err != nil {
		return nil, err
	}
	if !ok {
		e := errs.New(errs.Conflict, "another leader's session follows already").WithPath(t.AliveLock(LeaderName))
		return nil, e.WithHint("use another session: --session %s-2", t.Session)
	}
	return lock, nil
}

// ReplyRecipient is who gets the reply to a message: its sender, or for a
// message of one's own its recipient.
func (t *Team) ReplyRecipient(who Identity, id string) (string, error) {
	m, err := t.findMessage(who, id)
	if err != nil {
		return "", err
	}
	to := m.From
	if to == who.Name {
		to = m.To
	}
	if to == HarnessName || to == inbox.Unknown {
		return "", errs.New(errs.Conflict, "%s is from %s, which reads no mail", id, to).WithHint("teams send NAME - sends to somebody")
	}
	return to, nil
}
