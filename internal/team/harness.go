package team

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// HarnessStatus is harness.json: what the running harness says of itself.
type HarnessStatus struct {
	Running    bool     `json:"running"`
	PID        int      `json:"pid"`
	Since      int64    `json:"since"`      // epoch ms
	LastChange int64    `json:"lastChange"` // when it last did something, epoch ms
	Problems   []string `json:"problems"`   // of the last pass

	Process fsx.Process `json:"process"`

	// The cell in herdr on which it keeps a line, with the herdr's socket.
	Pane   string `json:"pane,omitempty"`
	Socket string `json:"socket,omitempty"`
}

// HarnessOptions say how the harness works.
type HarnessOptions struct {
	TickOptions
	Poll  time.Duration // how often to look where notification does not work; 0: 250 ms
	Herdr HerdrOptions
	// Report is told of each thing that was done. It may be nil.
	Report func(Done)
}

// longestPass bounds the pause between two passes, since the death of a holder
// and the end of a lease change no file.
const longestPass = 500 * time.Millisecond

func (p Place) harnessFile() string { return filepath.Join(p.TeamDir(), "harness.json") }

// harness is one running loop.
type harness struct {
	t *Team
	b *fsboard.Board
	o HarnessOptions

	mirror *mirror

	lock   *fsx.Lock
	status HarnessStatus
	dirty  bool // the status changed since it was written

	touched time.Time // when the session's directory last got a new time

	slots   chan struct{}     // gates that may run at once
	mu      sync.Mutex        // guards what follows
	busy    map[string]bool   // submissions that are being decided
	hooking bool              // hooks are being run
	report  []Done            // what deciders and hooks did
	failed  map[string]string // what went wrong with submissions that were to be decided
	hooked  []string          // what went wrong when hooks were run last
	panes   time.Time         // when those of herdr were looked at last
	looking bool              // they are being looked at
	looked  []string          // what went wrong then
	wake    chan struct{}     // a decider is done
	wg      sync.WaitGroup
}

// Harness runs passes over the session until ctx ends: it wakes on changes of
// its files and at least every half second, and gates run beside the passes.
// Only one runs in a session; when another does the error is of code conflict
// and names it. It returns nil when ctx ended, and when the session's directory
// was removed under it.
func (t *Team) Harness(ctx context.Context, b *fsboard.Board, o HarnessOptions) error {
	if _, err := t.EnsureSession(); err != nil {
		return err
	}
	lock, ok, err := fsx.AcquireTenure(t.HarnessLock(), tenureWait)
	if err != nil {
		return err
	}
	if !ok {
		return t.harnessRuns()
	}
	defer lock.Unlock()
	defer t.StayPresent(ctx)()
	self, err := fsx.Self()
	if err != nil {
		return err
	}
	if o.Gates <= 0 {
		o.Gates = runtime.NumCPU()
	}
	if o.Poll == 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.Report == nil {
		o.Report = func(Done) {}
	}
	o.settleWindow = settleWindow
	h := &harness{
		t: t, b: b, o: o, lock: lock, dirty: true, failed: map[string]string{}, slots: make(chan struct{}, o.Gates), busy: map[string]bool{}, wake: make(chan struct{}, 1),
		status: HarnessStatus{PID: self.PID, Since: nowMillis(), LastChange: nowMillis(), Problems: []string{}, Process: self},
	}
	h.save() // before the first pass, which may take long: whoever stops it must find it
	if h.mirror, err = t.newMirror(ctx, o.Herdr, &h.status); err != nil {
		return err
	}
	h.dirty = h.dirty || h.status.Pane != ""
	defer h.mirror.close()
	defer h.wg.Wait()
	gates, stop := context.WithCancel(ctx)
	defer stop() // gates end without a verdict, and run again with whoever comes next
	return h.loop(ctx, gates)
}

// harnessRuns is the error for a second harness.
func (t *Team) harnessRuns() error {
	e := errs.New(errs.Conflict, "a harness runs already in session %s", t.Session).WithPath(t.HarnessLock())
	if s, err := t.HarnessStatus(); err == nil && s.PID > 0 {
		e.Msg += ", as process " + s.Process.Host + "/" + strconv.Itoa(s.PID)
	}
	return e.WithHint("teams harness status tells more")
}

