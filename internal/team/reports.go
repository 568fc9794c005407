package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/outbox"
)

// mailboxNames lists the names that have a mailbox, the leader and every
// teammate, and those whose mailbox should be there: that it cannot be read is
// for whoever opens it to tell. What is being created just now is left out.
func (t *Team) mailboxNames() ([]string, error) {
	err := t.checkDirs("teammate", t.Session)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := fsx.List(t.TeamDir())
	if err != nil {
		return nil, err
	}
	names := all[:0]
	for _, name := range all {
		if name != LeaderName && CheckName(name) != nil {
			continue // a file or another directory of the session
		}
		if err := fsx.CheckDir(t.InboxDir(name)); errors.Is(err, fs.ErrNotExist) {
			record := t.TeammateFile(name)
			if name == LeaderName {
				record = t.SessionFile()
			}
			if _, err := os.Lstat(record); errors.Is(err, fs.ErrNotExist) {
				continue // records come last
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// DrainReports moves the waiting reports of all teammates into the leader's
// mailbox. One outbox that cannot be read spoils only itself.
func (t *Team) DrainReports(ctx context.Context) ([]Done, []error, error) {
	names, err := t.mailboxNames()
	if err != nil {
		return nil, nil, err
	}
	var done []Done
	var problems []error
	for _, name := range names {
		if name == LeaderName {
			continue
		}
		ids, err := t.Outbox(name).IDs()
		if errors.Is(err, fs.ErrNotExist) {
			if _, rerr := t.Read(name); errors.Is(rerr, fs.ErrNotExist) {
				continue // somebody is joining: the directories come before the record
			}
			ids, err = t.Outbox(name).IDs() // and were made meanwhile
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := t.EnsureSession(); err != nil {
			return done, problems, err
		}
		d, err := t.drainReports(name)
		problems = append(problems, err)
		problems = append(problems, d.Problems...)
		for _, m := range d.Delivered {
			done = append(done, Done{"drain", "report", m.ID, "report of " + name + ": " + m.Title})
		}
		for _, m := range d.Rejected {
			done = append(done, Done{"drain", "rejected", m.ID, "a report in the outbox of " + name + " was rejected: " + m.Outcome})
		}
	}
	return done, compact(problems), nil
}

func compact(list []error) []error {
	out := list[:0]
	for _, err := range list {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// drainReports drains one outbox.
func (t *Team) drainReports(name string) (outbox.Drained, error) {
	tm, err := t.Read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return outbox.Drained{}, err // who may speak cannot be told now
	}
	fresh := false
	return t.Outbox(name).Drain(t.Box(LeaderName), func(m *inbox.Message) string {
		if !fresh {
			// The record as it is after the reports were listed: by one from
			// before, a report could pass whose life was over when it was sent.
			if now, err := t.Read(name); err == nil || errors.Is(err, fs.ErrNotExist) {
				tm, fresh = now, true
			}
		}
		switch {
		case m.From != name:
			return fmt.Sprintf("it is from %q, in the outbox of %s", m.From, name)
		case tm.SpawnID == "":
			return "there is no teammate " + name
		case m.Spawn == "":
			return "it does not say of which life of " + name + " it is"
		case m.Spawn == tm.SpawnID && (tm.Status != StatusStopped || !tm.Drained):
			return ""
		case m.Spawn == tm.Ended() && !tm.Drained:
			return ""
		}
		return "it is of a life that is over"
	})
}

// drainLife finishes the end of a life: its outbox is drained, and the unread
// mail that was for it alone goes back with a notice to each sender. It may be
// done again after a crash, and by several processes at once. A message that
// cannot go back now, or that somebody of the old life is just reading, stays
// where it lies and keeps nobody from the name: no later life is shown it, and
// whoever receives there returns it.
func (t *Team) drainLife(ctx context.Context, tm Teammate) error {
	d, err := t.drainReports(tm.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(d.Problems...); err != nil {
		return err // it would be a stale one after this
	}
	box := t.Box(tm.Name)
	ids, err := box.IDs(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ofIt := func(m *inbox.Message) bool { return m.Hold == "" && m.ToSpawn == tm.Ended() }
	for _, id := range ids {
		if m, err := box.Peek(id, false); err != nil || !ofIt(m) {
			continue
		}
		_, _ = box.ReceiveID(id, inbox.Receiving{Accept: func(m *inbox.Message) (bool, error) {
			if m.Read || !ofIt(m) {
				return false, nil
			}
			return false, t.undeliver(ctx, box, m)
		}})
	}
	return ctx.Err()
}

// undeliver moves a message that nobody will read to the read ones, and tells
// its sender. The notice comes first: a message is never silently lost.
func (t *Team) undeliver(ctx context.Context, box *inbox.Box, m *inbox.Message) error {
	if m.Kind != inbox.KindNotice && (m.From == LeaderName || CheckName(m.From) == nil) {
		_, err := t.notify(ctx, notice{
			to: m.From, toSpawn: m.Spawn, key: undeliveredKey(m.ID), event: "undelivered", thread: m.Thread, task: m.Task,
			body: fmt.Sprintf("%s stopped before it read your message %s: %s\n", m.To, m.ID, m.Title),
		})
		if err != nil {
			return err
		}
	}
	return box.Mark(m.ID)
}

// undeliveredKey is what the sender of a message is told once when it comes
// back.
func undeliveredKey(id string) string { return "undelivered-" + shortID(id) }

// shortID is an id as part of a key's name, which must not be too long.
func shortID(id string) string {
	if len(id) > 100 { // ours are shorter
		return digest(id)
	}
	return id
}
