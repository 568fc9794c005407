package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed6990a682/teams/inbox"
)

// assigned notes that the leader gave the teammate something to do, which it
// owes a terminal report for.
func (h *host) assigned(list []*inbox.Message) {
	for _, m := range list {
		if m.From == LeaderName && m.Kind == inbox.KindMessage {
			last := h.t.lastReport(h.tm.Name)
			h.mu.Lock()
			h.owes, h.reported = true, last
			h.mu.Unlock()
			return
		}
	}
}

// lastReport is the id of the last message of a teammate to the leader, "" when
// there is none. The ids of one sender are in order whatever the clock does.
func (t *Team) lastReport(name string) (last string) {
	outbox, _ := t.Outbox(name).IDs() // first: what is drained meanwhile is found with the leader
	unread, _ := t.Box(LeaderName).IDs(false)
	read, _ := t.Box(LeaderName).IDs(true)
	for _, id := range slices.Concat(outbox, unread, read) {
		if reportOf(name, id) {
			last = max(last, id)
		}
	}
	return last
}

// reportOf reports whether an id may be that of a message from a teammate.
func reportOf(name, id string) bool {
	_, ours := inbox.IDTime(id)
	return ours && maybeFrom(name)(id)
}

// latest is the last line of output, and when there was output last.
func (h *host) latest() (string, time.Time) {
	if h.output != nil {
		return h.output()
	}
	return h.log.Last()
}

// noteOutput writes down what the teammate's latest output was, if there was
// any since, and what change says. change may be nil. What cannot be written, as
// on a full disk, is written down with the next note.
func (h *host) noteOutput(ctx context.Context, change func(*Teammate)) {
	if change != nil {
		h.mu.Lock()
		h.unwritten = append(h.unwritten, change)
		h.mu.Unlock()
	}
	if err := h.writeNotes(ctx); err != nil {
		h.log.Event("%v", err)
	}
}

// writeNotes writes down what was noted and is not written yet.
func (h *host) writeNotes(ctx context.Context) error {
	text, at := h.latest()
	h.mu.Lock()
	before, changes := h.noted, h.unwritten
	h.noted, h.unwritten = at, nil
	h.mu.Unlock()
	fresh := !at.Equal(before) // and not merely later: the clock may have been set back
	if !fresh && len(changes) == 0 {
		return nil
	}
	err := h.update(context.WithoutCancel(ctx), func(tm *Teammate) {
		if fresh {
			ms := at.UnixMilli()
			tm.LastOutputAt, tm.Activity = ms, text
			tm.ActiveAt, tm.ActiveBootMs = ms, bootMillis()
		}
		for _, change := range changes {
			change(tm)
		}
	})
	if err != nil && !errors.Is(err, errReplaced) {
		h.mu.Lock()
		h.noted, h.unwritten = before, append(changes, h.unwritten...)
		h.mu.Unlock()
	}
	return err
}

// turnDone sees to a teammate that has just become idle: one that owes the
// leader a terminal report is asked for it once in its life, and when it becomes
// idle again without one, the leader is told once.
func (h *host) turnDone(ctx context.Context) error {
	h.mu.Lock()
	owes, before := h.owes, h.reported
	h.mu.Unlock()
	if !owes {
		return nil
	}
	reported, err := h.t.terminalReport(h.tm, before)
	if err != nil {
		h.log.Event("%v", err)
		return nil
	}
	if reported != nil {
		h.mu.Lock()
		h.owes = false
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

// terminalReport is the last report of a life with a terminal status that came
// after the message before, "" for any; nil when there is none.
func (t *Team) terminalReport(tm Teammate, before string) (*inbox.Message, error) {
	mine := func(m *inbox.Message) bool {
		return m.From == tm.Name && m.Spawn == tm.SpawnID && m.Terminal() && m.ID > before
	}
	late := func(id string) bool { return id > before && reportOf(tm.Name, id) }
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