func (h *harness) loop(ctx, gates context.Context) error {
	w := fsx.NewWatcher(h.o.Poll, h.watched()...)
	defer func() { w.Close() }()
	watched := h.watched()
	for {
		if !h.mine() {
			return nil // the session was ended under us
		}
		h.pass(ctx, gates)
		h.save()
		h.touch()
		if ctx.Err() != nil {
			return nil
		}
		if now := h.watched(); !slices.Equal(now, watched) {
			w.Close()
			w, watched = fsx.NewWatcher(h.o.Poll, now...), now
		}
		timer := time.NewTimer(longestPass)
		select {
		case <-ctx.Done():
		case <-w.C:
		case <-h.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// watched lists the directories whose changes are worth a pass.
func (h *harness) watched() []string {
	dir := h.t.BoardDir()
	dirs := []string{dir, filepath.Join(dir, "claims"), filepath.Join(dir, "submissions")}
	names, err := h.t.mailboxNames()
	if err != nil {
		return dirs
	}
	for _, name := range names {
		if name != LeaderName {
			dirs = append(dirs, filepath.Join(h.t.OutboxDir(name), "new"))
		} else if h.o.Hooks.any() {
			dirs = append(dirs, filepath.Join(h.t.InboxDir(name), "new"))
		}
	}
	return dirs
}

// mine reports whether the lock that this loop holds is still the session's.
func (h *harness) mine() bool {
	held, err := os.Stat(h.t.HarnessLock())
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true // a disk that fails is no reason to end
	}
	same, err := h.lock.Is(held)
	return err != nil || same
}

// pass is one look at everything. Each step is on its own.
func (h *harness) pass(ctx, gates context.Context) {
	r := TickReport{}
	look, _ := h.t.pass(ctx, h.b, h.o.TickOptions, &r) // the error is among the problems
	for _, id := range look.Submissions {
		h.decide(gates, id)
	}
	h.hooks(gates)
	h.show(ctx, &r)
	h.lookAtPanes(gates)
	h.mu.Lock()
	r.Done = append(r.Done, h.report...)
	maps.DeleteFunc(h.failed, func(id, _ string) bool { return !slices.Contains(look.Submissions, id) })
	for _, id := range look.Submissions { // as long as it waits to be decided again
		if what := h.failed[id]; what != "" {
			r.Problems = append(r.Problems, what)
		}
	}
	r.Problems = append(append(r.Problems, h.hooked...), h.looked...)
	h.report = nil
	h.mu.Unlock()
	for _, d := range r.Done {
		h.o.Report(d)
	}
	if len(r.Done) > 0 {
		h.status.LastChange, h.dirty = nowMillis(), true
	}
	if !slices.Equal(r.Problems, h.status.Problems) && (len(r.Problems) > 0 || len(h.status.Problems) > 0) {
		h.status.Problems, h.dirty = append([]string{}, r.Problems...), true
	}
}

// decide decides a submission beside the passes, unless that is going on.
func (h *harness) decide(ctx context.Context, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[id] {
		return
	}
	select {
	case h.slots <- struct{}{}:
	default:
		return // the next pass after a gate has ended
	}
	h.busy[id] = true
	h.wg.Go(func() {
		d, err := decideOne(ctx, h.b, id)
		var r TickReport
		r.events(stepDecide, d.Events)
		h.mu.Lock()
		h.report = append(h.report, r.Done...)
		delete(h.failed, id)
		if err != nil && ctx.Err() == nil {
			h.failed[id] = stepDecide + ": " + id + ": " + err.Error()
		}
		delete(h.busy, id)
		h.mu.Unlock()
		<-h.slots
		if len(r.Done) > 0 {
			select {
			case h.wake <- struct{}{}:
			default:
			}
		}
	})
}

// panesEvery is how often the panes of herdr are looked at.
const panesEvery = 10 * time.Second

// show brings herdr up to date. What it has trouble with is a problem of the
// harness and nothing more.
func (h *harness) show(ctx context.Context, r *TickReport) {
	r.problem(stepHerdr, h.mirror.update(ctx, h.b))
	if p := h.mirror.problem(); p != "" {
		r.Problems = append(r.Problems, p)
	}
}

// lookAtPanes looks after the panes of herdr beside the passes, which must not
// wait for it.
func (h *harness) lookAtPanes(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.o.Herdr.Off || h.looking || now.Sub(h.panes) < panesEvery {
		return
	}
	h.panes, h.looking = now, true
	h.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, harnessPaneTime)
		defer cancel()
		var r TickReport
		h.t.tickPanes(ctx, h.o.Herdr.Getenv, &r)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.report, h.looked, h.looking = append(h.report, r.Done...), r.Problems, false
	})
}

