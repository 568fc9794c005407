package team

import (
	"context"
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// ReceiveRequest says how a caller receives its mail.
type ReceiveRequest struct {
	Who Identity
	Max int // at most so many; 0: all there are
	// MaxBytes is how much Batch gets at most, or one message; 0: no matter.
	MaxBytes int64
	// Only says which messages are wanted now; the others stay unread. Nil wants
	// all.
	Only func(*inbox.Message) bool
	// Show hands over one message. Batch, used in its place when set, hands over
	// all at once, with the number of unread ones that are left; they are marked
	// when it has returned.
	Show  func(*inbox.Message) error
	Batch func(list []*inbox.Message, left int) error
}

// Receive shows the unread messages of the caller and marks them. The leader's
// reports are drained first. A message that was for another life is returned
// to its sender instead. It says how many were shown and how many are left.
// stale_identity: the caller's life is over, and what lies there is for the
// next one.
func (t *Team) Receive(ctx context.Context, r ReceiveRequest) (shown, left int, problems []error, err error) {
	box := t.Box(r.Who.Name)
	if r.Who.Leader {
		exists, err := t.Exists()
		if err != nil || !exists {
			return 0, 0, nil, err
		}
		// What an earlier session left unread comes with the first write.
		if _, err := t.EnsureSession(); err != nil {
			return 0, 0, nil, err
		}
		if _, problems, err = t.DrainReports(ctx); err != nil {
			return 0, 0, problems, err
		}
	}
	o := &owner{t: t, who: r.Who, box: box}
	if err := o.check(); err != nil {
		return 0, 0, problems, err
	}
	rec := inbox.Receiving{Max: r.Max, MaxBytes: r.MaxBytes, Show: r.Show, Accept: o.accept(ctx)}
	if r.Only != nil {
		all := rec.Accept
		rec.Accept = func(m *inbox.Message) (bool, error) {
			ok, err := all(m)
			return ok && err == nil && r.Only(m), err
		}
	}
	var more []error
	if r.Batch != nil {
		shown, more, err = box.ReceiveAll(rec, func(list []*inbox.Message) error {
			ids, err := box.IDs(false)
			if err != nil {
				return err
			}
			return r.Batch(list, max(len(ids)-len(list), 0))
		})
	} else {
		shown, more, err = box.Receive(rec)
	}
	problems = append(problems, more...)
	if err == nil {
		err = o.err
	}
	if err != nil {
		return shown, 0, problems, err
	}
	ids, err := box.IDs(false)
	return shown, len(ids), problems, err
}

// owner is the owner of a mailbox who receives from it. It decides for each
// message whether it is for this life.
type owner struct {
	t   *Team
	who Identity
	box *inbox.Box
	err error // why no message may be shown at all
}

// check refuses a life that is over. The leader has only one.
func (o *owner) check() error {
	if o.who.Leader {
		return nil
	}
	over, err := o.t.lifeOver(o.who.Name, o.who.SpawnID)
	if err == nil && over {
		err = staleIdentity(o.who.Name)
	}
	return err
}

// accept is asked for each message, which nobody else shows meanwhile. A life
// that ends while it receives gets nothing of its successor's, and returns
// nothing of it.
func (o *owner) accept(ctx context.Context) func(*inbox.Message) (bool, error) {
	return func(m *inbox.Message) (bool, error) {
		if o.err == nil {
			o.err = o.check()
		}
		switch {
		case o.err != nil:
			return false, nil
		case m.Read, o.who.Leader, m.Hold != "", m.ToSpawn == "", m.ToSpawn == o.who.SpawnID:
			return true, nil
		}
		return false, o.t.undeliver(ctx, o.box, m)
	}
}

// Look shows the unread messages of a mailbox that are not in seen, notes them
// there, and changes nothing else but, for the leader, the place of its reports.
// What is not unread any more is forgotten in seen.
func (t *Team) Look(ctx context.Context, who Identity, seen map[string]bool, show func(*inbox.Message) error) (problems []error, err error) {
	if problems, err = t.openForLook(ctx, who); err != nil {
		return problems, ignoreUnwritten(err)
	}
	box := t.Box(who.Name)
	ids, err := box.IDs(false)
	if err != nil {
		return problems, err
	}
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
		if seen[id] {
			continue
		}
		m, err := box.Get(id)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			continue
		case err != nil:
			problems = append(problems, err)
			continue
		case !m.Read:
			if err := show(m); err != nil {
				return problems, err
			}
		}
		seen[id] = true
	}
	for id := range seen {
		if !there[id] {
			delete(seen, id)
		}
	}
	return problems, nil
}

