package team

import (
	"context"
	"fmt"
	"time"
)

const (
	firstRetry   = time.Second     // pause after a failed wake
	longestRetry = 5 * time.Minute // its limit; it doubles up to that
	toldAfter    = 5               // failed wakes in a row until the leader is told
)

// retry plans the wakes of a resident after some that failed.
type retry struct {
	failures int       // in a row
	at       time.Time // when the next may be
}

// early says whether it is too early for the next wake.
func (r *retry) early() bool { return time.Now().Before(r.at) }

// succeeded forgets the failures.
func (r *retry) succeeded() { *r = retry{} }

// wakeFailed plans the next attempt, and tells the leader of a row of failures
// once.
func (h *host) wakeFailed(ctx context.Context, r *retry, why string) {
	pause := min(firstRetry<<min(r.failures, 16), longestRetry)
	r.failures++
	r.at = time.Now().Add(pause)
	h.log.Event("%s; the messages stay unread, next attempt in %s", firstLine(why), pause)
	if r.failures != toldAfter {
		return
	}
	body := fmt.Sprintf("%s could not be woken %d times in a row: %s\nIts mail stays unread, and it is tried again.\n", h.tm.Name, r.failures, why)
	_, err := h.t.notify(ctx, notice{
		to: LeaderName, key: fmt.Sprintf("wake-%s-%s-%d", h.tm.Name, digest(h.tm.SpawnID)[:lifeDigits], nowMillis()), event: eventEscalation, body: body,
	})
	if err != nil {
		h.log.Event("%v", err)
	}
}