// hooks runs the hooks beside the passes, unless they are being run.
func (h *harness) hooks(ctx context.Context) {
	if !h.o.Hooks.any() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooking {
		return
	}
	h.hooking = true
	h.wg.Go(func() {
		var r TickReport
		h.t.runHooks(ctx, h.o.Hooks, &r)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.report, h.hooked, h.hooking = append(h.report, r.Done...), r.Problems, false
	})
}

// touchEvery is how often the session's directory gets a new time: a tool that
// shares the root removes directories that look a week old.
const touchEvery = 24 * time.Hour

func (h *harness) touch() {
	if now := time.Now(); now.Sub(h.touched) >= touchEvery {
		h.touched = now
		_ = os.Chtimes(h.t.TeamDir(), now, now)
	}
}

// save writes the status if it changed.
func (h *harness) save() {
	if !h.dirty {
		return
	}
	h.status.Running = true
	data, err := json.MarshalIndent(h.status, "", " ")
	if err != nil {
		return
	}
	if err := fsx.Replace(h.t.harnessFile(), append(data, '\n')); err == nil {
		h.dirty = false
	}
}

// HarnessStatus says whether a harness runs, and what the last one wrote.
func (p Place) HarnessStatus() (HarnessStatus, error) {
	s := HarnessStatus{Problems: []string{}}
	data, err := fsx.ReadFile(p.harnessFile(), maxRecord)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err == nil {
		if err := json.Unmarshal(data, &s); err != nil {
			return HarnessStatus{}, corrupt(p.harnessFile(), "is no status of a harness", err)
		}
	}
	s.Running, err = fsx.Held(p.HarnessLock())
	return s, err
}

// MirroredPane is the pane on which a running harness keeps its line, in the herdr
// of this host with a socket; "" for none.
func (p Place) MirroredPane(socket string) string {
	s, err := p.HarnessStatus()
	if err != nil || !s.Running || s.Socket != socket || s.Process.Host != fsx.Host() {
		return ""
	}
	return s.Pane
}

// stopWait is how long the end of a harness is waited for.
const stopWait = 15 * time.Second

// StopHarness asks the running harness to end and waits for it. not_found: none
// runs; conflict: it cannot be reached from here.
func (t *Team) StopHarness(ctx context.Context) error {
	s, err := t.HarnessStatus()
	if err != nil {
		return err
	}
	if !s.Running {
		return errs.New(errs.NotFound, "no harness runs in session %s", t.Session)
	}
	// One that has just begun may not have written its status yet.
	for end := time.Now().Add(tenureWait); s.Running && s.Process.Liveness() == fsx.Dead && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s, err = t.HarnessStatus(); err != nil {
			return err
		}
	}
	if !s.Running {
		return nil
	}
	if s.Process.Liveness() != fsx.Alive {
		return errs.New(errs.Conflict, "the harness (process %d on %s) cannot be reached from here", s.PID, s.Process.Host).
			WithHint("stop it there")
	}
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return errs.New(errs.Failure, "cannot signal process %d: %w", s.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	for t.HarnessLive() {
		select {
		case <-ctx.Done():
			return errs.New(errs.Busy, "the harness (process %d) has not ended yet", s.PID).WithHint("teams harness status")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