// errUnwritten says that a session has nothing to read yet.
var errUnwritten = errors.New("nothing has been written")

func ignoreUnwritten(err error) error {
	if errors.Is(err, errUnwritten) {
		return nil
	}
	return err
}

// openForLook prepares a look into a mailbox: the leader's gets the reports
// that wait for it. errUnwritten: there is no mailbox, and nothing is wrong;
// not_found: there is no teammate of that name.
func (t *Team) openForLook(ctx context.Context, who Identity) (problems []error, err error) {
	exists, err := t.Exists()
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, errUnwritten
	}
	if !who.Leader {
		_, err := t.Find(who.Name)
		return nil, err
	}
	if _, problems, err = t.DrainReports(ctx); err != nil {
		return problems, err
	}
	if _, err := t.ReadSession(); !errors.Is(err, fs.ErrNotExist) {
		return problems, err
	}
	// There is a board and no running team. What an earlier session left unread
	// is put back for whoever asks for it.
	kept, err := fsx.List(t.boardMail())
	if err != nil {
		return problems, err
	}
	if len(kept) == 0 {
		return problems, errUnwritten
	}
	_, err = t.EnsureSession()
	return problems, err
}

// Mail shows one message of a mailbox, read or not, and marks it unless peek is
// set. not_found: there is none, or it was for an earlier life and has now been
// returned to its sender; busy: somebody else is showing it.
func (t *Team) Mail(ctx context.Context, who Identity, id string, show func(*inbox.Message) error, peek bool) (problems []error, err error) {
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	if problems, err = t.openForLook(ctx, who); err != nil {
		if errors.Is(err, errUnwritten) {
			err = noMessage(id)
		}
		return problems, err
	}
	box := t.Box(who.Name)
	rec := inbox.Receiving{Show: show, Keep: peek}
	o := &owner{t: t, who: who, box: box}
	if !peek {
		if err := o.check(); err != nil {
			return problems, err
		}
		rec.Accept = o.accept(ctx)
	}
	shown, err := box.ReceiveID(id, rec)
	if err == nil {
		err = o.err
	}
	if err == nil && !shown {
		err = errs.New(errs.NotFound, "message %s was for an earlier life of %s, it has been returned to its sender", id, who.Name)
	}
	return problems, err
}

func noMessage(id string) error {
	return errs.New(errs.NotFound, "there is no message %s here", id).WithHint("teams inbox --all shows the ids")
}

// Inbox lists a mailbox without changing anything but, for the leader, the
// place of its reports. A session without state has no mail.
func (t *Team) Inbox(ctx context.Context, who Identity, all bool) (list []*inbox.Message, problems []error, err error) {
	if problems, err = t.openForLook(ctx, who); err != nil {
		return nil, problems, ignoreUnwritten(err)
	}
	list, more, err := t.Box(who.Name).List(all)
	return list, append(problems, more...), err
}

// Unread makes a message of the caller's unread again.
func (t *Team) Unread(ctx context.Context, who Identity, id string) (*inbox.Message, error) {
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	if _, err := t.openForLook(ctx, who); errors.Is(err, errUnwritten) {
		return nil, noMessage(id)
	} else if err != nil {
		return nil, err
	}
	box := t.Box(who.Name)
	if err := box.Unread(id); err != nil {
		return nil, err
	}
	return peekAny(box, id)
}
