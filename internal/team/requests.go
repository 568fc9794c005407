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

// requestsDir holds the requests of a sender that wait for a reply.
func (p Place) requestsDir(name string) string { return filepath.Join(p.TeamDir(), name, "requests") }

func (t *Team) requestPath(from, id string) string {
	return filepath.Join(t.requestsDir(from), id+".json")
}

// openRequest records that a message waits for its reply.
func (t *Team) openRequest(m *inbox.Message) error {
	if err := fsx.MkdirAll(t.Root, t.requestsDir(m.From)); err != nil {
		return err
	}
	data, err := json.MarshalIndent(RequestOf(m), "", " ")
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
		list, more := t.requestsOf(name)
		out, problems = append(out, list...), append(problems, more...)
	}
	slices.SortFunc(out, func(a, b Request) int { return strings.Compare(a.ID, b.ID) })
	return out, problems, nil
}

// requestsOf lists the open requests of one sender.
func (t *Team) requestsOf(name string) (out []Request, problems []error) {
	files, err := fsx.List(t.requestsDir(name))
	if err != nil {
		return nil, []error{err}
	}
	for _, file := range files {
		path := filepath.Join(t.requestsDir(name), file)
		r, err := readRequest(path)
		if err == nil && r.From != name {
			err = corrupt(path, "is a request of another sender", nil)
		}
		switch {
		case err == nil:
			out = append(out, r)
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, err)
		}
	}
	return out, problems
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

// Owed lists the messages whose senders wait for the caller's reply, oldest
// first. What an earlier life of the caller owed, the present one does not.
func (t *Team) Owed(ctx context.Context, who Identity) (list []*inbox.Message, problems []error, err error) {
	if problems, err = t.openForLook(ctx, who); err != nil {
		return nil, problems, ignoreUnwritten(err)
	}
	if !who.Leader {
		tm, err := t.Read(who.Name)
		if err != nil {
			return nil, problems, err
		}
		who.SpawnID = tm.SpawnID
	}
	all, more, err := t.Requests()
	problems = append(problems, more...)
	if err != nil {
		return nil, problems, err
	}
	for _, r := range all {
		if r.To != who.Name || r.ToSpawn != "" && r.ToSpawn != who.SpawnID {
			continue
		}
		m, err := peekAny(t.Box(who.Name), r.ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has not been sent yet
		}
		if err == nil {
			var reply *inbox.Message
			if reply, err = t.replyTo(r); reply != nil {
				continue
			}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, m)
	}
	return list, problems, nil
}

