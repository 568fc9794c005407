package team

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// notice is something that the harness tells somebody once.
type notice struct {
	to      string // a teammate, or LeaderName
	toSpawn string // the life it is for; "" for whoever has the name
	key     string // what is told once; a file name
	id      string // the message's id when that is settled; else "" for a new one
	event   string
	body    string
	task    string
	thread  string
	// about is what notices of the same event are coalesced by while they are
	// unread: a task or a teammate. "" coalesces nothing.
	about string
}

// noticedKey is the key's file: a teammate's includes its life.
func (n *notice) noticedKey() string {
	if n.toSpawn == "" {
		return n.key
	}
	return n.key + "-" + digest(n.toSpawn)[:12]
}

// wasTold reports whether a key has been told to anybody of that name.
func (t *Team) wasTold(name, key string) bool {
	names, err := fsx.List(t.NoticedDir(name))
	if err != nil {
		return false
	}
	for _, have := range names {
		if have == key || len(have) > len(key) && have[:len(key)+1] == key+"-" {
			return true
		}
	}
	return false
}

// notify tells a notice once, whatever dies in between. It answers false when
// it had been told before, or when there is nobody to tell.
func (t *Team) notify(ctx context.Context, n notice) (bool, error) {
	if n.to != LeaderName {
		if _, err := t.Read(n.to); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	} else if _, err := t.EnsureSession(); err != nil {
		return false, err
	}
	m := &inbox.Message{Body: []byte(n.body), Size: int64(len(n.body))}
	m.ID, m.From, m.To, m.Kind, m.Event = n.id, HarnessName, n.to, inbox.KindNotice, n.event
	if m.ID == "" {
		dir := filepath.Join(t.TeamDir(), HarnessName)
		if err := fsx.MkdirAll(t.Root, dir); err != nil {
			return false, err
		}
		id, at, err := inbox.NextID(ctx, dir, HarnessName)
		if err != nil {
			return false, err
		}
		m.ID, m.Sent = id, at.Format(sentLayout)
	} else if at, ok := inbox.IDTime(m.ID); ok {
		m.Sent = at.Format(sentLayout)
	}
	m.Title, m.Task, m.ToSpawn, m.Thread = inbox.Title(m.Body), n.task, n.toSpawn, n.thread
	if m.Thread == "" {
		m.Thread = m.ID
	}
	if n.about != "" {
		m.Extra = append(m.Extra, inbox.Pair{Key: aboutKey, Value: n.about})
	}
	box := t.Box(n.to)
	id, first, err := box.PublishOnce(t.NoticedDir(n.to), n.noticedKey(), m)
	if err != nil || n.about == "" {
		return first, err
	}
	return first, box.Coalesce(id, func(old *inbox.Message) bool {
		return old.Kind == inbox.KindNotice && old.Event == n.event && about(old) == n.about
	})
}

// aboutKey is the header of a notice that says what it is about.
const aboutKey = "about"

func about(m *inbox.Message) string {
	for _, p := range m.Extra {
		if p.Key == aboutKey {
			return p.Value
		}
	}
	return ""
}
