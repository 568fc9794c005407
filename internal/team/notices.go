package team

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

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

// lifeKey is the name of a key's file: that of a teammate includes its life, so
// that the next one is told anew, and gc knows when it is over.
func lifeKey(key, spawnID string) string {
	if spawnID == "" {
		return key
	}
	return key + "-" + digest(spawnID)[:lifeDigits]
}

// lifeDigits is how many digits of a life's digest end a key.
const lifeDigits = 12

// wasTold reports whether a key was told to a name, all of it: one that a crash
// left half-way was not.
func (t *Team) wasTold(name, key string) bool {
	var k struct {
		Done bool `json:"done"`
	}
	data, err := fsx.ReadFile(filepath.Join(t.NoticedDir(name), key), 4<<10)
	return err == nil && json.Unmarshal(data, &k) == nil && k.Done
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
	if t.wasTold(n.to, lifeKey(n.key, n.toSpawn)) {
		return false, nil // without a write: a tick asks again and again
	}
	id := n.id
	if id == "" {
		var err error
		if id, _, err = t.noticeID(ctx); err != nil {
			return false, err
		}
	}
	m := t.noticeMessage(id, n)
	box := t.Box(n.to)
	newest, first, err := box.PublishOnce(t.NoticedDir(n.to), lifeKey(n.key, n.toSpawn), m)
	if err != nil || n.about == "" {
		return first, err
	}
	return first, box.Coalesce(newest, func(old *inbox.Message) bool {
		return old.Kind == inbox.KindNotice && old.Event == n.event && about(old) == n.about
	})
}

// noticeID is the id of a new notice.
func (t *Team) noticeID(ctx context.Context) (string, time.Time, error) {
	dir := filepath.Join(t.TeamDir(), HarnessName)
	if err := fsx.MkdirAll(t.Root, dir); err != nil {
		return "", time.Time{}, err
	}
	return inbox.NextID(ctx, dir, HarnessName)
}

// noticeMessage makes the message of a notice.
func (t *Team) noticeMessage(id string, n notice) *inbox.Message {
	m := &inbox.Message{Body: []byte(n.body), Size: int64(len(n.body))}
	m.ID, m.From, m.To, m.Kind, m.Event = id, HarnessName, n.to, inbox.KindNotice, n.event
	if at, ok := inbox.IDTime(id); ok {
		m.Sent = at.Format(sentLayout)
	}
	m.Title, m.Task, m.ToSpawn, m.Thread = inbox.Title(m.Body), n.task, n.toSpawn, n.thread
	if m.Thread == "" {
		m.Thread = m.ID
	}
	if n.about != "" {
		m.Extra = append(m.Extra, inbox.Pair{Key: aboutKey, Value: n.about})
	}
	return m
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
