package model

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
)

// taskID draws the id of a task, one that is not there now and then.
func (w *world) taskID(t *rapid.T) string {
	return fmt.Sprint("t_", rapid.IntRange(1, max(len(w.tried), 1)+1).Draw(t, "task"))
}

// draw makes a verb of somebody. It runs nothing.
func (w *world) draw(t *rapid.T) verb {
	c := rapid.SampledFrom(w.callers).Draw(t, "who")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.kind == isLeader:
		return w.leaderVerb(t, c)
	case c.kind == isHarness:
		return w.tick(c)
	case c.spawn == "" && c.kind != isBare:
		return w.join(t, c)
	}
	switch rapid.IntRange(0, 15).Draw(t, "verb") {
	case 0, 1, 2, 3:
		return w.claim(t, c)
	case 4, 5, 6, 7:
		return w.submitVerb(t, c)
	case 8:
		return w.renew(t, c)
	case 9:
		return w.release(t, c)
	case 10:
		if c.kind == isShell {
			return w.join(t, c)
		}
		return w.recv(t, c)
	case 11:
		if len(c.past) > 0 && rapid.Bool().Draw(t, "of the past") {
			return w.stale(t, c)
		}
		return w.leave(c)
	case 12, 13:
		return w.send(t, c)
	case 14:
		return w.unreadVerb(t, c)
	}
	return w.recv(t, c)
}

// drawBusy makes a verb of somebody who has a life, as a rule: of its work, or of
// the leader's.
func (w *world) drawBusy(t *rapid.T) verb {
	if rapid.IntRange(0, 3).Draw(t, "anything") == 0 {
		return w.draw(t)
	}
	var busy []*caller
	for _, c := range w.callers {
		if c.kind == isBare || c.spawn != "" || c.kind == isLeader {
			busy = append(busy, c)
		}
	}
	c := rapid.SampledFrom(busy).Draw(t, "who")
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.kind == isLeader {
		return w.leaderVerb(t, c)
	}
	switch rapid.IntRange(0, 9).Draw(t, "verb") {
	case 0, 1, 2, 3:
		return w.claim(t, c)
	case 4, 5, 6:
		return w.submitVerb(t, c)
	case 7:
		return w.release(t, c)
	case 8:
		return w.send(t, c)
	}
	return w.recv(t, c)
}

func (w *world) leaderVerb(t *rapid.T, c *caller) verb {
	switch rapid.IntRange(0, 14).Draw(t, "verb") {
	case 0, 1, 2, 3:
		return w.add(t, c)
	case 4:
		return w.onTask(t, c, "cancel", func(k *call, id string) error {
			_, err := k.b.Cancel(k.ctx, id, "", false)
			return err
		})
	case 5:
		return w.onTask(t, c, "edit", func(k *call, id string) error {
			subject := "edited " + k.w.next()
			_, err := k.b.Edit(k.ctx, id, fsboard.Edit{Subject: &subject})
			return err
		})
	case 6:
		return w.onTask(t, c, "reopen", func(k *call, id string) error { _, err := k.b.Reopen(k.ctx, id); return err })
	case 7:
		return w.onTask(t, c, "release", func(k *call, id string) error {
			_, err := k.b.Release(k.ctx, fsboard.ReleaseRequest{ID: id})
			return err
		})
	case 8:
		return verb{who: c, name: "collect", run: func(k *call) error {
			_, err := k.b.Collect(k.ctx, -48*time.Hour, false)
			return notYet(err)
		}}
	case 9:
		return verb{who: c, life: true, alone: true, name: "fix", run: func(k *call) error {
			if there, err := k.t.Exists(); err != nil || !there {
				return err
			}
			if err := k.b.Fix(k.ctx); notYet(err) != nil {
				return err
			}
			return k.t.Fix(k.ctx, k.b)
		}}
	case 10, 11:
		return w.send(t, c)
	case 12:
		return w.watch(t, c)
	case 13:
		return w.unreadVerb(t, c)
	}
	return w.recv(t, c)
}

// notYet lets pass that there is no board yet.
func notYet(err error) error {
	if errs.CodeOf(err) == errs.NoSession {
		return nil
	}
	return err
}

// next is a text that no other is like.
func (w *world) next() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return fmt.Sprint(w.serial)
}

func (w *world) onTask(t *rapid.T, c *caller, what string, run func(k *call, id string) error) verb {
	id := w.taskID(t)
	return verb{who: c, name: what + " " + id, before: func() { w.try(what + " " + id) }, run: func(k *call) error {
		err := run(k, id)
		if err == nil {
			_, err = k.t.PublishNotices(k.ctx, k.b)
		}
		return err
	}}
}

