package team

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/outbox"
)

// HarnessName is the sender of notices. No teammate can have it.
const HarnessName = "harness"

// AllName stands for every living teammate but the sender.
const AllName = "all"

// SendRequest is a message to be sent.
type SendRequest struct {
	From         Identity
	To           []string // teammates, LeaderName, or AllName
	Body         []byte
	Status       string // of a report to the leader
	ReplyTo      string // the message that this one answers
	Task         string
	Key          string // sending the same key again is the same message
	Later        bool   // not before the end of the reader's run
	Hold         bool   // a stopped teammate's successor shall have it
	AllowEmpty   bool
	ExpectsReply bool
	Deadline     time.Duration // of the reply; 0: none
}

// How a message was delivered.
const (
	DeliveryQueued = "queued" // it lies in the recipient's mailbox
	DeliveryHeld   = "held"   // it waits for the name's next life
	DeliveryOutbox = "outbox" // it is a report on its way to the leader
)

// Sent is one message that was sent.
type Sent struct {
	Message  *inbox.Message
	Delivery string
	SilentMs int64 // how long a working recipient has been silent, when that is long
	Repeated bool  // the key was used before; Message has the first one's id
}

// Box is a teammate's mailbox, or the leader's.
func (t *Team) Box(name string) *inbox.Box { return inbox.Open(t.Root, t.InboxDir(name)) }

// Outbox is where a teammate's reports wait.
func (t *Team) Outbox(name string) *outbox.Outbox { return outbox.Open(t.Root, t.OutboxDir(name)) }

// recipient is one resolved addressee.
type recipient struct {
	name string
	life Teammate // zero for the leader
	hold bool
}

// Send sends a message to each recipient. All of them are looked at before
// anything is written; an unknown name, a stopped teammate or an empty body
// sends nothing. A message is sent when it is durably where its reader finds
// it, and a second look shows that reader and sender are still who they were.
func (t *Team) Send(ctx context.Context, r SendRequest) ([]Sent, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	to, err := t.recipients(&r)
	if err != nil {
		return nil, err
	}
	var parent *inbox.Message
	if r.ReplyTo != "" {
		if parent, err = t.findMessage(r.From, r.ReplyTo); err != nil {
			return nil, err
		}
	}
	if _, err := t.EnsureSession(); err != nil {
		return nil, err
	}
	sent := make([]Sent, 0, len(to))
	for i := range to {
		s, err := t.sendOne(ctx, &r, &to[i], parent)
		if err != nil {
			return sent, err
		}
		sent = append(sent, s)
	}
	return sent, nil
}

func (r *SendRequest) check() error {
	switch {
	case len(r.Body) == 0 && !r.AllowEmpty:
		return errs.New(errs.Usage, "the message is empty").WithHint("--allow-empty sends it all the same")
	case len(r.Body) > inbox.MaxBody:
		return inbox.TooLarge(int64(len(r.Body)))
	case r.Status != "" && (r.From.Leader || !slices.Equal(r.To, []string{LeaderName})):
		return errs.New(errs.Usage, "a status belongs to a report of a teammate to the leader")
	case len(r.Key) > 256:
		return errs.New(errs.Usage, "the key has %d bytes, at most 256 are allowed", len(r.Key))
	}
	switch r.Status {
	case "", inbox.StatusInProgress, inbox.StatusCompleted, inbox.StatusFailed:
		return nil
	}
	return errs.New(errs.Usage, "%q is no status of a report", r.Status).WithHint("in_progress, completed or failed")
}

// recipients resolves the names.
func (t *Team) recipients(r *SendRequest) ([]recipient, error) {
	var out []recipient
	seen := map[string]bool{}
	add := func(rc recipient) {
		if !seen[rc.name] {
			seen[rc.name] = true
			out = append(out, rc)
		}
	}
	for _, name := range r.To {
		switch name {
		case r.From.Name:
			return nil, errs.New(errs.Usage, "%s cannot send to itself", name)
		case LeaderName:
			add(recipient{name: LeaderName})
			continue
		case AllName:
			living, err := t.living(r.From.Name)
			if err != nil {
				return nil, err
			}
			for _, tm := range living {
				add(recipient{name: tm.Name, life: tm})
			}
			continue
		}
		tm, err := t.addressee(name)
		if err != nil {
			return nil, err
		}
		rc := recipient{name: name, life: tm}
		if t.Liveness(tm) == fsx.Dead {
			if !r.Hold {
				return nil, errs.New(errs.Stopped, "%s has stopped", name).WithHint("--hold keeps the message for its successor")
			}
			rc.hold = true
		}
		add(rc)
	}
	if len(out) == 0 {
		return nil, errs.New(errs.NotFound, "there is no other living teammate").WithHint("teams sessions tells how many live")
	}
	return out, nil
}

// living lists the teammates that are not over, but for one.
func (t *Team) living(but string) ([]Teammate, error) {
	all, _, err := t.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(tm Teammate) bool { return tm.Name == but || t.Liveness(tm) == fsx.Dead }), nil
}

