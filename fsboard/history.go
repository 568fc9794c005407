package fsboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// Names of events.
const (
	EventAdded        = "added"
	EventImported     = "imported"
	EventClaimed      = "claimed"
	EventClaimRefused = "claim_refused"
	EventRenewed      = "renewed"
	EventReleased     = "released"
	EventCompleted    = "completed"
	EventGateFailed   = "gate_failed"
	EventFailed       = "failed"
	EventEscalation   = "escalation"
	EventDropped      = "dropped"
	EventEdited       = "edited"
	EventCancelled    = "cancelled"
	EventReopened     = "reopened"
	EventArchived     = "archived"
	EventRestored     = "restored" // brought back from the archive
	EventRejected     = "rejected" // a marker that could not be used
	EventClock        = "clock"    // a time that lay ahead was set to now
	EventRepaired     = "repaired"
)

// Event is one line of history.jsonl. Rev, N and Of say that it is event N of
// the Of events of revision Rev; events that add or change a task carry the
// stored task as Record in the file.
type Event struct {
	Rev        int64           `json:"rev"`
	N          int             `json:"n"`
	Of         int             `json:"of"`
	At         int64           `json:"at"`   // epoch ms
	Time       string          `json:"time"` // RFC 3339, UTC
	Event      string          `json:"event"`
	Task       string          `json:"task,omitempty"`
	Epoch      int64           `json:"epoch,omitempty"`
	Worker     string          `json:"worker,omitempty"`
	SpawnID    string          `json:"spawnId,omitempty"`
	Token      string          `json:"token,omitempty"`
	By         string          `json:"by,omitempty"`     // who caused it, when that is not the worker
	Reason     string          `json:"reason,omitempty"` // a stable word or the text that was given
	Message    string          `json:"message,omitempty"`
	Submission string          `json:"submission,omitempty"`
	Run        int             `json:"run,omitempty"` // gate run
	Verdict    string          `json:"verdict,omitempty"`
	Receipt    *Receipt        `json:"receipt,omitempty"` // of the gate run that decided it
	Fields     []string        `json:"fields,omitempty"`  // what an edit changed
	Notices    []Notice        `json:"notices,omitempty"` // who is told of it
	Record     json.RawMessage `json:"record,omitempty"`
}

// MarshalJSON writes the event as it stands in the file.
func (e Event) MarshalJSON() ([]byte, error) { return rawjson.Append(nil, eventFields, &e, nil) }

// UnmarshalJSON reads an event; what it does not know is dropped.
func (e *Event) UnmarshalJSON(data []byte) error {
	*e = Event{}
	_, err := rawjson.Decode(eventFields, e, data)
	return err
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// lastEvent returns (rev, n) of the last whole event in history, and whether
// its file ends in the middle of a line.
func (b *Board) lastEvent() (rev int64, n int, err error) {
	for want := int64(8 << 10); ; want *= 8 {
		tail, size, err := fsx.ReadTail(b.historyPath(), want)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("read history: %w", err)
		}
		whole := int64(len(tail)) >= size
		for {
			end := bytes.LastIndexByte(tail, '\n')
			if end < 0 {
				break
			}
			start := bytes.LastIndexByte(tail[:end], '\n') + 1
			if start == 0 && !whole {
				break // the line begins before what was read
			}
			if rev, n, ok := eventPosition(tail[start:end]); ok && json.Valid(tail[start:end]) {
				return rev, n, nil
			}
			tail = tail[:start]
			if start == 0 {
				break
			}
		}
		if whole {
			return 0, 0, nil
		}
	}
}

// eventPosition reads `{"rev":57,"n":1,`, the start of every event line.
func eventPosition(row []byte) (rev int64, n int, ok bool) {
	b, ok := bytes.CutPrefix(row, []byte(`{"rev":`))
	if !ok {
		return 0, 0, false
	}
	digits, b, ok := bytes.Cut(b, []byte(`,"n":`))
	if !ok {
		return 0, 0, false
	}
	rev, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	digits, _, ok = bytes.Cut(b, []byte(","))
	if !ok {
		return 0, 0, false
	}
	n, err = strconv.Atoi(string(digits))
	return rev, n, err == nil
}