// replyTo looks for the reply to a request: in its sender's mailbox, or for the
// leader's requests also in the outbox of whoever was asked.
func (t *Team) replyTo(r Request) (*inbox.Message, error) {
	if r.From == LeaderName {
		ids, err := t.Outbox(r.To).IDs()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, id := range ids {
			if m, err := t.Outbox(r.To).Peek(id); err == nil && r.answeredBy(m) {
				return m, nil
			}
		}
	}
	from := maybeFrom(r.To)
	list, _, err := t.Box(r.From).Find(inbox.Query{All: true, Match: r.answeredBy, ID: func(id string) bool {
		// What was sent before the request is no reply.
		return from(id) && id[:min(len(id), len(timeDigits))] >= r.ID[:min(len(r.ID), len(timeDigits))]
	}})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// answeredBy reports whether a message is the reply.
func (r *Request) answeredBy(m *inbox.Message) bool { return m.ReplyTo == r.ID && m.From == r.To }

// timeDigits is as long as the part of an id that can be compared between
// senders on one machine without minding small differences: minutes.
const timeDigits = "20060102T1504"

// AwaitReply waits for the reply to a request of the caller, shows it and marks
// it as read. recipient_stopped: the life that was asked is over, and its last
// word was something else; a request that was held for whoever comes next has
// no such end. stale_identity: the caller's own life is over. When ctx ends
// first its error is returned.
func (t *Team) AwaitReply(ctx context.Context, who Identity, r Request, w *MailWaiter, show func(*inbox.Message) error) error {
	box := t.Box(who.Name)
	o := &owner{t: t, who: who, box: box}
	for {
		if err := o.check(); err != nil {
			return err
		}
		// First whether it has stopped: what it said before is there after that.
		stopped, err := t.stopped(r)
		if err != nil {
			return err
		}
		if who.Leader {
			if _, _, err := t.DrainReports(ctx); err != nil {
				return err
			}
		}
		reply, err := t.replyTo(r)
		if err != nil {
			return err
		}
		if reply != nil {
			shown, err := box.ReceiveID(reply.ID, inbox.Receiving{Show: show, Accept: o.accept(ctx)})
			switch code := errs.CodeOf(err); {
			case o.err != nil:
				return o.err
			case shown:
				return err
			case err != nil && code != errs.Busy && code != errs.NotFound:
				return err
			}
			// Another receiver is showing it, or it waits to be drained.
			stopped = false
		}
		if stopped {
			return errs.New(errs.RecipientStopped, "%s stopped without a reply", r.To).WithHint("teams thread %s", r.ID)
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
	}
}

// stopped reports whether the life that a request was sent to is over.
func (t *Team) stopped(r Request) (bool, error) {
	if r.To == LeaderName || r.ToSpawn == "" {
		return false, nil
	}
	tm, err := t.Read(r.To)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return tm.SpawnID != r.ToSpawn || t.Liveness(tm) == fsx.Dead, nil
}

// RequestOf is the request that a sent message opened.
func RequestOf(m *inbox.Message) Request {
	r := Request{ID: m.ID, From: m.From, Spawn: m.Spawn, To: m.To, ToSpawn: m.ToSpawn, Title: m.Title, Sent: m.Time().UnixMilli()}
	if at, err := time.Parse(time.RFC3339Nano, m.ExpectsReply); err == nil {
		r.Deadline = at.UnixMilli()
	}
	return r
}

// lostRequest is the age from which a request whose message is nowhere is
// taken to have died with its sender, or to have been collected.
const lostRequest = 10 * time.Minute

// remind tells the senders of requests that have been open for longer than
// stale, once each; 0 tells nobody. Requests that were replied to, or that
// nobody waits for any more, are forgotten.
func (t *Team) remind(ctx context.Context, stale time.Duration) ([]Done, []error) {
	all, problems, err := t.Requests()
	if err != nil {
		return nil, append(problems, err)
	}
	var done []Done
	for _, r := range all {
		age := time.Duration(nowMillis()-r.Sent) * time.Millisecond
		key := "stale_wait-" + shortID(r.ID)
		if stale <= 0 || age < stale || t.wasTold(r.From, lifeKey(key, r.Spawn)) {
			continue
		}
		open, err := t.stillOpen(r, age)
		switch {
		case err != nil:
			problems = append(problems, err)
			continue
		case !open:
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

// stillOpen reports whether anybody still waits for a reply to a request, and
// forgets one for which nobody does.
func (t *Team) stillOpen(r Request, age time.Duration) (bool, error) {
	if r.From != LeaderName {
		over, err := t.lifeOver(r.From, r.Spawn)
		if err != nil {
			return false, err
		}
		if over {
			return false, fsx.Remove(t.requestPath(r.From, r.ID))
		}
	}
	_, err := peekAny(t.Box(r.To), r.ID)
	if errors.Is(err, fs.ErrNotExist) && r.To == LeaderName {
		_, err = t.peekReport(r.From, r.ID)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if age > lostRequest {
			return false, fsx.Remove(t.requestPath(r.From, r.ID))
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	reply, err := t.replyTo(r)
	if err != nil || reply == nil {
		return err == nil, err
	}
	return false, fsx.Remove(t.requestPath(r.From, r.ID))
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
