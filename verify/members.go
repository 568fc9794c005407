package verify

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// process is what is known about a process from one look at it.
type process struct {
	pid     int
	group   int
	session int
	start   uint64 // in units of the system; with pid it names a process
	zombie  bool
	stopped bool
	kernel  bool
}

// life names one process: its number may be used again, its start time not.
type life struct {
	pid   int
	start uint64
}

func (p process) life() life { return life{p.pid, p.start} }

// membership says whether a process belongs to a run.
type membership int

const (
	stranger membership = iota
	unsure              // no environment to be seen: it may be in execve(2)
	member
)

// membership looks at a process that lookup has found.
func (h *hunt) membership(p process) membership {
	switch {
	case p.pid <= 1, p.pid == h.self, p.zombie, p.kernel:
		return stranger
	case h.session > 0 && p.session == h.session:
		return member
	case p.start < h.since:
		return stranger
	}
	env, ok := environ(p.pid, h.environ)
	if cap(env) > cap(h.environ) {
		h.environ = env
	}
	switch {
	case !ok:
		return stranger
	case len(env) == 0:
		return unsure
	case hasEntry(env, h.entry):
		return member
	}
	return stranger
}

// scan looks at all processes, calls found for each living one of the run at
// once, and returns them. The look is complete when no process can have
// slipped through it by being born while it went on: whoever is born meanwhile
// is looked at too, until there is nobody new.
func (h *hunt) scan(found func(process)) (live []process, complete bool, err error) {
	last, known := lastPID()
	listed, err := processIDs()
	if err != nil {
		return nil, false, err
	}
	var doubts []int
	look := func(pid int, late bool) {
		p, ok := lookup(pid)
		if !ok {
			return
		}
		switch h.membership(p) {
		case unsure:
			doubts = append(doubts, pid)
		case member:
			// Threads have numbers too, but are not listed.
			if late && (!isLeader(pid) || slices.ContainsFunc(live, func(q process) bool { return q.life() == p.life() })) {
				return
			}
			live = append(live, p)
			found(p)
		}
	}
	for _, pid := range listed {
		look(pid, false)
	}
	const (
		enough = 100 * time.Millisecond
		// A number is given out a moment before its process can be seen.
		unborn = 16
	)
	begin := time.Now()
	for try := 0; known; try++ {
		for {
			now, ok := lastPID()
			// Later processes have higher numbers, until these start anew.
			if !ok || now < last || time.Since(begin) > enough {
				return live, false, nil
			}
			for pid := max(last-unborn, 1); pid <= now; pid++ {
				look(pid, true)
			}
			if now == last {
				break
			}
			last = now
		}
		// Some processes never have an environment; an execve(2) is over soon.
		if len(doubts) == 0 || try == 5 {
			break
		}
		time.Sleep(time.Millisecond)
		again := doubts
		doubts = nil
		for _, pid := range again {
			look(pid, true)
		}
	}
	return live, known, nil
}

func anyAlive(live []process) bool {
	for _, p := range live {
		if again, ok := lookup(p.pid); ok && !again.zombie && again.life() == p.life() {
			return true
		}
	}
	return false
}

// hasEntry tells whether a block of NUL-ended entries has one that is entry.
func hasEntry(block, entry []byte) bool {
	for from := 0; ; {
		i := bytes.Index(block[from:], entry)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(entry)
		if (begin == 0 || block[begin-1] == 0) && (end == len(block) || block[end] == 0) {
			return true
		}
		from = end
	}
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
