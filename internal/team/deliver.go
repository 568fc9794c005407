package team

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
)

// deliver puts a message into a teammate's mailbox and looks again whether the
// life that it is for is still there. If not, the message is taken back where
// nobody has begun to read it; where somebody has, it was delivered, or its
// sender is told that it was not. One with a key stays when that cannot be seen:
// its sender is told so, and with the same key looks again.
func (t *Team) deliver(m *inbox.Message, to *recipient) (Sent, error) {
	s := Sent{Message: m, Delivery: delivery(m, to.life), SilentMs: silence(to.life)}
	if to.dead {
		s.Delivery, s.SilentMs = DeliveryHeld, 0
	}
	box := t.Box(to.name)
	if m.Key == "" {
		if err := box.Publish(m); err != nil {
			return s, err
		}
	} else {
		key := lifeKey("sent-"+digest(m.From, m.Key), m.ToSpawn)
		id, first, err := box.PublishOnce(t.NoticedDir(to.name), key, m)
		if err != nil {
			return s, err
		}
		if s.repeated(id, first); s.Repeated {
			if was, err := peekAny(box, id); err == nil {
				s.Message = was
			}
		}
	}
	if m.Hold != "" {
		return s, nil
	}
	gone, lookErr := t.lifeOver(to.name, m.ToSpawn)
	if lookErr == nil && !gone {
		return s, nil
	}
	if lookErr != nil && m.Key != "" {
		return s, lookErr
	}
	withdrawn, err := box.Withdraw(s.Message.ID)
	if err != nil {
		return s, err
	}
	if !fileExists(t.TeammateDir(to.name)) {
		withdrawn = true // its spawn was undone, and the mailbox with it
	}
	switch {
	case withdrawn && lookErr != nil:
		return s, lookErr
	case !withdrawn && !t.wasTold(m.From, lifeKey(undeliveredKey(s.Message.ID), m.Spawn)):
		return s, nil // it has been read, or is being read
	}
	return s, errs.New(errs.Stopped, "%s stopped while the message was being sent; it was taken back", to.name).
		WithHint("send it again, with --hold to keep it for the successor")
}

// delivery is what a message does to a living teammate. A command that runs once
// per wake takes nothing while it runs.
func delivery(m *inbox.Message, to Teammate) string {
	switch {
	case !to.Resident() || m.Hold != "":
	case to.Status == StatusIdle:
		return DeliveryWoke
	case to.Status == StatusWorking && to.Kind != KindExec && m.Later == "":
		return DeliverySteered
	}
	return DeliveryQueued
}

// report puts a teammate's report into its outbox and looks again whether the
// sender is still the same.
func (t *Team) report(m *inbox.Message) (Sent, error) {
	s := Sent{Message: m, Delivery: DeliveryOutbox}
	out := t.Outbox(m.From)
	if m.Key == "" {
		if err := out.Send(m); err != nil {
			return s, err
		}
	} else {
		key := lifeKey("report-"+digest(m.Key), m.Spawn)
		id, first, err := out.SendOnce(t.NoticedDir(m.From), key, m)
		if err != nil {
			return s, err
		}
		if s.repeated(id, first); s.Repeated {
			if was, err := t.peekReport(m.From, id); err == nil {
				s.Message = was
			}
		}
	}
	over, lookErr := t.lifeOver(m.From, m.Spawn)
	if lookErr == nil && !over {
		return s, nil
	}
	if lookErr != nil && m.Key != "" {
		return s, lookErr // it stays, and whoever repeats it looks again
	}
	withdrawn := false
	if !s.Repeated { // that one was told to be sent, and stays
		var err error
		if withdrawn, err = out.Withdraw(m.ID); err != nil {
			return s, err
		}
	}
	if !withdrawn {
		// A drain was quicker: it has delivered the report, or rejected it.
		there, _, err := t.Box(LeaderName).Has(s.Message.ID)
		if err != nil || there {
			return s, err
		}
	}
	if lookErr != nil {
		return s, lookErr
	}
	return s, staleIdentity(m.From)
}

// repeated notes which message a key stands for.
func (s *Sent) repeated(id string, first bool) {
	if s.Repeated = !first; s.Repeated {
		m := *s.Message
		if m.Thread == m.ID {
			m.Thread = id
		}
		m.ID = id
		s.Message = &m
	}
}

// peekReport returns the header of a report where it lies now: with its sender,
// or with the leader.
func (t *Team) peekReport(from, id string) (*inbox.Message, error) {
	m, err := t.Outbox(from).Peek(id)
	if errors.Is(err, fs.ErrNotExist) {
		return peekAny(t.Box(LeaderName), id)
	}
	return m, err
}

// lifeOver reports whether a life of a name is no longer the present one.
func (t *Team) lifeOver(name, spawnID string) (bool, error) {
	tm, err := t.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return tm.SpawnID != spawnID || tm.Status == StatusStopped, nil
}

// peekAny returns the header of a message, read or not; fs.ErrNotExist when
// there is none.
func peekAny(box *inbox.Box, id string) (*inbox.Message, error) {
	var m *inbox.Message
	var err error
	for range 4 { // while it is moved to and fro, a look may come too late
		for _, read := range []bool{false, true} {
			if m, err = box.Peek(id, read); !errors.Is(err, fs.ErrNotExist) {
				return m, err
			}
		}
	}
	return nil, err
}

// silentLong is how long a working teammate may say nothing before a sender is
// told so.
const silentLong = 30 * time.Minute

// silence is how long a working teammate has been silent, in ms, when that is
// long; else 0.
func silence(tm Teammate) int64 {
	if tm.Status != StatusWorking || tm.LastOutputAt == 0 {
		return 0
	}
	ms := nowMillis() - tm.LastOutputAt
	if ms < silentLong.Milliseconds() {
		return 0
	}
	return ms
}

// digest makes a file name of the parts of a key.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}
