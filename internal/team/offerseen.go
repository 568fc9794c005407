package team

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed6990a682/teams/internal/fsx"
)

// offerMemory is what is remembered between two passes, so that the board is not
// read again when nothing has changed. A harness has it in memory; a tick ends,
// and leaves it in a file.
type offerMemory struct {
	mu     sync.Mutex
	seen   map[string]offerSeen // by spawn id
	onDisk atomic.Bool
}

type offerSeen struct {
	revision int64
	next     int64 // when a back-off ends
}

func (m *offerMemory) nothingNew(spawnID string, revision int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[spawnID]
	return ok && s.revision == revision && nowMillis() < s.next
}

func (m *offerMemory) note(spawnID string, s offerSeen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]offerSeen{}
	}
	m.seen[spawnID] = s
}

// seenRecord is claimable-seen.json of a teammate: up to where it was looked what
// it may be told of. It is small however many tasks there are. Without it, or
// with an old one, a tick looks again and finds that there is nothing.
type seenRecord struct {
	SpawnID  string `json:"spawnId"`
	Revision int64  `json:"revision"` // of the board
	Next     int64  `json:"next"`     // when a back-off ends, epoch ms
	At       int64  `json:"at"`       // when it was looked, epoch ms
	Told     string `json:"told"`     // which claimable.json there was
	Unread   string `json:"unread"`   // the notice that has to be read first; "": none
}

func (p Place) seenFile(name string) string {
	return filepath.Join(p.TeamDir(), name, "claimable-seen.json")
}

// toldMark tells one claimable.json from the next without reading it: it grows
// with the board.
func (t *Team) toldMark(name string) string {
	info, err := os.Lstat(t.offerFile(name))
	if err != nil {
		return ""
	}
	return strconv.FormatInt(info.Size(), 10) + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 10)
}

// seenOnDisk is nothingNew by what an earlier tick left.
func (t *Team) seenOnDisk(tm Teammate, revision int64) bool {
	data, err := fsx.ReadFile(t.seenFile(tm.Name), maxRecord)
	if err != nil {
		return false
	}
	var s seenRecord
	now := nowMillis()
	if json.Unmarshal(data, &s) != nil || s.SpawnID != tm.SpawnID || s.Revision != revision ||
		now >= s.Next || now < s.At || s.Told != t.toldMark(tm.Name) {
		return false
	}
	if s.Unread != "" {
		unread, err := t.isUnread(tm.Name, s.Unread)
		return err == nil && unread
	}
	t.offers.note(tm.SpawnID, offerSeen{s.Revision, s.Next})
	return true
}

// noteSeen notes that nobody needs to look again before the board changes or next
// comes; or before the message unread is read, unless it is "". told is the
// toldMark of what was looked at.
func (t *Team) noteSeen(tm Teammate, s offerSeen, told, unread string) {
	inMemory := s
	if unread != "" {
		inMemory.next = min(s.next, nowMillis()+offerPace.Milliseconds())
	}
	t.offers.note(tm.SpawnID, inMemory)
	if !t.offers.onDisk.Load() {
		return
	}
	data, err := json.Marshal(seenRecord{tm.SpawnID, s.revision, s.next, nowMillis(), told, unread})
	if err == nil {
		// Where it cannot be written, the next tick looks again.
		_ = fsx.Replace(t.seenFile(tm.Name), append(data, '\n'))
	}
}