func (w *world) add(t *rapid.T, c *caller) verb {
	if len(w.tried) >= maxTasks {
		return w.onTask(t, c, "reopen", func(k *call, id string) error { _, err := k.b.Reopen(k.ctx, id); return err })
	}
	var n fsboard.NewTask
	switch rapid.IntRange(0, 9).Draw(t, "kind of task") {
	case 0, 1, 2:
		n.DependsOn = []string{w.taskID(t)}
	case 3, 6:
		n.Verify = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "gate")
	case 4:
		n.Key = rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")
	case 5:
		n.Assignee = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "assignee")
	}
	return w.adding(c, n)
}

// maxTasks is how many there are at most: callers shall meet.
const maxTasks = 5

func (w *world) adding(c *caller, n fsboard.NewTask) verb {
	w.serial++
	two := 2
	n.Subject, n.CreatedBy, n.MaxAttempts = fmt.Sprint("task ", w.serial), team.LeaderName, &two
	return verb{who: c, name: fmt.Sprintf("add %+v", n.Subject), before: func() { w.tried[n.Subject] = true }, run: func(k *call) error {
		list, err := k.b.Add(k.ctx, n)
		if err == nil {
			k.tell(func() { k.w.added[list[0].ID] = list[0].Subject })
		}
		return err
	}}
}

// tick is a pass: that of a running harness, or a tick of its own.
func (w *world) tick(c *caller) verb {
	return verb{who: c, name: "tick", run: func(k *call) error {
		r, err := k.t.Tick(k.ctx, k.b, team.TickOptions{StaleWait: 5 * time.Minute})
		if err == nil && r.Harness {
			return k.pass()
		}
		if err == nil && len(r.Problems) > 0 {
			err = fmt.Errorf("problems: %q", r.Problems)
		}
		return notYet(err)
	}}
}

// pass is what the running harness does, as far as it has to do with the model.
func (k *call) pass() error {
	if _, problems, err := k.t.DrainReports(k.ctx); err != nil || len(problems) > 0 {
		return fmt.Errorf("drain: %w %v", err, problems)
	}
	if _, err := k.b.Fold(k.ctx, true); notYet(err) != nil {
		return err
	}
	if _, err := k.t.PublishNotices(k.ctx, k.b); err != nil {
		return err
	}
	ids, err := k.b.Waiting()
	for _, id := range ids {
		if _, err := k.b.DecideFree(k.ctx, id); err != nil {
			return err
		}
	}
	return err
}

// join gives a caller a life, with a takeover now and then.
func (w *world) join(t *rapid.T, c *caller) verb {
	return w.joining(c, c.spawn != "" || rapid.IntRange(0, 3).Draw(t, "takeover") == 0)
}

func (w *world) joining(c *caller, takeover bool) verb {
	before := func() { w.replaceLives(c.name) }
	joined := func(k *call, tm team.Teammate) {
		if c.spawn != "" {
			c.past = append(c.past, c.spawn)
		}
		c.spawn = tm.SpawnID
		w.lives[tm.SpawnID] = &life{name: c.name}
		w.names[c.name] = joinedAs{spawn: tm.SpawnID}
	}
	if c.kind == isWorker {
		return verb{who: c, life: true, name: "work as " + c.name, before: before, run: func(k *call) error {
			tm, lock, err := k.t.JoinHeld(k.ctx, team.JoinRequest{Name: c.name, Takeover: takeover})
			if err != nil {
				return err
			}
			if k.isDead() {
				return lock.Unlock()
			}
			if tm.PreviousSpawnID != "" {
				if _, _, err := k.b.ReleaseAll(k.ctx, tm.Name, tm.PreviousSpawnID, "holder_replaced"); notYet(err) != nil {
					lock.Unlock()
					return err
				}
			}
			c.alive = lock
			k.tell(func() { joined(k, tm) })
			return nil
		}}
	}
	return verb{who: c, life: true, name: "join " + c.name, before: before, run: func(k *call) error {
		p, err := startProcess()
		if err != nil {
			return err
		}
		asNobody, _ := w.open(k.slot.root, "", "")
		tm, err := asNobody.Join(k.ctx, team.JoinRequest{Name: c.name, Process: &p.Process, Takeover: takeover})
		if err != nil || k.isDead() {
			p.kill()
			return err
		}
		if tm.PreviousSpawnID != "" {
			_, _, err = k.b.ReleaseAll(k.ctx, tm.Name, tm.PreviousSpawnID, "holder_replaced")
		}
		if notYet(err) != nil || k.isDead() {
			p.kill() // it was never told of the life
			return err
		}
		k.tell(func() {
			if c.proc != nil {
				c.proc.kill() // the shell before gives way
			}
			c.proc = p
			joined(k, tm)
		})
		return nil
	}}
}

