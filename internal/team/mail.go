package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
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
	DeliveryQueued  = "queued"  // it lies in the recipient's mailbox
	DeliveryWoke    = "woke"    // it lies there, and an idle resident is woken by it
	DeliverySteered = "steered" // it lies there, and gets into the running turn of a resident
	DeliveryHeld    = "held"    // it waits for the name's next life
	DeliveryOutbox  = "outbox"  // it is a report on its way to the leader
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
	dead bool     // the name has no living teammate: what is sent waits for the next
}

// Send sends a message to each recipient. All of them are looked at before
// anything is written; an unknown name, a stopped teammate or an empty body
// sends nothing. A message is sent when it is durably where its reader finds
// it, and a second look shows that reader and sender are still who they were.
// What cannot be sent to one does not keep it from the others: their messages
// come beside the error.
func (t *Team) Send(ctx context.Context, r SendRequest) ([]Sent, error) {
	to, parent, problems, err := t.prepare(ctx, &r)
	if err != nil {
		return nil, err
	}
	if _, err := t.EnsureSession(); err != nil {
		return nil, err
	}
	sent := make([]Sent, 0, len(to))
	for i := range to {
		s, err := t.sendOne(ctx, &r, &to[i], parent)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		sent = append(sent, s)
	}
	return sent, errors.Join(problems...)
}

// CheckSend reports what would keep a message from being sent now, for a caller
// whose name is made by sending: a message that cannot be sent makes nobody.
func (t *Team) CheckSend(ctx context.Context, r SendRequest) error {
	_, _, _, err := t.prepare(ctx, &r)
	return err
}

// prepare checks a request and finds who and what it is about. Problems are of
// single teammates where all are addressed.
func (t *Team) prepare(ctx context.Context, r *SendRequest) (to []recipient, parent *inbox.Message, problems []error, err error) {
	if err := r.check(); err != nil {
		return nil, nil, nil, err
	}
	if to, problems, err = t.recipients(r); err != nil {
		return nil, nil, nil, err
	}
	if r.ReplyTo != "" {
		if parent, err = t.findMessage(ctx, r.From, r.ReplyTo); err != nil {
			return nil, nil, nil, err
		}
	}
	return to, parent, problems, nil
}

func (r *SendRequest) check() error {
	switch {
	case len(r.Body) == 0 && !r.AllowEmpty:
		return errs.New(errs.Usage, "the message is empty").WithHint("--allow-empty sends it all the same")
	case len(r.Body) > inbox.MaxBody:
		return inbox.TooLarge(int64(len(r.Body)))
	case r.Status != "" && (r.From.Leader || len(r.To) == 0 || slices.ContainsFunc(r.To, func(to string) bool { return to != LeaderName })):
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
func (t *Team) recipients(r *SendRequest) (out []recipient, problems []error, err error) {
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
			return nil, nil, errs.New(errs.Usage, "%s cannot send to itself", name)
		case LeaderName:
			add(recipient{name: LeaderName})
			continue
		case AllName:
			living, bad, err := t.roster(r.From.Name)
			if err != nil {
				return nil, nil, err
			}
			for _, tm := range living {
				add(recipient{name: tm.Name, life: tm})
			}
			for _, p := range bad { // nobody knows whether they live
				problems = append(problems, p.Err)
			}
			continue
		}
		tm, err := t.addressee(name)
		if err != nil {
			return nil, nil, err
		}
		dead := t.Liveness(tm) == fsx.Dead
		if dead && !r.Hold {
			return nil, nil, errs.New(errs.Stopped, "%s has stopped", name).WithHint("--hold keeps the message for its successor")
		}
		add(recipient{name: name, life: tm, dead: dead})
	}
	if len(out) == 0 && len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	if len(out) == 0 {
		return nil, nil, errs.New(errs.NotFound, "there is no other living teammate").WithHint("teams sessions tells how many live")
	}
	return out, problems, nil
}

// living lists the teammates that are not over, but for one.
func (t *Team) living(but string) ([]Teammate, error) {
	living, _, err := t.roster(but)
	return living, err
}

// roster is living, with the teammates whose records cannot be read.
func (t *Team) roster(but string) ([]Teammate, []Problem, error) {
	all, problems, err := t.List()
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(tm Teammate) bool { return tm.Name == but || t.Liveness(tm) == fsx.Dead })
	return all, problems, nil
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
	const enough = 12 // names in a hint
	if more := len(names) - enough; more > 0 {
		names = append(names[:enough], fmt.Sprintf("and %d more", more))
	}
	return Teammate{}, e.WithHint("those there are: %s", strings.Join(names, ", "))
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
	switch {
	case to.name == LeaderName:
		m.Kind = inbox.KindReport
	case r.Hold: // for whoever has the name when it is read
		m.Hold = "true"
	default:
		m.ToSpawn = to.life.SpawnID
	}
	if r.ExpectsReply {
		// The request first: whoever finds the message finds that it is waited
		// for. One whose message never came is dropped by remind.
		if err := t.openRequest(m); err != nil {
			return Sent{}, err
		}
	}
	var s Sent
	if to.name == LeaderName {
		s, err = t.report(m)
	} else {
		s, err = t.deliver(m, to)
	}
	if r.ExpectsReply && (err != nil || s.Message.ID != id) {
		err = errors.Join(err, fsx.Remove(t.requestPath(r.From.Name, id)))
	}
	if err != nil {
		return s, err
	}
	if r.ExpectsReply && s.Repeated {
		// The first call may have died, or failed, without its request.
		if again := RequestOf(s.Message); again.Sent > 0 {
			reply, err := t.replyTo(again)
			if err == nil && reply == nil {
				err = t.openRequest(s.Message)
			}
			if err != nil {
				return s, err
			}
		}
	}
	if parent != nil && parent.From == to.name && parent.To == r.From.Name {
		// The reply is sent. A request that stays is settled by whoever looks
		// at it next.
		_ = t.settleRequest(parent)
	}
	return s, nil
}

// sentLayout is the form of the times in a header.
const sentLayout = "2006-01-02T15:04:05.000000Z"

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
