package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/outbox"
)

// mailboxNames lists the names that have a mailbox: the leader and every
// teammate.
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
		if (name == LeaderName || CheckName(name) == nil) && fsx.CheckDir(t.InboxDir(name)) == nil {
			names = append(names, name)
		}
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
	return t.Outbox(name).Drain(t.Box(LeaderName), func(m *inbox.Message) string {
		switch {
		case m.From != name:
			return fmt.Sprintf("it is from %q, in the outbox of %s", m.From, name)
		case tm.SpawnID == "":
			return "there is no teammate " + name
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
// done again after a crash, and by several processes at once.
func (t *Team) drainLife(ctx context.Context, tm Teammate) error {
	d, err := t.drainReports(tm.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(d.Problems...); err != nil {
		return err
	}
	box := t.Box(tm.Name)
	ids, err := box.IDs(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var problems []error
	for _, id := range ids {
		m, err := box.Peek(id, false)
		if err != nil || m.Hold != "" || m.ToSpawn != tm.Ended() {
			continue
		}
		problems = append(problems, t.undeliver(ctx, box, m))
	}
	return errors.Join(problems...)
}

// undeliver moves a message that nobody will read to the read ones, and tells
// its sender. The notice comes first: a message is never silently lost.
func (t *Team) undeliver(ctx context.Context, box *inbox.Box, m *inbox.Message) error {
	if m.Kind != inbox.KindNotice && (m.From == LeaderName || CheckName(m.From) == nil) {
		_, err := t.notify(ctx, notice{
			to: m.From, toSpawn: m.Spawn, key: "undelivered-" + m.ID, event: "undelivered", thread: m.Thread,
			body: fmt.Sprintf("%s stopped before it read your message %s: %s\n", m.To, m.ID, m.Title),
		})
		if err != nil {
			return err
		}
	}
	return box.Mark(m.ID)
}
