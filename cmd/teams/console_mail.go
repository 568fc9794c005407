package main

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/console"
	"github.com/seed6990a682/teams/internal/team"
)

// consoleMessages is how many messages the console shows, the newest ones.
const consoleMessages = 500

// outboxMark stands before the name of the sender in the owner of a report that
// is still on its way; no name begins so.
const outboxMark = ">"

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

// mailNames are the names that have mailboxes.
func mailNames(mates []team.Teammate) []string {
	names := []string{team.LeaderName}
	for _, tm := range mates {
		names = append(names, tm.Name)
	}
	return names
}

// consoleMail is the mail of everybody. Messages never change, so each is read
// once.
type consoleMail struct {
	seen     string // what the directories were at the last look
	known    map[string]console.Message
	list     []console.Message
	earlier  int
	problems []string
}

// letter is where one message lies.
type letter struct {
	owner, id string
	read      bool
	path      string // of a report that is on its way
}

// look lists all mailboxes when one of them has changed.
func (c *consoleMail) look(t *team.Team, mates []team.Teammate) {
	var dirs []string
	for _, name := range mailNames(mates) {
		dirs = append(dirs, filepath.Join(t.InboxDir(name), "new"), filepath.Join(t.InboxDir(name), "cur"), filepath.Join(t.OutboxDir(name), "new"))
	}
	now := filesToken(dirs...)
	if now == c.seen && c.known != nil {
		return
	}
	c.problems = nil
	letters := c.letters(t, mates)
	// Ids begin with the time, so this is the order in which they were sent.
	slices.SortFunc(letters, func(a, b letter) int {
		return cmp.Or(strings.Compare(b.id, a.id), strings.Compare(a.owner, b.owner))
	})
	c.earlier = max(len(letters)-consoleMessages, 0)
	letters = letters[:len(letters)-c.earlier]
	known := make(map[string]console.Message, len(letters))
	c.list = c.list[:0:0]
	for _, l := range letters {
		key := console.MessageID(l.owner, l.id)
		msg, ok := c.known[key]
		if !ok {
			m, err := peekLetter(t, l)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) { // else it was marked or moved just now
					c.tell(err)
				}
				now = ""
				continue
			}
			msg = consoleMessage(l, m)
		}
		msg.Unread = !l.read
		known[key] = msg
		c.list = append(c.list, msg)
	}
	c.seen, c.known = now, known
}

func (c *consoleMail) tell(err error) { c.problems = append(c.problems, err.Error()) }

// letters lists what lies in all mailboxes and outboxes.
func (c *consoleMail) letters(t *team.Team, mates []team.Teammate) (out []letter) {
	add := func(owner string, read bool, ids []string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.tell(err)
		}
		for _, id := range ids {
			out = append(out, letter{owner: owner, id: id, read: read})
		}
	}
	for _, name := range mailNames(mates) {
		for _, read := range []bool{false, true} {
			ids, err := t.Box(name).IDs(read)
			add(name, read, ids, err)
		}
		if name == team.LeaderName {
			continue
		}
		dir := filepath.Join(t.OutboxDir(name), "new")
		ids, err := inbox.ListIDs(dir)
		from := len(out)
		add(outboxMark+name, false, ids, err)
		for i := from; i < len(out); i++ {
			out[i].path = filepath.Join(dir, out[i].id+".md")
		}
	}
	return out
}

func peekLetter(t *team.Team, l letter) (*inbox.Message, error) {
	if l.path != "" {
		return inbox.PeekFile(l.path)
	}
	return t.Box(l.owner).Peek(l.id, l.read)
}

// readLetter reads a message whole, wherever it lies now.
func readLetter(t *team.Team, key string) (*inbox.Message, error) {
	owner, id, _ := strings.Cut(key, "/")
	if err := inbox.CheckID(id); err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(owner, outboxMark); ok {
		m, err := inbox.ReadFile(filepath.Join(t.OutboxDir(name), "new", id+".md"))
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		owner = team.LeaderName // it has arrived
	}
	return t.Box(owner).Get(id)
}

func consoleMessage(l letter, m *inbox.Message) console.Message {
	kind := m.Kind
	for _, more := range []string{m.Status, m.Event, m.Outcome} {
		if more != "" {
			kind = more
		}
	}
	msg := console.Message{ID: l.id, Owner: l.owner, From: m.From, To: m.To, Kind: kind, Title: m.Title}
	if msg.To == "" {
		msg.To = strings.TrimPrefix(l.owner, outboxMark)
	}
	if at := m.Time(); !at.IsZero() {
		msg.Sent = at.UnixMilli()
	}
	return msg
}
