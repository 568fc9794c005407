package pi

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// A run is over with agent_end, but that is not the end: a retry or a
// compaction may follow, messages may be left in the queue, and pi's word that
// it took a prompt may have been wrong. Pi writes what follows at once behind
// agent_end. So an answer to a question that was asked after agent_end comes
// after all of it, and if nothing has happened until then, pi is idle.

// track is what is known of pi's doings. It is guarded by Process.mu.
type track struct {
	streaming  bool // between agent_start and agent_end
	starting   bool // pi took a prompt while it was idle, and no run has been seen yet
	settling   bool // a run is over, and what follows is not known
	compacting bool
	retrying   bool      // waiting before a retry
	expect     time.Time // until then a run may start that pi has announced
	epoch      uint64    // counts what changes any of these
	last       RunEnd
	ran        bool // a run has ended that was not reported yet

	tools    []Activity // running
	thinking lastLine
	text     lastLine
	changed  chan struct{} // closed and made anew when state changes
	wake     chan struct{} // of settleLoop
}

func (t *track) init() {
	t.changed = make(chan struct{})
	t.wake = make(chan struct{}, 1)
}

func (t *track) restless() bool {
	return t.starting || t.settling || t.compacting || t.retrying
}

// update brings the state up to date, sends what can be sent, and wakes who
// waits. Callers hold mu.
func (p *Process) update() {
	p.pump()
	state := Idle
	switch {
	case p.ended:
		state = Ended
	case p.streaming, p.restless(), p.inFlight != nil, p.nudgeOut:
		state = Working
	}
	if p.streaming {
		p.ran = true
	}
	if state != p.state {
		p.state = state
		close(p.changed)
		p.changed = make(chan struct{})
		if p.started.Load() || state == Ended {
			p.out.now(state)
		}
	}
	if p.streaming && !p.ended {
		return // nothing to find out; missedEnd looks anyway
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

const (
	// probeLimit bounds the wait for an answer about pi's state.
	probeLimit = 30 * time.Second
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// settleLoop finds out what follows a run.
func (p *Process) settleLoop() {
	pause := firstPause
	var quiet uint64 // epoch in which a running pi said that it does not run
	for {
		p.mu.Lock()
		wait, ended := p.nextLook(), p.ended
		p.mu.Unlock()
		if ended {
			return
		}
		if wait != 0 && !p.sleep(wait) {
			pause = firstPause
			continue // something has happened
		}
		p.mu.Lock()
		epoch, streaming := p.epoch, p.streaming
		look := p.restless() || streaming && time.Since(p.LastOutput()) >= orElse(p.c.missedEnd, defaultEnd)
		p.mu.Unlock()
		if !look {
			p.mu.Lock()
			p.nudgeIfDue()
			p.mu.Unlock()
			continue
		}
		ctx, cancel := context.WithTimeout(p.ctx, probeLimit)
		ev, err := p.ask(ctx, "get_state")
		cancel()
		if err != nil || ev.state == nil {
			p.sleepAll(lastPause)
			continue
		}
		p.mu.Lock()
		same := p.epoch == epoch
		settled := false
		switch {
		case !same:
		case ev.state.streaming, ev.state.compacting, time.Now().Before(p.expect):
		case streaming && quiet != epoch+1:
			quiet = epoch + 1 // its events may be late; look once more
		default:
			p.streaming = false
			settled = p.settle(ev.state)
		}
		p.update()
		p.mu.Unlock()
		if settled {
			p.guardSession()
		}
		if same && !settled {
			p.sleep(pause)
			pause = min(2*pause, lastPause)
		} else {
			pause = firstPause
		}
	}
}

// nextLook says how long there is nothing to look at; 0: now. Callers hold mu.
func (p *Process) nextLook() time.Duration {
	switch {
	case p.restless():
		return 0
	case p.streaming:
		return orElse(p.c.missedEnd, defaultEnd)
	case (p.stuck() > 0 || p.owed) && !p.nudgeOut:
		return max(time.Until(p.nudgeAt), time.Millisecond)
	}
	return 24 * time.Hour
}

// sleep waits, and reports false when something happened first.
func (p *Process) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.wake:
		return false
	case <-p.ctx.Done():
		return false
	}
}

// sleepAll waits whatever happens, but not longer than pi lives.
func (p *Process) sleepAll(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// settle is called when pi has said that it does nothing and nothing has
// happened since it was asked. It reports whether everything is decided.
// Callers hold mu.
func (p *Process) settle(s *stateData) bool {
	quiet := orElse(p.c.Quiet, defaultQuiet)
	now := time.Now()
	open := false
	for _, q := range append([]*prompt(nil), p.sent...) {
		switch {
		case !q.taken:
			// Its response is to come.
		case q.queued && s.pending > 0:
			// In pi's queue; a nudge will make pi run it.
		case q.suspect != p.epoch+1:
			q.suspect, q.since, open = p.epoch+1, now, true
		case now.Sub(q.since) < quiet:
			open = true
		default:
			p.decide(q, Lost, errs.New(errs.Failure, "pi took the prompt and never showed it to the model"))
		}
	}
	if open {
		return false
	}
	p.starting, p.settling, p.compacting, p.retrying = false, false, false, false
	p.expect = time.Time{}
	p.tools = p.tools[:0]
	if p.ran {
		p.ran = false
		text := p.last.Reason
		if p.last.Error != "" {
			text += ": " + p.last.Error
		}
		p.show(Activity{Kind: RunEnded, Text: text, IsError: p.last.Failed()})
		p.out.runEnd(p.last)
		if !p.last.Failed() {
			p.nudges = 0
		}
	}
	if p.stuck() > 0 || p.owed {
		p.nudgeAt = now.Add(p.nudgePause())
		p.pump()
		p.nudgeIfDue()
	}
	return true
}

// nudgePause is how long to wait before the next nudge: not at all, and longer
// and longer while the model does not answer.
func (p *Process) nudgePause() time.Duration {
	if p.nudges == 0 {
		return 0
	}
	return min(time.Second<<min(p.nudges-1, 10), 5*time.Minute)
}

// nudgeIfDue makes an idle pi run what is left in its queue: a run that ended
// by an error or an abort leaves it there, it cannot be taken back, and only a
// prompt starts a run. One that waits anyway will do. Callers hold mu.
func (p *Process) nudgeIfDue() {
	if p.streaming || p.restless() || p.ended || p.closing || p.aborting > 0 || p.nudgeOut || p.inFlight != nil ||
		len(p.waiting) > 0 || p.stuck() == 0 && !p.owed || time.Now().Before(p.nudgeAt) {
		return
	}
	p.nudges++
	p.nudgeAt = time.Now().Add(p.nudgePause())
	q := newPrompt(p.nextID("nudge-"), orElse(p.c.Nudge, defaultNudge), Steer)
	q.nudge, p.nudgeOut = true, true
	p.send(q)
}

// Interrupt ends the running turn, and the wait for a retry, and returns when
// pi has done so. Pi lives on, and what is in its queue is run then. An idle pi
// is left as it is. The error is that of ctx, or says that pi has ended.
func (p *Process) Interrupt(ctx context.Context) error {
	p.mu.Lock()
	p.aborting++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.aborting--
		p.update()
		p.mu.Unlock()
	}()
	_, err := p.ask(ctx, "abort")
	return err
}