func (w *world) leave(c *caller) verb {
	spawn := c.spawn
	return verb{who: c, life: true, name: "leave " + c.name, before: func() {
		for s, l := range w.lives {
			if l.name == c.name && (spawn == "" || s == spawn) {
				l.leaving = true
			}
		}
		j := w.names[c.name]
		j.since++
		w.names[c.name] = j
	}, run: func(k *call) error {
		id, err := k.t.Leaver()
		if err != nil {
			return err
		}
		_, err = k.t.Leave(k.ctx, id.Name, id.SpawnID, func(_ context.Context, tm team.Teammate) error {
			_, _, err := k.b.ReleaseAll(k.ctx, tm.Name, tm.SpawnID, "left")
			return notYet(err)
		})
		if err != nil {
			return err
		}
		k.tell(func() {
			if c.spawn == spawn {
				if spawn != "" {
					c.past = append(c.past, spawn)
				}
				c.spawn = ""
				c.gone()
			}
		})
		_, err = k.t.PublishNotices(k.ctx, k.b)
		return err
	}}
}

// worker is the caller as a teammate; a bare one joins by this.
func (k *call) worker() (team.Identity, error) {
	id, err := k.t.Worker(k.ctx)
	if err == nil && k.who.kind == isBare && !k.isDead() {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		if k.w.lives[id.SpawnID] == nil {
			k.w.replaceLives(id.Name)
			k.w.lives[id.SpawnID] = &life{name: id.Name}
		}
	}
	return id, err
}

func (w *world) claim(t *rapid.T, c *caller) verb {
	r := fsboard.ClaimRequest{Max: 2}
	if rapid.Bool().Draw(t, "named") {
		r.ID = w.taskID(t)
	}
	if rapid.IntRange(0, 2).Draw(t, "lease") == 0 {
		r.Lease = time.Minute
	}
	return verb{who: c, name: "claim " + r.ID, run: func(k *call) error {
		id, err := k.worker()
		if err != nil {
			return err
		}
		r := r
		r.Worker, r.SpawnID = id.Name, id.SpawnID
		began := w.boot
		v, err := k.b.Claim(k.ctx, r)
		if err != nil {
			return err
		}
		told := &toldClaim{task: v.ID, token: v.Claim.Token, worker: id.Name, spawn: id.SpawnID, epoch: v.Epoch, boot: w.boots}
		if r.Lease > 0 {
			told.lease = began + r.Lease
		}
		k.tell(func() { w.claims[told.token] = told })
		_, err = k.t.PublishNotices(k.ctx, k.b)
		return err
	}}
}

func (w *world) submitVerb(t *rapid.T, c *caller) verb {
	id := w.taskID(t)
	if held := w.heldBy(c.spawn); len(held) > 0 && rapid.IntRange(0, 9).Draw(t, "held") > 0 {
		id = rapid.SampledFrom(held).Draw(t, "which")
	}
	r := fsboard.SubmitRequest{ID: id, Result: "result", NoWait: w.held != nil || rapid.IntRange(0, 2).Draw(t, "no wait") == 0}
	what := "complete "
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		r.Status, what = "failed", "fail "
	}
	return verb{who: c, name: "submit " + what + id, run: func(k *call) error {
		who, err := k.worker()
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.try(what + id + " " + who.SpawnID)
		w.mu.Unlock()
		r := r
		r.Worker, r.SpawnID = who.Name, who.SpawnID
		res, err := k.b.Submit(k.ctx, r)
		if err != nil {
			return err
		}
		k.tell(func() { w.submit[res.Submission] = toldSubmission{id, res.Outcome} })
		_, err = k.t.PublishNotices(k.ctx, k.b)
		return err
	}}
}

// heldBy lists what a life was told that it holds.
func (w *world) heldBy(spawn string) (ids []string) {
	for i := 1; i <= len(w.tried); i++ {
		id := fmt.Sprint("t_", i)
		for _, c := range w.claims {
			if c.task == id && c.spawn == spawn {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

func (w *world) renew(t *rapid.T, c *caller) verb {
	id := w.taskID(t)
	return verb{who: c, name: "renew " + id, run: func(k *call) error {
		who, err := k.worker()
		if err != nil {
			return err
		}
		task, err := k.b.Renew(k.ctx, id, who.Name, who.SpawnID, 0)
		if err != nil || task.Claim.LeaseMs == 0 {
			return err
		}
		token := task.Claim.Token
		k.tell(func() {
			if told := w.claims[token]; told != nil {
				told.lease, told.boot = w.boot+time.Minute, w.boots
			}
		})
		return nil
	}}
}

func (w *world) release(t *rapid.T, c *caller) verb {
	id := w.taskID(t)
	return verb{who: c, name: "release " + id, run: func(k *call) error {
		who, err := k.worker()
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.try("release " + id + " " + who.SpawnID)
		w.mu.Unlock()
		_, err = k.b.Release(k.ctx, fsboard.ReleaseRequest{ID: id, Worker: who.Name, SpawnID: who.SpawnID})
		if err == nil {
			_, err = k.t.PublishNotices(k.ctx, k.b)
		}
		return err
	}}
}
