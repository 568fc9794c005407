package model

import (
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
)

// facts are what was tried and what was told. The model is no second board: it
// only knows what callers may rely on.
type facts struct {
	lives map[string]*life // by spawn id
	names map[string]joinedAs

	serial int // makes every text different
	added  map[string]string
	tried  map[string]bool // subjects that somebody tried to add
	claims map[string]*toldClaim
	byTask map[string]string // task and epoch: the token that was told
	submit map[string]toldSubmission

	// How often something was tried, by what it would do: "cancel t_1",
	// "release t_1 <spawn>", "complete t_1 <spawn>" and so on.
	tries map[string]int

	watched map[string]int          // by task: how many registrations were told
	sent    map[string]*toldMessage // by id
	bodies  map[string]attempt      // every body that somebody tried to send
	printed map[string][]print      // by message id
	order   map[string]string       // sender and receiving life: the last id shown first
	unread  map[string]int          // how often a message was made unread again

	ended    bool     // a session has just ended
	endedRev int64    // the board's revision when one was to end
	seen     []string // the events of the history, which only grows
	broken   []string // promises that were found broken
}

// joinedAs is the last life of a name that somebody was told of.
type joinedAs struct {
	spawn string
	since int // joins and leaves tried since
}

// toldClaim is a claim that somebody was told it holds.
type toldClaim struct {
	task, token, worker, spawn string
	epoch                      int64
	lease                      time.Duration // its end on the boot clock of boot, 0: none
	boot                       int
}

// toldSubmission is a submission that somebody was told of.
type toldSubmission struct {
	task, outcome string
}

// attempt is a message that somebody tried to send.
type attempt struct {
	from, key string
	to        []string
	stale     bool // of a life that was over
}

// toldMessage is a message that somebody was told is sent.
type toldMessage struct {
	id, from, to, body string
	spawn, toSpawn     string
	report             bool
}

// print is one showing of a message.
type print struct {
	by   string // the life that saw it
	sure bool   // it was marked, or should have been
}

func newFacts() facts {
	return facts{
		lives: map[string]*life{}, names: map[string]joinedAs{},
		added: map[string]string{}, tried: map[string]bool{}, claims: map[string]*toldClaim{}, byTask: map[string]string{},
		submit: map[string]toldSubmission{}, watched: map[string]int{}, tries: map[string]int{},
		sent: map[string]*toldMessage{}, bodies: map[string]attempt{}, printed: map[string][]print{},
		order: map[string]string{}, unread: map[string]int{},
	}
}

func (f *facts) life(spawn string) *life {
	l := f.lives[spawn]
	if l == nil {
		l = &life{}
		f.lives[spawn] = l
	}
	return l
}

// try notes that something was tried.
func (f *facts) try(what string) { f.tries[what]++ }

// over says whether a life may be over by now, as far as anybody can tell.
func (f *facts) over(spawn string) bool {
	l := f.lives[spawn]
	return l != nil && (l.dead || l.leaving || l.replaced)
}

// replaceLives notes that the lives of a name may be replaced from now on.
func (f *facts) replaceLives(name string) {
	for _, l := range f.lives {
		if l.name == name {
			l.replaced = true
		}
	}
	j := f.names[name]
	j.since++
	f.names[name] = j
}

// endedBy says what may have ended a claim, "" for nothing: it is what the
// reason of the event that ended it must be backed by.
func (w *world) mayEnd(c *toldClaim, e *fsboard.Event) bool {
	switch e.Event {
	case fsboard.EventCompleted:
		return w.tries["complete "+c.task+" "+c.spawn] > 0
	case fsboard.EventFailed:
		return w.tries["fail "+c.task+" "+c.spawn] > 0
	case fsboard.EventCancelled:
		return w.tries["cancel "+c.task] > 0
	case fsboard.EventReleased:
		switch e.Reason {
		case "lease_over":
			return c.lease > 0 && (w.boots != c.boot || w.boot >= c.lease)
		case "holder_dead", "holder_replaced":
			return w.over(c.spawn)
		case "session_ended":
			return w.tries["session end"] > 0
		case "left":
			return w.lives[c.spawn] != nil && w.lives[c.spawn].leaving
		}
		return w.tries["release "+c.task] > 0 || w.tries["release "+c.task+" "+c.spawn] > 0
	case fsboard.EventClaimRefused:
		return w.over(c.spawn) || w.tries["cancel "+c.task]+w.tries["edit "+c.task]+w.reopens() > 0
	}
	return false
}

// reopens is how often a task was to be opened again, which touches what
// depends on it.
func (f *facts) reopens() (n int) {
	for what, times := range f.tries {
		if strings.HasPrefix(what, "reopen ") {
			n += times
		}
	}
	return n
}
