package fsboard

import (
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Notice is a message that a board event owes somebody. It stands in the event,
// so that it is committed with the snapshot; whoever folds publishes it, under
// this id, after the board lock is released.
type Notice struct {
	To      string `json:"to"` // a worker, or [Leader]
	SpawnID string `json:"spawnId,omitempty"`
	ID      string `json:"id"` // of the message
}

// owed lists who is to be told of an event. What a worker did itself it knows.
func (e *Event) owed() []Notice {
	worker := Notice{To: e.Worker, SpawnID: e.SpawnID}
	leader := Notice{To: Leader}
	var out []Notice
	switch e.Event {
	case EventClaimRefused, EventGateFailed, EventDropped:
		out = []Notice{worker}
	case EventEscalation:
		out = []Notice{leader}
	case EventCancelled, EventEdited:
		out = []Notice{worker} // its holder, if it had one
	case EventReleased:
		switch {
		case e.By == e.Worker, e.Reason == "holder_replaced":
			// It knows, or nobody is left to be told.
		case e.Reason == "holder_dead":
			out = []Notice{leader}
		case e.Reason == "lease_over":
			out = []Notice{worker, leader}
		default:
			out = []Notice{worker}
		}
	}
	kept := out[:0]
	for _, n := range out {
		if n.To != "" {
			kept = append(kept, n)
		}
	}
	return kept
}

// noticeTime is the layout of the time at the start of a message's id.
const noticeTime = "20060102T150405.000000Z"

// addNotices writes what the events of the revision owe into them. The ids of
// notices increase, whatever the clock does.
func (t *tx) addNotices() {
	h := &t.snap.head
	for i := range t.events {
		e := &t.events[i]
		e.Notices = e.owed()
		for j := range e.Notices {
			h.NoticeAt = max(h.NoticeAt+1, t.now*1000)
			h.NoticeRev = h.Revision
			e.Notices[j].ID = time.UnixMicro(h.NoticeAt).UTC().Format(noticeTime) + "-harness-" + fsx.RandomID()[:6]
		}
	}
}

// at is the time in a notice's id, in epoch µs; 0 when it names none.
func (n *Notice) at() int64 {
	stamp, _, _ := strings.Cut(n.ID, "-")
	at, err := time.Parse(noticeTime, stamp)
	if err != nil {
		return 0
	}
	return at.UnixMicro()
}

// NoticeRevision is the last revision whose events owe notices, and the present
// one; both 0 when the board has no state.
func (b *Board) NoticeRevision() (owed, revision int64, err error) {
	h, err := b.readHead()
	if err != nil || h == nil {
		return 0, 0, err
	}
	return h.NoticeRev, h.Revision, nil
}
