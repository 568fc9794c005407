package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// published is notices.json: the board revision up to which the notices that
// its events owe are published, all but those that could not be.
type published struct {
	Revision int64        `json:"revision"`
	Pending  []owedNotice `json:"pending,omitempty"`
}

// owedNotice is a notice that could not be published when its turn came, as in a
// mailbox that cannot be written. It keeps nobody else's back, and is tried again
// each time.
type owedNotice struct {
	Revision int64  `json:"revision"`
	ID       string `json:"id"`
}

func (p Place) noticesFile() string { return filepath.Join(p.TeamDir(), "notices.json") }
func (p Place) noticesLock() string { return filepath.Join(p.TeamDir(), "notices.lock") }

// keptNotices is where notices.json waits while no session runs.
func (p Place) keptNotices() string { return filepath.Join(p.BoardDir(), "notices.json") }

// PublishNotices publishes what the events of the board owe and nobody has
// published yet. Every verb that folds calls it, and every tick; a process that
// dies in between leaves the rest to the next. It returns how many it told.
func (t *Team) PublishNotices(ctx context.Context, b *fsboard.Board) (told int, err error) {
	for {
		owed, _, err := b.NoticeRevision()
		if err != nil || owed == 0 {
			return told, err
		}
		done, err := t.published()
		if err != nil || done.Revision >= owed && len(done.Pending) == 0 {
			return told, err
		}
		n, free, err := t.publishOwed(ctx, b)
		told += n
		if err != nil || !free {
			return told, err
		}
		// Somebody may have found the lock taken meanwhile and have left what
		// it owes to this process: another look, after the lock.
	}
}

// publishOwed is one round of publishing. free is false when another process
// is at it.
func (t *Team) publishOwed(ctx context.Context, b *fsboard.Board) (told int, free bool, err error) {
	if _, err := t.EnsureSession(); err != nil {
		return 0, true, err
	}
	lock, free, err := fsx.TryAcquire(t.noticesLock())
	if err != nil || !free {
		return 0, free, err
	}
	defer lock.Unlock()
	done, err := t.published()
	if err != nil {
		return 0, true, err
	}
	_, revision, err := b.NoticeRevision()
	if err != nil {
		return 0, true, err
	}
	after, late := done.Revision, map[string]bool{}
	for _, p := range done.Pending {
		after = min(after, p.Revision-1)
		late[p.ID] = true
	}
	events, _, err := b.History(fsboard.HistoryFilter{After: after})
	if err != nil {
		return 0, true, err
	}
	next := published{Revision: max(revision, done.Revision)}
	var problems []error
	for i := range events {
		e := &events[i]
		if e.Rev > revision {
			break
		}
		for _, n := range e.Notices {
			if e.Rev <= done.Revision && !late[n.ID] {
				continue
			}
			ok, err := t.publishNotice(e, n)
			if err != nil {
				problems = append(problems, err)
				next.Pending = append(next.Pending, owedNotice{e.Rev, n.ID})
				continue
			}
			if ok {
				told++
			}
		}
	}
	if next.Revision != done.Revision || !slices.Equal(next.Pending, done.Pending) || !fileExists(t.noticesFile()) {
		data, err := json.Marshal(next)
		if err == nil {
			err = fsx.Replace(t.noticesFile(), append(data, '\n'))
		}
		problems = append(problems, err)
	}
	return told, true, errors.Join(append(problems, ctx.Err())...)
}

// published reads notices.json; nothing is published when there is none. That
// of an earlier session counts for the next one.
func (t *Team) published() (published, error) {
	var p published
	path := t.noticesFile()
	data, err := fsx.ReadFile(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		path = t.keptNotices()
		data, err = fsx.ReadFile(path, 1<<20)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil || p.Revision < 0 {
		return published{}, corrupt(path, "is no record of published notices", err)
	}
	return p, nil
}

// keepNotices keeps notices.json beside the board when the session ends, so
// that the next one publishes nothing again.
func (t *Team) keepNotices() error {
	data, err := fsx.ReadFile(t.noticesFile(), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fsx.Replace(t.keptNotices(), data)
}

// publishNotice publishes one notice unless it is there already. The caller
// holds the lock on notices. Whoever has no mailbox, or another life by now,
// is not told.
func (t *Team) publishNotice(e *fsboard.Event, n fsboard.Notice) (bool, error) {
	if n.To != LeaderName {
		tm, err := t.Read(n.To)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if n.SpawnID != "" && tm.SpawnID != n.SpawnID || tm.Status == StatusStopped {
			return false, nil
		}
	}
	box := t.Box(n.To)
	there, _, err := box.Has(n.ID)
	if err != nil || there {
		return false, err
	}
	m := &inbox.Message{Body: []byte(noticeBody(e, n))}
	m.ID, m.From, m.To, m.Kind, m.Event = n.ID, HarnessName, n.To, inbox.KindNotice, e.Event
	m.Title, m.Task, m.ToSpawn, m.Thread, m.Size = inbox.Title(m.Body), e.Task, n.SpawnID, n.ID, int64(len(m.Body))
	if at, ok := inbox.IDTime(n.ID); ok {
		m.Sent = at.Format(sentLayout)
	}
	err = box.Publish(m)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// noticeBody is what a notice says: what happened, and what can be done.
func noticeBody(e *fsboard.Event, n fsboard.Notice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n", e.Task, e.Describe())
	switch e.Event {
	case fsboard.EventClaimRefused:
		b.WriteString("You do not hold it. teams claim takes the next free task.\n")
	case fsboard.EventGateFailed:
		gateFailedBody(&b, e)
	case fsboard.EventDropped:
		b.WriteString("It does not count, since the claim that it was for is gone. teams claim --mine shows what you hold.\n")
	case fsboard.EventCancelled:
		b.WriteString("Stop working on it. teams claim takes the next free task.\n")
	case fsboard.EventEdited:
		fmt.Fprintf(&b, "You still hold it unless it was assigned to somebody else. teams task show %s shows it as it is now.\n", e.Task)
	case fsboard.EventReleased:
		if n.To == LeaderName {
			fmt.Fprintf(&b, "It can be claimed again. teams log %s tells its history.\n", e.Task)
		} else {
			fmt.Fprintf(&b, "You do not hold it any more. teams claim %s takes it again if it is still free.\n", e.Task)
		}
	case fsboard.EventEscalation:
		fmt.Fprintf(&b, "The claim stays with %s. teams task show %s shows the last gate; teams task edit, teams release or a message to %s may help.\n",
			e.Worker, e.Task, e.Worker)
	}
	return b.String()
}

// gateFailedBody adds the exit code, the end of the output and the log's path.
func gateFailedBody(b *strings.Builder, e *fsboard.Event) {
	if e.Receipt == nil {
		fmt.Fprintf(b, "teams task show %s tells more.\n", e.Task)
		return
	}
	fmt.Fprintf(b, "exit code %d, log %s\nMend it, then teams submit %s\n", e.Receipt.ExitCode, e.Receipt.Log, e.Task)
	if tail := GateTail(e.Receipt.Log); tail != "" {
		b.WriteString("\n" + tail)
		if !strings.HasSuffix(tail, "\n") {
			b.WriteByte('\n')
		}
	}
}
