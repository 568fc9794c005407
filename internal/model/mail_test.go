package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
)

// send draws a message: from anybody, to anybody, with a key or to be held now
// and then.
func (w *world) send(t *rapid.T, c *caller) verb {
	names := []string{team.LeaderName, "ann", "bob", "eve", "w1", team.AllName}
	to := rapid.SampledFrom(names).Draw(t, "to")
	if to == c.name {
		to = "ann"
		if c.name == "ann" {
			to = "bob"
		}
	}
	w.serial++
	r := team.SendRequest{To: []string{to}, Body: fmt.Appendf(nil, "message %d of %s", w.serial, c.name)}
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		r.Key = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
		r.Body = fmt.Appendf(nil, "keyed %s of %s", r.Key, c.name)
	case 1:
		r.Hold = to != team.LeaderName && to != team.AllName
	case 2:
		r.ExpectsReply = to != team.AllName && r.Key == ""
	}
	if to == team.LeaderName && rapid.Bool().Draw(t, "status") {
		r.Status = inbox.StatusCompleted
	}
	body := string(r.Body)
	return verb{who: c, name: "send to " + to, before: func() { w.bodies[body] = attempt{from: c.name, key: r.Key, to: r.To} }, run: func(k *call) error {
		var err error
		r := r
		if r.From, err = k.mailer(); err != nil {
			return err
		}
		sent, err := k.t.Send(k.ctx, r)
		for _, s := range sent {
			k.tell(func() {
				m := s.Message
				w.sent[m.ID] = &toldMessage{id: m.ID, from: m.From, to: m.To, body: body, spawn: m.Spawn, toSpawn: m.ToSpawn, report: m.To == team.LeaderName}
			})
		}
		return err
	}}
}

// mailer is the caller for the verbs of mail.
func (k *call) mailer() (team.Identity, error) {
	if k.who.kind == isLeader {
		return k.t.Leader()
	}
	return k.worker()
}

func (w *world) recv(t *rapid.T, c *caller) verb {
	most := rapid.IntRange(0, 2).Draw(t, "most")
	batch := rapid.IntRange(0, 3).Draw(t, "batch") == 0
	return verb{who: c, name: "recv of " + c.name, run: func(k *call) error {
		who, err := k.mailer()
		if err != nil {
			return err
		}
		r := team.ReceiveRequest{Who: who, Max: most, Show: func(m *inbox.Message) error {
			k.show(m, who)
			return nil
		}}
		if k.batch = batch; batch {
			r.Batch = func(list []*inbox.Message, _ int) error {
				for _, m := range list {
					k.show(m, who)
				}
				return nil
			}
		}
		_, _, problems, err := k.t.Receive(k.ctx, r)
		if err == nil && len(problems) > 0 {
			err = fmt.Errorf("problems: %v", problems)
		}
		if errs.CodeOf(err) == errs.NoSession {
			err = nil
		}
		return err
	}}
}

// show notes that a message was shown.
func (k *call) show(m *inbox.Message, who team.Identity) {
	if k.isDead() {
		return
	}
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	id := who.Name + "/" + m.ID
	first := len(w.printed[id]) == 0
	w.printed[id] = append(w.printed[id], print{by: who.SpawnID, sure: true})
	if !k.batch {
		k.shown = k.shown[:0] // the one before was marked before this one was shown
	}
	k.shown = append(k.shown, id)
	if a, known := w.bodies[string(m.Body)]; known && m.Kind != inbox.KindNotice {
		if a.from != m.From {
			w.wrong("%s was shown as from %s", m.ID, m.From)
		}
	} else if m.Kind != inbox.KindNotice {
		w.wrong("%s was shown, which nobody sent: %q", m.ID, m.Body)
	}
	if m.ToSpawn != "" && m.ToSpawn != who.SpawnID && m.Hold == "" {
		w.wrong("%s was shown to another life than it was for", m.ID)
	}
	if m.From == team.HarnessName || !first {
		return
	}
	key := m.From + " to " + who.Name
	if last := w.order[key]; last > m.ID && !k.loose {
		w.wrong("%s was shown after %s", m.ID, last)
	}
	w.order[key] = m.ID
}

