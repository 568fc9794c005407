package team

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// assigned notes that the leader gave the teammate something to do, which it
// owes a terminal report for.
func (h *host) assigned(list []*inbox.Message) {
	for _, m := range list {
		if m.From == LeaderName && m.Kind == inbox.KindMessage {
			h.mu.Lock()
			h.owes = fsx.Now()
			h.mu.Unlock()
			return
		}
	}
}

// latest is the last line of output, and when there was output last.
func (h *host) latest() (string, time.Time) {
	if h.output != nil {
		return h.output()
	}
	return h.log.Last()
}

// noteOutput writes down what the teammate's latest output was, if there was
// any since, and what change says. change may be nil.
func (h *host) noteOutput(ctx context.Context, change func(*Teammate)) {
	text, at := h.latest()
	ms := int64(0)
	if !at.IsZero() {
		ms = at.UnixMilli()
	}
	h.mu.Lock()
	fresh := ms > h.tm.LastOutputAt
	h.tm.LastOutputAt = max(h.tm.LastOutputAt, ms)
	h.mu.Unlock()
	if !fresh && change == nil {
		return
	}
	err := h.update(context.WithoutCancel(ctx), func(tm *Teammate) {
		if fresh {
			tm.LastOutputAt, tm.Activity = ms, text
			tm.ActiveAt, tm.ActiveBootMs = max(tm.ActiveAt, ms), bootMillis()
		}
		if change != nil {
			change(tm)
		}
	})
	if err != nil {
		h.log.Event("%v", err)
	}
}

// turnDone sees to a teammate that has just become idle: one that owes the
// leader a terminal report is asked for it once in its life, and when it becomes
// idle again without one, the leader is told once.
func (h *host) turnDone(ctx context.Context) error {
	h.mu.Lock()
	since := h.owes
	h.mu.Unlock()
	if since.IsZero() {
		return nil
	}
	reported, err := h.t.terminalReport(h.tm, since)
	if err != nil {
		h.log.Event("%v", err)
		return nil
	}
	if reported != nil {
		h.mu.Lock()
		h.owes = time.Time{}
		h.mu.Unlock()
		row := h.t.ledgerRow(h.tm, LedgerSettled, "session-report")
		row.Outcome = reported.Status
		if err := h.t.writeLedger(row); err != nil {
			h.log.Event("%v", err)
		}
		return nil
	}
	asked, err := h.t.notify(ctx, notice{to: h.tm.Name, toSpawn: h.tm.SpawnID, key: eventUnfinished, event: eventUnfinished, body: finishText})
	if err != nil || asked {
		return ignore(err, h)
	}
	if h.t.unreadUnfinished(h.tm.Name) {
		return nil // it has not seen the question yet
	}
	body := fmt.Sprintf("%s has ended its turn twice without a terminal report. It is idle.\n"+
		"teams activity %s shows what it did; teams send %s - asks it.\n", h.tm.Name, h.tm.Name, h.tm.Name)
	_, err = h.t.notify(ctx, notice{to: LeaderName, key: "unfinished-" + h.tm.Name + "-" + digest(h.tm.SpawnID)[:lifeDigits], event: eventUnfinished, body: body})
	return ignore(err, h)
}

// ignore notes an error that must not end the life.
func ignore(err error, h *host) error {
	if err != nil {
		h.log.Event("%v", err)
	}
	return nil
}

const finishText = `You ended your turn without a terminal report to the leader.
Finish it: teams send leader - --status completed, with what you did, how you verified it and what remains; or --status failed with the reason.
`

// unreadUnfinished reports whether the question for a report is still unread.
func (t *Team) unreadUnfinished(name string) bool {
	list, _, err := t.Box(name).Find(inbox.Query{Match: func(m *inbox.Message) bool { return m.Event == eventUnfinished }})
	return err == nil && len(list) > 0
}

// terminalReport is the last report of a life with a terminal status that was
// sent after a point in time; nil when there is none.
func (t *Team) terminalReport(tm Teammate, since time.Time) (*inbox.Message, error) {
	mine := func(m *inbox.Message) bool {
		return m.From == tm.Name && m.Spawn == tm.SpawnID && m.Terminal() && !m.Time().Before(since)
	}
	late := func(id string) bool {
		at, ok := inbox.IDTime(id)
		return ok && !at.Before(since) && strings.HasPrefix(inbox.IDSender(id), tm.Name)
	}
	var last *inbox.Message
	ids, err := t.Outbox(tm.Name).IDs() // first: what is drained meanwhile is found with the leader
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if m, err := t.Outbox(tm.Name).Peek(id); err == nil && mine(m) {
			last = m
		}
	}
	if last != nil {
		return last, nil
	}
	list, _, err := t.Box(LeaderName).Find(inbox.Query{All: true, ID: late, Match: mine})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[len(list)-1], nil
}
