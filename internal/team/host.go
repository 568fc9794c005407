package team

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// turnGrace is how long a running turn may go on when its teammate is asked to
// end after it.
const turnGrace = 30 * time.Second

// HostRequest says which teammate a process is to host.
type HostRequest struct {
	Name string
	Poll time.Duration // how often to look where notification does not work; 0: 250 ms
	// Says and Hears connect the host with the spawn that started it.
	Says  io.WriteCloser
	Hears io.ReadCloser
}

// HostPipes are the pipes that a spawn leaves open for its host; nil when the
// process was not started by one.
func HostPipes() (says io.WriteCloser, hears io.ReadCloser) {
	open := func(fd uintptr, name string) *os.File {
		f := os.NewFile(fd, name)
		if f == nil {
			return nil
		}
		if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return nil
		}
		// What the host runs must not hold the pipes open: the spawn takes their
		// end for the host's.
		syscall.CloseOnExec(int(fd))
		return f
	}
	s, h := open(hostSays, "says"), open(hostHears, "hears")
	if s == nil || h == nil {
		return nil, nil
	}
	return s, h
}

// host is a process that hosts one resident.
type host struct {
	t    *Team
	b    *fsboard.Board
	tm   Teammate // as it was when the host began; what changes is read anew
	log  *activityLog
	poll time.Duration

	watch  *fsx.Watcher
	drive  driver
	output func() (string, time.Time) // see latest; nil: from the log

	mu      sync.Mutex // guards what follows
	stopped string     // StopTurn or StopNow once it was asked to end
	named   bool       // pi was told who it is
	owes    bool       // the leader gave it something to do, and it has not reported
	// reported is the last message that it had sent to the leader by then.
	reported string

	noted     time.Time         // of the output that the record knows
	unwritten []func(*Teammate) // changes of the record that could not be written yet
}

// driver is what runs a resident's program: once per wake, or all the time.
type driver interface {
	// start makes the program ready. What it started is recorded as the child.
	start(ctx context.Context) error
	// run looks after the program until the teammate shall end, and leaves it
	// running then. An error says that it cannot go on.
	run(ctx context.Context) error
	// end ends the program and all that it left, after its running turn when that
	// ends in time. Nothing of it runs when end returns nil.
	end(now bool) error
}

// errReplaced says that the name has another life, or none, by now.
var errReplaced = errors.New("the life that this process hosts is over")

// Host hosts a resident: it holds the life's lock, runs the program when there
// is mail, and ends the life when it is asked to. It returns when the life is
// over. ctx asks for the same at once.
func (t *Team) Host(ctx context.Context, b *fsboard.Board, r HostRequest) error {
	if r.Says == nil || r.Hears == nil {
		return errs.New(errs.Usage, "a host is started by teams spawn")
	}
	defer r.Says.Close()
	if r.Poll == 0 {
		r.Poll = 250 * time.Millisecond
	}
	h := &host{t: t, b: b, poll: r.Poll}
	lock, err := h.begin(ctx, r)
	if err != nil {
		_ = sayHost(r.Says, failedLine(err))
		return err
	}
	defer lock.Unlock()
	defer h.log.Close()
	defer func() { h.watch.Close() }()
	err = h.drive.start(ctx)
	if err == nil {
		err = sayHost(r.Says, hostLine{State: hostReady})
	}
	if err != nil {
		_ = h.drive.end(true)
		_ = sayHost(r.Says, failedLine(err))
		h.giveUp(ctx, lock)
		return err
	}
	if line, err := bufio.NewReader(r.Hears).ReadString('\n'); err != nil || line != "go\n" {
		_ = h.drive.end(true)
		h.giveUp(ctx, lock)
		return errs.New(errs.Failure, "the spawn of %s was given up", r.Name)
	}
	r.Hears.Close()
	if err := h.settle(ctx); err != nil {
		_ = sayHost(r.Says, failedLine(err))
		_ = h.drive.end(true)
		return errors.Join(err, h.finish(err))
	}
	_ = sayHost(r.Says, hostLine{State: hostUp})
	r.Says.Close()
	defer t.StayPresent(ctx)()
	defer h.keepLeases(ctx)()
	return h.live(ctx)
}

// begin takes the life's lock and records this process as its host.
func (h *host) begin(ctx context.Context, r HostRequest) (*fsx.Lock, error) {
	tm, err := h.t.Find(r.Name)
	if err != nil {
		return nil, err
	}
	if tm.SpawnID != h.t.SpawnID || tm.Status != StatusStarting {
		return nil, staleIdentity(r.Name)
	}
	lock, err := h.t.HoldAlive(tm)
	if err != nil {
		return nil, err
	}
	self, err := fsx.Self()
	if err == nil {
		h.tm, err = h.t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
			tm.SetProcess(&self)
			return nil
		})
	}
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	h.log = openActivityLog(h.t.ActivityLog(tm.Name))
	h.watch = fsx.NewWatcher(h.poll, filepath.Join(h.t.InboxDir(tm.Name), "new"), h.t.TeammateDir(tm.Name))
	switch tm.Kind {
	case KindExec:
		h.drive = &execDriver{host: h}
	case KindPi:
		h.drive = &piDriver{host: h}
	case KindHerdr:
		h.drive = &herdrDriver{host: h}
	default:
		err = errs.New(errs.Usage, "no host for teammates of kind %s", tm.Kind)
		lock.Unlock()
		return nil, err
	}
	return lock, nil
}

