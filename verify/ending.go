package verify

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"golang.org/x/sys/unix"
)

const (
	// afterKill is how long processes have to be gone after SIGKILL.
	afterKill = 5 * time.Second
	// fullScan is how often newcomers are looked for while known processes
	// have not ended yet.
	fullScan = 250 * time.Millisecond
	maxPause = 20 * time.Millisecond
)

// hunt ends the processes of one run.
type hunt struct {
	entry   []byte // TEAMS_GATE=<run id>
	session int    // the shell's pid, held by the unreaped shell; 0: unknown
	since   uint64 // start time of the shell; nothing of the run is older
	self    int

	environ  []byte            // reused
	signaled map[life]struct{} // what was sent a signal
	asked    bool              // the group had its SIGTERM
}

func newHunt(runID string) *hunt {
	return &hunt{
		entry:    []byte(gateKey + "=" + runID),
		self:     os.Getpid(),
		signaled: make(map[life]struct{}),
	}
}

// EndRun ends every process that carries TEAMS_GATE=<runID> in its
// environment, and nothing else: SIGTERM, and SIGKILL after 5 seconds. It is
// meant for the run of a decider that died. The calling process is spared even
// if it carries the id itself. EndRun returns when the processes are gone,
// with their number; 0 and no error when there were none.
//
// The error has code usage for an id that cannot be one, and code failure when
// processes are left that could not be ended (another user's, or stuck in the
// kernel) or could not be looked for.
func EndRun(runID string) (ended int, err error) {
	if err := checkRunID(runID); err != nil {
		return 0, err
	}
	return newHunt(runID).end(0, defaultGrace)
}

// EndMarked ends every process that carries VARIABLE=value in its environment,
// and nothing else: SIGTERM, and SIGKILL after grace. It is meant for what a
// host leaves behind, which it marks so; the value names one run and is never
// used twice. What is said of [EndRun] holds for it.
func EndMarked(variable, value string, grace time.Duration) (ended int, err error) {
	h, err := huntMarked(variable, value)
	if err != nil {
		return 0, err
	}
	return h.end(0, grace)
}

// Marked lists the processes that [EndMarked] would end, by their numbers.
func Marked(variable, value string) (pids []int, err error) {
	h, err := huntMarked(variable, value)
	if err != nil {
		return nil, err
	}
	live, _, err := h.scan(func(process) {})
	if err != nil {
		return nil, errs.New(errs.Failure, "cannot look for processes: %w", err)
	}
	for _, p := range live {
		pids = append(pids, p.pid)
	}
	return pids, nil
}

func huntMarked(variable, value string) (*hunt, error) {
	if variable == "" || strings.ContainsAny(variable, "=\x00") {
		return nil, errs.New(errs.Usage, "%q is no name of a variable", variable)
	}
	if len(value) < minMark || strings.IndexByte(value, 0) >= 0 {
		return nil, errs.New(errs.Usage, "%q marks no process: it is too short to be unique", value)
	}
	h := newHunt("")
	h.entry = []byte(variable + "=" + value)
	return h, nil
}

// minMark is the shortest value that marks processes: what is shorter could be
// in use by others.
const minMark = 16

// end ends what belongs to the run and returns how many processes that were:
// nothing for as long as settle says, then SIGTERM, and SIGKILL after grace.
// It looks until a look that missed nothing has found nothing.
func (h *hunt) end(settle, grace time.Duration) (ended int, err error) {
	begin := time.Now().Add(settle) // of the ending
	clean, rounds := 0, 0
	pause := time.Millisecond
	for {
		wait := time.Since(begin) < 0
		kill := time.Since(begin) >= grace
		live, complete, err := h.scan(func(p process) {
			if !wait {
				h.send(p, kill)
			}
		})
		if err != nil {
			h.endGroup(grace)
			return len(h.signaled), errs.New(errs.Failure, "cannot look for processes of the gate: %w", err)
		}
		if len(live) == 0 {
			if clean++; complete || clean == 3 {
				h.awaitExits()
				return len(h.signaled), nil
			}
			time.Sleep(time.Millisecond)
			continue
		}
		clean = 0
		if kill {
			if time.Since(begin) >= grace+afterKill {
				return len(h.signaled) - h.countSignaled(live), leftError(live)
			}
			time.Sleep(time.Millisecond)
			if rounds++; rounds > 100 {
				time.Sleep(maxPause) // this is not about forks any more
			}
			continue
		}
		next := min(time.Since(begin)+fullScan, grace)
		if wait {
			next = 0
		}
		for anyAlive(live) && time.Since(begin) < next {
			time.Sleep(pause)
			pause = min(2*pause, maxPause)
		}
	}
}

// awaitExits waits for processes that were signalled and are about to be gone: one
// that exits gives its environment up a moment before that. Whoever has only
// changed its environment is not waited for long.
func (h *hunt) awaitExits() {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left := false
		for l := range h.signaled {
			p, ok := lookup(l.pid)
			left = left || ok && !p.zombie && p.life() == l
		}
		if !left {
			return
		}
	}
}

// send sends a process of the run SIGTERM, once in its life, or SIGKILL. The
// group gets SIGTERM once and as a whole: what its processes start afterwards
// is how they clean up.
func (h *hunt) send(p process, kill bool) {
	_, known := h.signaled[p.life()]
	switch {
	case h.session > 0 && p.group == h.session:
		if kill || !h.asked {
			h.asked = true
			h.signalGroup(kill)
			h.signaled[p.life()] = struct{}{}
		}
	case kill:
		h.signal(p, unix.SIGKILL)
	case !known:
		// A stopped process takes SIGTERM only when it goes on.
		h.signal(p, unix.SIGTERM, unix.SIGCONT)
	}
}

func (h *hunt) signalGroup(kill bool) {
	if kill {
		_ = unix.Kill(-h.session, unix.SIGKILL)
		return
	}
	_ = unix.Kill(-h.session, unix.SIGTERM)
	_ = unix.Kill(-h.session, unix.SIGCONT)
}

// signal sends signals to the process that p was when it was looked at. The
// handle comes first and the second look after it, so that a process which
// got the number meanwhile is not hit: the handle is a pidfd on Linux.
func (h *hunt) signal(p process, signals ...syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	again, ok := lookup(p.pid)
	if !ok || again.life() != p.life() || h.membership(again) != member {
		return
	}
	for _, s := range signals {
		if handle.Signal(s) != nil {
			return
		}
		h.signaled[p.life()] = struct{}{}
	}
}

// endGroup ends the group of the shell without a look at its processes.
func (h *hunt) endGroup(grace time.Duration) {
	if h.session == 0 {
		return
	}
	h.signalGroup(false)
	for begin := time.Now(); !hasExited(h.session) && time.Since(begin) < grace; {
		time.Sleep(maxPause)
	}
	h.signalGroup(true)
}

func (h *hunt) countSignaled(live []process) (n int) {
	for _, p := range live {
		if _, ok := h.signaled[p.life()]; ok {
			n++
		}
	}
	return n
}

func leftError(left []process) error {
	pids := make([]string, len(left))
	for i, p := range left {
		pids[i] = fmt.Sprint(p.pid)
	}
	return errs.New(errs.Failure, "could not end all processes of the gate, left: %s", strings.Join(pids, " "))
}