// settle appends to history what the snapshot's own revision has and the file
// lacks, and syncs it. It comes before every commit, so that no committed
// event is lost when the next snapshot replaces the last line that holds it.
func (b *Board) settle(s *snapshot) error {
	events, err := s.ownEvents()
	if err != nil {
		return corrupt(b.Path(), err)
	}
	rev, n, err := b.lastEvent()
	if err != nil {
		return err
	}
	if err := b.olderThan(s, rev); err != nil {
		return err
	}
	missing := events[:0:0]
	for _, e := range events {
		if e.Rev > rev || e.Rev == rev && e.N > n {
			missing = append(missing, e)
		}
	}
	if len(missing) == 0 {
		return fsx.SyncFile(b.historyPath())
	}
	data, err := s.historyLines(missing)
	if err != nil {
		return err
	}
	if err := fsx.Append(b.historyPath(), data, true); err != nil {
		return fmt.Errorf("append history: %w", err)
	}
	return nil
}

// ownEvents decodes the events of the snapshot's revision.
func (s *snapshot) ownEvents() ([]Event, error) {
	if len(s.events) <= 2 {
		return nil, nil
	}
	var events []Event
	if err := json.Unmarshal(s.events, &events); err != nil {
		return nil, fmt.Errorf("its events: %w", err)
	}
	return events, nil
}

// historyLines renders events as lines, each with the task as it is stored in s.
func (s *snapshot) historyLines(events []Event) ([]byte, error) {
	var out []byte
	for i := range events {
		e := &events[i]
		if e.Task != "" && e.changesTask() {
			t, err := s.task(e.Task)
			if err != nil {
				return nil, err
			}
			if t != nil {
				if e.Record, err = t.encode(); err != nil {
					return nil, err
				}
			}
		}
		row, err := encodeJSON(e)
		if err != nil {
			return nil, err
		}
		out = append(append(out, row...), '\n')
	}
	return out, nil
}

// changesTask reports whether the event's task is stored anew by it.
func (e *Event) changesTask() bool {
	switch e.Event {
	case EventArchived, EventEscalation, EventRejected:
		return false
	}
	return true
}

// maxHistory bounds what is read of a history in one go.
const maxHistory = 8 << 30

// HistoryFilter selects events. The zero value selects all.
type HistoryFilter struct {
	Task  string
	Since int64 // epoch ms; only events at or after it
	After int64 // only events of a revision above it
}

// History returns the events that are committed, oldest first: those of the
// file up to the snapshot's revision, and those that only the snapshot holds
// yet. torn counts lines that could not be read.
func (b *Board) History(f HistoryFilter) (events []Event, torn int, err error) {
	s, err := b.load()
	if err != nil || s == nil {
		return nil, 0, err
	}
	data, err := fsx.ReadFile(b.historyPath(), maxHistory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("read history: %w", err)
	}
	var rev int64
	n := 0
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		if len(row) == 0 {
			continue
		}
		var e Event
		if err := json.Unmarshal(row, &e); err != nil || e.Rev == 0 {
			torn++
			continue
		}
		if e.Rev > s.head.Revision || e.Rev < rev || e.Rev == rev && e.N <= n {
			continue
		}
		rev, n = e.Rev, e.N
		if f.selects(&e) {
			events = append(events, e)
		}
	}
	own, err := s.ownEvents()
	if err != nil {
		return nil, 0, corrupt(b.Path(), err)
	}
	for _, e := range own {
		if (e.Rev > rev || e.Rev == rev && e.N > n) && f.selects(&e) {
			events = append(events, e)
		}
	}
	return events, torn, nil
}

func (f *HistoryFilter) selects(e *Event) bool {
	return (f.Task == "" || f.Task == e.Task) && e.At >= f.Since && e.Rev > f.After
}