func (w *world) unreadVerb(t *rapid.T, c *caller) verb {
	var ids []string
	for _, s := range w.sentInOrder() {
		if s.to == c.name {
			ids = append(ids, s.id)
		}
	}
	if len(ids) == 0 {
		return w.recv(t, c)
	}
	id := rapid.SampledFrom(ids).Draw(t, "message")
	return verb{who: c, name: "unread " + id, before: func() { w.unread[c.name+"/"+id]++ }, run: func(k *call) error {
		who, err := k.mailer()
		if err != nil {
			return err
		}
		_, err = k.t.Unread(k.ctx, who, id)
		return err
	}}
}

// watch has the leader be told when a task has ended.
func (w *world) watch(t *rapid.T, c *caller) verb {
	id := w.taskID(t)
	return verb{who: c, name: "watch " + id, before: func() { w.try("watch " + id) }, run: func(k *call) error {
		who, err := k.t.Leader()
		if err != nil {
			return err
		}
		_, _, pending, err := k.t.Watch(k.b, who, []string{id})
		if err == nil && len(pending) > 0 {
			k.tell(func() { w.watched[id]++ })
		}
		return err
	}}
}

// endSession ends the session: every life is over, what they held is free, and
// only what the leader has not read yet is kept.
func (w *world) endSession(c *caller) verb {
	return verb{who: c, life: true, alone: true, name: "session end", before: func() {
		for _, l := range w.lives {
			l.leaving, l.replaced = true, true
		}
		for name, j := range w.names {
			j.since++
			w.names[name] = j
		}
		w.try("session end")
	}, run: func(k *call) error {
		_, err := k.t.EndSession(k.ctx, k.b, true)
		w.mu.Lock()
		defer w.mu.Unlock()
		tm, b := w.observer()
		w.endedRev, _ = b.Revision()
		if _, serr := os.Lstat(tm.TeamDir()); !errors.Is(serr, fs.ErrNotExist) {
			return notYet(err)
		}
		// Whether or not anybody was told: it is gone, with what was read.
		for _, c := range w.callers {
			c.gone()
			c.spawn, c.past = "", nil
		}
		for id, m := range w.sent {
			if !m.report || len(w.printed["leader/"+id]) > 0 {
				delete(w.sent, id)
			}
		}
		// With the clock set back, the ids of the next session may be lower.
		w.watched, w.order = map[string]int{}, map[string]string{}
		w.ended = err == nil
		return notYet(err)
	}}
}

// stale is a call in the name of a life that is over: nothing comes of it.
func (w *world) stale(t *rapid.T, c *caller) verb {
	spawn := rapid.SampledFrom(c.past).Draw(t, "life")
	id := w.taskID(t)
	w.serial++
	body := fmt.Sprintf("message %d of the past", w.serial)
	from := team.Identity{Name: c.name, SpawnID: spawn}
	return verb{who: c, name: "what the past life " + spawn + " would do", before: func() {
		w.bodies[body] = attempt{from: c.name, stale: true}
	}, run: func(k *call) error {
		tm, b := w.open(k.slot.root, c.name, spawn)
		_, werr := tm.Worker(k.ctx)
		_, cerr := b.Claim(k.ctx, fsboard.ClaimRequest{ID: id, Worker: c.name, SpawnID: spawn, Max: 99})
		_, serr := b.Submit(k.ctx, fsboard.SubmitRequest{ID: id, Worker: c.name, SpawnID: spawn})
		_, merr := tm.Send(k.ctx, team.SendRequest{From: from, To: []string{team.LeaderName}, Body: []byte(body)})
		_, _, _, rerr := tm.Receive(k.ctx, team.ReceiveRequest{Who: from, Show: func(m *inbox.Message) error {
			return errs.New(errs.Internal, "%s was shown to a life that is over", m.ID)
		}})
		if now, err := tm.Read(c.name); err != nil || now.SpawnID == spawn {
			return err // its process died, and nobody has taken the name since
		}
		for i, err := range []error{werr, cerr, serr, merr, rerr} {
			if err == nil && !(i == 2 && w.answered(id, spawn)) {
				return errs.New(errs.Internal, "%d: the past life %s of %s was served", i, spawn, c.name)
			}
			if errs.CodeOf(err) == errs.Internal {
				return err
			}
		}
		return nil
	}}
}

// answered says whether a life may have submitted a task: it is told the same
// again.
func (w *world) answered(id, spawn string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries["complete "+id+" "+spawn]+w.tries["fail "+id+" "+spawn] > 0
}