// giveUp undoes the spawn when whoever spawned is gone. A spawn that lives undoes
// it itself: it asks this process to end, which ends ctx, and the wait for its lock.
func (h *host) giveUp(ctx context.Context, lock *fsx.Lock) {
	lock.Unlock() // whoever undoes it takes this one
	roster, err := fsx.Acquire(ctx, h.t.RosterLock(), giveUpWait)
	if err != nil {
		return
	}
	defer roster.Unlock()
	if err := h.t.undoSpawn(context.WithoutCancel(ctx), h.tm, nil, false); err != nil {
		h.log.Event("the spawn is not undone: %v", err)
	}
}

// settle makes the life what it shall be: idle, with a row in the ledger.
func (h *host) settle(ctx context.Context) error {
	if err := h.t.writeLedger(h.t.ledgerRow(h.tm, LedgerRunning, "spawn")); err != nil {
		return err
	}
	return h.update(ctx, func(tm *Teammate) {
		tm.Status, tm.ActiveAt, tm.ActiveBootMs = StatusIdle, nowMillis(), bootMillis()
	})
}

// live runs the life to its end.
func (h *host) live(ctx context.Context) error {
	err := h.drive.run(ctx)
	if errors.Is(err, errReplaced) {
		h.log.Event("this life is over")
		if err := h.drive.end(true); err != nil {
			h.log.Event("%v", err)
			return err // what still runs may still write to its worktree
		}
		return h.replaced(context.WithoutCancel(ctx))
	}
	if ctx.Err() != nil {
		h.mark(StopNow)
	}
	h.log.Event("ending")
	// What ended the loop must not cut the end short.
	stopping := context.WithoutCancel(ctx)
	_ = h.update(stopping, func(tm *Teammate) {
		tm.Status = StatusStopping
		if err != nil {
			tm.Error = errText(err)
		}
	})
	if eerr := h.drive.end(h.stopMode() == StopNow); eerr != nil {
		h.log.Event("%v", eerr)
		// The record still names the child: the life is not over.
		return errors.Join(err, eerr)
	}
	return errors.Join(err, h.finish(err))
}

// finish ends the life; cause is what went wrong, nil when it was asked to.
func (h *host) finish(cause error) error {
	ctx := context.Background()
	e := lifeEnd{reason: "shut_down", decide: true, via: "session-report", step: func(s string) { h.log.Event("%s", s) }}
	if cause != nil {
		e.cause, e.reason = errText(cause), "holder_dead"
	}
	tm, err := h.t.Read(h.tm.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && tm.SpawnID != h.tm.SpawnID:
		return nil
	case err != nil:
		return err
	}
	_, err = h.t.finishLife(ctx, h.b, tm, e)
	if err != nil {
		h.log.Event("the end is not finished: %v", err)
		return err
	}
	if _, err := h.t.PublishNotices(ctx, h.b); err != nil {
		h.log.Event("notices: %v", err)
	}
	h.log.Event("ended")
	return nil
}

// replaced finishes what only this process knows of, when the name was taken over:
// the record is that of the next life, which has neither its worktree nor its row
// of the ledger.
func (h *host) replaced(ctx context.Context) error {
	now, err := h.t.Read(h.tm.Name)
	if err != nil || now.SpawnID == h.tm.SpawnID {
		return ignoreMissing(err) // the session is gone, or the life was ended by another
	}
	if err := h.t.writeLedger(h.t.ledgerRow(h.tm, LedgerClosed, "session-report")); err != nil {
		return err
	}
	if h.tm.Worktree == "" {
		return nil
	}
	waits, err := h.t.decideHeld(ctx, h.b, h.tm, &lifeEnd{decide: true})
	if err != nil || waits {
		return err // a gate is still to run there
	}
	_, err = h.t.finaliseWorktree(ctx, h.tm)
	if errs.CodeOf(err) == errs.StaleIdentity {
		err = nil // there is no record any more to note it in
	}
	return err
}

func errText(err error) string {
	var e *errs.Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

// update changes the record of this life.
func (h *host) update(ctx context.Context, change func(*Teammate)) error {
	_, err := h.t.Update(ctx, h.tm.Name, h.tm.SpawnID, func(tm *Teammate) error {
		change(tm)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errs.CodeOf(err) == errs.StaleIdentity {
		return errReplaced
	}
	return err
}

// look reads what was asked of the host: an end, or with true an interrupt,
// which takeInterrupt takes. errReplaced: the life is over.
func (h *host) look() (stop string, interrupt bool, err error) {
	tm, err := h.t.Read(h.tm.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, errReplaced
	case err != nil:
		return h.stopMode(), false, nil // it may be readable again at the next look
	case tm.SpawnID != h.tm.SpawnID || tm.Status == StatusStopped:
		return "", false, errReplaced
	}
	if tm.Stop != "" {
		h.mark(tm.Stop)
	}
	return h.stopMode(), fileExists(h.t.interruptFile(h.tm.Name)), nil
}

// takeInterrupt takes the request to abort the turn away, and reports whether it
// still stood.
func (h *host) takeInterrupt() bool { return os.Remove(h.t.interruptFile(h.tm.Name)) == nil }

// mark notes that an end was asked for. Now cannot be taken back.
func (h *host) mark(stop string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped != StopNow {
		h.stopped = stop
	}
}

func (h *host) stopMode() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

// interruptFile asks a host to abort the running turn. It is taken away by the
// host that has seen it, or for pi has carried it out, and otherwise by whoever
// asked, when the time for it is over.
func (p Place) interruptFile(name string) string {
	return filepath.Join(p.TeamDir(), name, "interrupt")
}
