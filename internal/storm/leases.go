package main

import (
	"bytes"
	"time"
)

// The leases that shells take: one that nobody outlives who is not killed, and
// one that many do.
const (
	leaseKept = 30 * time.Second
	leaseLost = time.Second
)

// lease is one that somebody was told of. Its times are real ones, whatever the
// clock of the team says.
type lease struct {
	began  time.Time // before the claim was made
	length time.Duration
	seen   bool      // the snapshot has had the claim
	gone   time.Time // when it was not there any more, zero while it is
}

func (w *world) lease(token string, began time.Time, length time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leases[token] = &lease{began: began, length: length}
}

// seeLeases notes which claims a snapshot does not have any more.
func (w *world) seeLeases(snapshot []byte) {
	now := time.Now()
	held := map[string]bool{}
	mark := []byte(`"claim":{"token":"`)
	for {
		i := bytes.Index(snapshot, mark)
		if i < 0 {
			break
		}
		snapshot = snapshot[i+len(mark):]
		token, _, _ := bytes.Cut(snapshot, []byte(`"`))
		held[string(token)] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for token, l := range w.leases {
		switch {
		case held[token]:
			l.seen, l.gone = true, time.Time{}
		case l.seen && l.gone.IsZero():
			l.gone = now
		}
	}
}

// checkLease looks at a lease that history says was over: it lasted for its time.
func (w *world) checkLease(task, token string) {
	w.note("a lease was over")
	l := w.leases[token]
	switch {
	case l == nil: // whoever has it was killed before it was told
	case l.gone.IsZero(): // nobody looked when it ended
	case l.gone.Sub(l.began) < l.length:
		w.wrong("the lease of %s on %s was over after %s", l.length, task, l.gone.Sub(l.began))
	}
}