// addressee finds the teammate of a name, or names the nearest one.
func (t *Team) addressee(name string) (Teammate, error) {
	if err := CheckName(name); err != nil {
		return Teammate{}, err
	}
	tm, err := t.Read(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return tm, err
	}
	e := errs.New(errs.NotFound, "there is no teammate named %s", name)
	all, _, lerr := t.List()
	if lerr != nil {
		return Teammate{}, e
	}
	names := []string{LeaderName}
	for _, tm := range all {
		names = append(names, tm.Name)
	}
	if near := nearestName(name, names); near != "" {
		return Teammate{}, e.WithHint("did you mean %s?", near)
	}
	return Teammate{}, e
}

// sendOne sends to one recipient.
func (t *Team) sendOne(ctx context.Context, r *SendRequest, to *recipient, parent *inbox.Message) (Sent, error) {
	id, at, err := inbox.NextID(ctx, t.TeammateDir(r.From.Name), r.From.Name)
	if err != nil {
		return Sent{}, err
	}
	m := &inbox.Message{Body: r.Body, Size: int64(len(r.Body))}
	m.ID, m.From, m.To, m.Kind, m.Title = id, r.From.Name, to.name, inbox.KindMessage, inbox.Title(r.Body)
	m.Sent = at.Format(sentLayout)
	m.Status, m.Task, m.Key, m.Spawn = r.Status, r.Task, r.Key, r.From.SpawnID
	m.Thread = id
	if parent != nil {
		m.ReplyTo, m.Thread = parent.ID, parent.Thread
	}
	if r.Later {
		m.Later = "true"
	}
	if r.ExpectsReply {
		m.ExpectsReply = "true"
		if r.Deadline > 0 {
			m.ExpectsReply = at.Add(r.Deadline).Format(sentLayout)
		}
	}
	var s Sent
	switch {
	case to.name == LeaderName:
		s, err = t.report(m)
	case to.hold:
		m.Hold = "true"
		s, err = t.deliver(m, to)
	default:
		m.ToSpawn = to.life.SpawnID
		s, err = t.deliver(m, to)
	}
	if err != nil || s.Repeated {
		return s, err
	}
	if r.ExpectsReply {
		if err := t.openRequest(m); err != nil {
			return s, err
		}
	}
	if parent != nil {
		return s, t.settleRequest(parent)
	}
	return s, nil
}

// sentLayout is the form of the times in a header.
const sentLayout = "2006-01-02T15:04:05.000000Z"

// deliver puts a message into a teammate's mailbox and looks again.
func (t *Team) deliver(m *inbox.Message, to *recipient) (Sent, error) {
	s := Sent{Message: m, Delivery: DeliveryQueued, SilentMs: silence(to.life)}
	if to.hold {
		s.Delivery = DeliveryHeld
	}
	box := t.Box(to.name)
	if m.Key == "" {
		if err := box.Publish(m); err != nil {
			return s, err
		}
	} else {
		id, first, err := box.PublishOnce(t.NoticedDir(to.name), "sent-"+digest(m.From, m.ToSpawn, m.Key), m)
		if err != nil {
			return s, err
		}
		m.ID, s.Repeated = id, !first
	}
	if to.hold || s.Repeated {
		return s, nil
	}
	now, err := t.Read(to.name)
	if err == nil && now.SpawnID == to.life.SpawnID && now.Status != StatusStopped {
		return s, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	withdrawn, err := box.Withdraw(m.ID)
	if err != nil {
		return s, err
	}
	if !withdrawn {
		return s, nil // it has been read, or was returned as undelivered with a notice
	}
	return s, errs.New(errs.Stopped, "%s stopped while the message was being sent; it was withdrawn", to.name).
		WithHint("send it again, with --hold to keep it for the successor")
}

// report puts a teammate's report into its outbox.
func (t *Team) report(m *inbox.Message) (Sent, error) {
	m.Kind = inbox.KindReport
	s := Sent{Message: m, Delivery: DeliveryOutbox}
	out := t.Outbox(m.From)
	if m.Key == "" {
		if err := out.Send(m); err != nil {
			return s, err
		}
	} else {
		id, first, err := inbox.Open(t.Root, t.OutboxDir(m.From)).PublishOnce(t.NoticedDir(m.From), "report-"+digest(m.Spawn, m.Key), m)
		if err != nil {
			return s, err
		}
		m.ID, s.Repeated = id, !first
		if s.Repeated {
			return s, nil
		}
	}
	now, err := t.Read(m.From)
	if err == nil && now.SpawnID == m.Spawn && now.Status != StatusStopped {
		return s, nil
	}
	withdrawn, werr := out.Withdraw(m.ID)
	if werr != nil {
		return s, werr
	}
	if !withdrawn {
		return s, nil // a drain delivered it before the life ended
	}
	return s, staleIdentity(m.From)
}

// silentLong is how long a working teammate may say nothing before a sender is
// told so.
const silentLong = 30 * time.Minute

// silence is how long a working teammate has been silent, in ms, when that is
// long; else 0.
func silence(tm Teammate) int64 {
	if tm.Status != StatusWorking || tm.LastOutputAt == 0 {
		return 0
	}
	ms := nowMillis() - tm.LastOutputAt
	if ms < silentLong.Milliseconds() {
		return 0
	}
	return ms
}

// digest makes a file name of the parts of a key.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// nearestName returns the name that differs least from a misspelt one.
func nearestName(name string, known []string) string {
	best, bestDistance := "", 3
	for _, k := range known {
		if d := distance(name, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// requestsDir holds the requests of a sender that wait for a reply.
func (p Place) requestsDir(name string) string { return filepath.Join(p.TeamDir(), name, "requests") }
