package fsboard

// clockSlack is how far, in ms, a clock may seem to go back without a look at
// every task: clocks of several hosts are never quite the same.
const clockSlack = 2000

// backoffMs is the pause after the nth failed attempt: 30 s, doubled each time.
func backoffMs(attempt int) int64 {
	return 30_000 << min(max(attempt-1, 0), 30)
}

// notBefore returns the end of the task's back-off; one that lies further
// ahead than the back-off lasts counts as the back-off from now.
func (task *Task) notBefore(now int64) int64 {
	return min(task.NotBefore, now+backoffMs(task.Attempt))
}

// foldClock mends times that a clock left ahead of now: a back-off counts at
// most from now, and a lease that the boot clock does not measure ends at most
// its length from now. Only a snapshot that was written "in the future" can
// have such times; it is written anew even without them, so that the next look
// finds nothing to do.
//
// A pending task keeps its epoch here. Its marker is not taken, so one may
// come in at any moment, and stays as good as it was: the task can only be
// claimed earlier than before.
func (t *tx) foldClock() error {
	if t.snap.head.UpdatedAt <= t.now+clockSlack+t.boot.mostAhead() {
		return nil
	}
	t.note(Event{Event: EventClock, Reason: "clock_went_back"})
	for i := range t.snap.lines {
		if st := t.snap.lines[i].status(); st != pending && st != claimed {
			continue
		}
		task, err := t.snap.at(i)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		late := task.Status == Pending && task.NotBefore > task.notBefore(t.now)
		until := task.Claim.mended(t.now, t.boot)
		if !late && until == 0 {
			continue
		}
		if task, err = t.edit(task.ID); err != nil {
			return err
		}
		if late {
			task.NotBefore = task.notBefore(t.now)
		}
		if until > 0 {
			task.Claim.LeaseUntil = until
		}
		t.note(Event{Event: EventClock, Task: task.ID, Epoch: task.Epoch, Reason: "clock_went_back"})
	}
	return nil
}

// mended returns what LeaseUntil is by the present clock of the claim's host, 0
// when it is so.
func (c *Claim) mended(now int64, boot bootPoint) int64 {
	if c == nil || c.LeaseUntil <= 0 || c.LeaseMs <= 0 {
		return 0
	}
	there := now + boot.ahead(c.Host)
	if c.LeaseUntil <= there+c.LeaseMs {
		return 0
	}
	return max(there+c.leaseLeft(now, boot), 1)
}
