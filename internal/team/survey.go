package team

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
)

// findMessage finds a message that the caller got or sent.
func (t *Team) findMessage(ctx context.Context, who Identity, id string) (*inbox.Message, error) {
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	if who.Leader {
		if _, _, err := t.DrainReports(ctx); err != nil {
			return nil, err
		}
	}
	names, err := t.mailboxNames()
	if err != nil {
		return nil, err
	}
	unknown := errs.New(errs.NotFound, "there is no message %s that %s got or sent", id, who.Name).WithHint("teams inbox --all shows the ids")
	if slices.Contains(names, who.Name) {
		m, err := peekAny(t.Box(who.Name), id)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if !who.Leader {
			if m, err := t.Outbox(who.Name).Peek(id); err == nil {
				return m, nil
			}
		}
	}
	if !maybeFrom(who.Name)(id) {
		return nil, unknown
	}
	var unreadable error
	for _, name := range names {
		m, err := peekAny(t.Box(name), id)
		switch {
		case err == nil && m.From == who.Name:
			return m, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			unreadable = err
		}
	}
	if unreadable != nil {
		return nil, unreadable // it may be there
	}
	return nil, unknown
}

// maybeFrom makes a test whether a message may be of a sender, by its id alone:
// it spares the opening of nearly all others.
func maybeFrom(sender string) func(id string) bool {
	return func(id string) bool {
		if _, ours := inbox.IDTime(id); !ours {
			return true // dropped in by hand
		}
		from := inbox.IDSender(id)
		return from == "" || from == sender || strings.HasPrefix(from, sender+"-") // a copy has more behind it
	}
}

// Sent lists what a caller has sent, as it lies at the recipients; reports
// that wait in its outbox are there too. What came back has the outcome
// "undelivered" and counts as unread. A mailbox that cannot be read is an error
// beside the others.
func (t *Team) Sent(ctx context.Context, who Identity, unreadOnly bool) (list []*inbox.Message, problems []error, err error) {
	found, problems, err := t.survey(ctx, who, func(name string) (q inbox.Query, skip bool) {
		return inbox.Query{All: true, ID: maybeFrom(who.Name), Match: func(m *inbox.Message) bool { return m.From == who.Name }}, name == who.Name
	})
	for _, f := range found {
		m := f.m
		if m.Read && t.wasTold(who.Name, lifeKey(undeliveredKey(m.ID), m.Spawn)) {
			m.Read, m.Outcome = false, outcomeUndelivered
		}
		if !unreadOnly || !m.Read {
			list = append(list, m)
		}
	}
	return list, problems, err
}

// outcomeUndelivered is the outcome of a message that nobody read before its
// recipient's life was over.
const outcomeUndelivered = "undelivered"

// Thread lists a conversation from both sides, oldest first, with the bodies.
// id is any message of it. A mailbox of another that cannot be read is an error
// beside what the others hold.
func (t *Team) Thread(ctx context.Context, who Identity, id string) (list []*inbox.Message, problems []error, err error) {
	first, err := t.findMessage(ctx, who, id)
	if err != nil {
		return nil, nil, err
	}
	found, problems, err := t.survey(ctx, who, func(name string) (inbox.Query, bool) {
		q := inbox.Query{All: true, Match: func(m *inbox.Message) bool { return m.Thread == first.Thread }}
		if name != who.Name {
			q.ID = maybeFrom(who.Name)
			q.Match = func(m *inbox.Message) bool { return m.Thread == first.Thread && m.From == who.Name }
		}
		return q, false
	})
	for _, f := range found {
		m, err := t.whole(f, who)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, m)
	}
	return list, problems, err
}

// located is a message and whose mailbox it lies in.
type located struct {
	box string
	m   *inbox.Message
}

// whole reads a message with its body. A report may have gone from the outbox
// to the leader's mailbox meanwhile.
func (t *Team) whole(f located, who Identity) (*inbox.Message, error) {
	m, err := t.Box(f.box).Get(f.m.ID)
	if errs.CodeOf(err) == errs.NotFound && f.box == LeaderName && !who.Leader {
		if waiting, werr := t.Outbox(who.Name).Get(f.m.ID); werr == nil {
			return waiting, nil
		}
		m, err = t.Box(f.box).Get(f.m.ID)
	}
	return m, err
}

// survey lists what ask selects in each mailbox of the team, and the reports
// that wait in the caller's own outbox as if they were in the leader's, in the
// order of their ids.
func (t *Team) survey(ctx context.Context, who Identity, ask func(box string) (q inbox.Query, skip bool)) (found []located, problems []error, err error) {
	if who.Leader {
		if _, problems, err = t.DrainReports(ctx); err != nil {
			return nil, problems, err
		}
	}
	names, err := t.mailboxNames()
	if err != nil {
		return nil, problems, err
	}
	seen := map[string]bool{}
	add := func(box string, m *inbox.Message) {
		if key := box + "/" + m.ID; !seen[key] {
			seen[key] = true
			found = append(found, located{box, m})
		}
	}
	// The outbox first: what is drained meanwhile is found with the leader.
	if q, skip := ask(LeaderName); !who.Leader && !skip && slices.Contains(names, who.Name) {
		ids, oerr := t.Outbox(who.Name).IDs()
		if oerr != nil && !errors.Is(oerr, fs.ErrNotExist) {
			err = errors.Join(err, oerr)
		}
		for _, id := range ids {
			if m, perr := t.Outbox(who.Name).Peek(id); perr == nil && q.Match(m) {
				add(LeaderName, m)
			}
		}
	}
	for _, name := range names {
		q, skip := ask(name)
		if skip {
			continue
		}
		list, more, berr := t.Box(name).Find(q)
		err = errors.Join(err, berr)
		problems = append(problems, more...)
		for _, m := range list {
			add(name, m)
		}
	}
	slices.SortStableFunc(found, func(a, b located) int { return strings.Compare(a.m.ID, b.m.ID) })
	return found, problems, err
}

// ReplyRecipient is who gets the reply to a message: its sender, or for a
// message of one's own its recipient.
func (t *Team) ReplyRecipient(ctx context.Context, who Identity, id string) (string, error) {
	m, err := t.findMessage(ctx, who, id)
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
