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
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Request is a message that waits for its reply:
// <sender>/requests/<message id>.json.
type Request struct {
	ID       string `json:"id"`
	From     string `json:"from"`
	Spawn    string `json:"spawn,omitempty"` // the asking life
	To       string `json:"to"`
	ToSpawn  string `json:"toSpawn,omitempty"`
	Title    string `json:"title"`
	Sent     int64  `json:"sent"`               // epoch ms
	Deadline int64  `json:"deadline,omitempty"` // epoch ms
}

func (t *Team) requestPath(from, id string) string {
	return filepath.Join(t.requestsDir(from), id+".json")
}

// openRequest records that a message waits for its reply.
func (t *Team) openRequest(m *inbox.Message) error {
	r := Request{ID: m.ID, From: m.From, Spawn: m.Spawn, To: m.To, ToSpawn: m.ToSpawn, Title: m.Title, Sent: m.Time().UnixMilli()}
	if at, err := time.Parse(time.RFC3339Nano, m.ExpectsReply); err == nil {
		r.Deadline = at.UnixMilli()
	}
	if err := fsx.MkdirAll(t.Root, t.requestsDir(m.From)); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	err = fsx.Publish(t.requestPath(m.From, m.ID), append(data, '\n'))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// settleRequest forgets a request that was replied to.
func (t *Team) settleRequest(m *inbox.Message) error {
	if m.ExpectsReply == "" || CheckName(m.From) != nil && m.From != LeaderName {
		return nil
	}
	return fsx.Remove(t.requestPath(m.From, m.ID))
}

// Requests lists the open requests, oldest first. An entry that cannot be read
// is a problem and leaves the others whole.
func (t *Team) Requests() ([]Request, []error, error) {
	names, err := t.mailboxNames()
	if err != nil {
		return nil, nil, err
	}
	var out []Request
	var problems []error
	for _, name := range names {
		files, err := fsx.List(t.requestsDir(name))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, file := range files {
			r, err := readRequest(filepath.Join(t.requestsDir(name), file))
			switch {
			case err == nil:
				out = append(out, r)
			case !errors.Is(err, fs.ErrNotExist):
				problems = append(problems, err)
			}
		}
	}
	slices.SortFunc(out, func(a, b Request) int { return strings.Compare(a.ID, b.ID) })
	return out, problems, nil
}

func readRequest(path string) (Request, error) {
	var r Request
	data, err := fsx.ReadFile(path, 64<<10)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil || inbox.CheckID(r.ID) != nil || filepath.Base(path) != r.ID+".json" {
		return r, corrupt(path, "is no request", err)
	}
	return r, nil
}

// Owed lists the requests that wait for a reply of one teammate.
func (t *Team) Owed(name string) ([]Request, error) {
	all, _, err := t.Requests()
	return slices.DeleteFunc(all, func(r Request) bool { return r.To != name }), err
}

// replyTo looks for the reply to a request in its sender's mailbox.
func (t *Team) replyTo(r Request) (*inbox.Message, error) {
	box := t.Box(r.From)
	for _, read := range []bool{false, true} {
		ids, err := box.IDs(read)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id[:min(len(id), len(timeDigits))] < r.ID[:min(len(r.ID), len(timeDigits))] {
				continue // sent before the request
			}
			m, err := box.Peek(id, read)
			if err == nil && m.ReplyTo == r.ID {
				return m, nil
			}
		}
	}
	return nil, nil
}

// timeDigits is as long as the part of an id that can be compared between
// senders on one machine without minding small differences: minutes.
const timeDigits = "20060102T1504"

// AwaitReply waits for the reply to a request and returns it, marked as read.
// recipient_stopped: the life that was asked is over. When ctx ends first its
// error is returned.
func (t *Team) AwaitReply(ctx context.Context, r Request, poll time.Duration) (*inbox.Message, error) {
	box := t.Box(r.From)
	w := fsx.NewWatcher(poll, filepath.Join(box.Dir(), "new"))
	defer w.Close()
	for {
		stopped := false
		if r.To != LeaderName {
			tm, err := t.Read(r.To)
			stopped = err == nil && (tm.SpawnID != r.ToSpawn || t.Liveness(tm) == fsx.Dead)
		}
		if r.From == LeaderName {
			if _, _, err := t.DrainReports(ctx); err != nil {
				return nil, err
			}
		}
		m, err := t.replyTo(r)
		if err != nil {
			return nil, err
		}
		if m != nil {
			full, err := box.Get(m.ID)
			if err != nil {
				return nil, err
			}
			return full, nil
		}
		if stopped {
			return nil, errs.New(errs.RecipientStopped, "%s stopped without a reply", r.To).WithHint("teams thread %s", r.ID)
		}
		timer := time.NewTimer(longestWait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-w.C:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// RequestOf is the request that a sent message opened.
func RequestOf(m *inbox.Message) Request {
	return Request{ID: m.ID, From: m.From, Spawn: m.Spawn, To: m.To, ToSpawn: m.ToSpawn, Title: m.Title, Sent: m.Time().UnixMilli()}
}

// remind settles requests that were replied to and tells the senders of those
// that have been open for longer than stale, once each; 0 tells nobody.
func (t *Team) remind(ctx context.Context, stale time.Duration) ([]Done, []error) {
	all, problems, err := t.Requests()
	if err != nil {
		return nil, append(problems, err)
	}
	var done []Done
	for _, r := range all {
		if stale <= 0 || nowMillis()-r.Sent < stale.Milliseconds() {
			continue
		}
		key := "stale_wait-" + r.ID
		if t.wasTold(r.From, key) {
			continue
		}
		reply, err := t.replyTo(r)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if reply != nil {
			problems = append(problems, fsx.Remove(t.requestPath(r.From, r.ID)))
			continue
		}
		told, err := t.notify(ctx, notice{
			to: r.From, toSpawn: r.Spawn, key: key, event: "stale_wait", about: r.To, body: staleBody(r, all, stale),
		})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if told {
			done = append(done, Done{"requests", "stale_wait", r.ID, "told " + r.From + " that " + r.To + " has not replied"})
		}
	}
	return done, problems
}

// staleBody lists every stale request of the same sender to the same teammate,
// since this notice takes the place of earlier ones that are unread.
func staleBody(r Request, all []Request, stale time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has not replied yet.\n", r.To)
	for _, o := range all {
		age := time.Duration(nowMillis()-o.Sent) * time.Millisecond
		if o.From == r.From && o.To == r.To && age >= stale {
			fmt.Fprintf(&b, "%s, sent %s ago: %s\n", o.ID, age.Round(time.Second), o.Title)
		}
	}
	fmt.Fprintf(&b, "Wait, ask again, or give the work to somebody else; teams thread %s shows the conversation.\n", r.ID)
	return b.String()
}
