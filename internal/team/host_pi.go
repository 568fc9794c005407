package team

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/pi"
)

// piDriver runs one pi for as long as the teammate lives. A message counts as
// read when pi has shown it as its own.
type piDriver struct {
	*host
	pi *pi.Process

	mu       sync.Mutex // guards what follows
	wg       sync.WaitGroup
	carrying map[pi.Mode]int // deliveries that are under way
	carried  int64           // bytes of their messages
	retry    retry
	line     string   // text that may still grow, not in the log yet
	used     pi.Usage // not in the record yet
}

// piStartLock is held while one pi of the session starts, since several at once
// take much longer than one after the other.
func (p Place) piStartLock() string { return filepath.Join(p.TeamDir(), "pi-start.lock") }

// extensionTools are the tools that the extension gives to a teammate. They are
// added to the tools of its role.
var extensionTools = [...]string{"send_message", "task_list", "task_claim", "task_submit"}

func (d *piDriver) start(ctx context.Context) error {
	if err := d.prepareConversation(ctx); err != nil {
		return err
	}
	c := pi.Config{
		Dir: d.tm.Cwd, Env: d.environ(), Session: d.tm.SessionFile,
		Model: d.piModel(), Tools: d.piTools(),
		SystemPromptFiles: []string{d.t.promptFile(d.tm.Name)}, StartLock: d.t.piStartLock(),
		BeforeRun: func(pid int) error { return d.recordChild(ctx, pid) },
		Sweep:     func(grace time.Duration) error { return sweep(d.tm.SpawnID, grace) },
		Events: pi.Events{
			OnState: d.onState, OnActivity: d.onActivity, OnRunEnd: d.onRunEnd,
			OnUsage: func(u pi.Usage) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.used.Add(u)
			},
		},
	}
	extension, err := d.writeExtension()
	if err != nil {
		return err
	}
	if extension != "" {
		c.Extensions = []string{extension}
	}
	p, err := pi.Start(ctx, c)
	if err != nil {
		return err
	}
	d.pi = p
	d.output = func() (string, time.Time) {
		text := p.Activity().Line()
		return text, p.LastOutput()
	}
	d.log.Event("pi %d runs with model %s, %d messages restored", p.PID(), p.Info().Model, p.Info().Messages)
	return nil
}

// piModel is the model of the role, "" for pi's own choice.
func (h *host) piModel() string {
	if h.tm.Model == "inherit" {
		return ""
	}
	return h.tm.Model
}

// piTools are the tools of the role and those of the extension; nil for all.
func (h *host) piTools() []string {
	if len(h.tm.Tools) == 0 {
		return nil
	}
	return append(slices.Clone(h.tm.Tools), extensionTools[:]...)
}

// writeExtension writes the extension for a pi and returns its path, "" when
// there is none.
func (h *host) writeExtension() (string, error) {
	if h.t.PiExtension == nil {
		return "", nil
	}
	path := filepath.Join(h.t.TeammateDir(h.tm.Name), "teams.ts")
	return path, h.t.PiExtension(path)
}

func (d *piDriver) recordChild(ctx context.Context, pid int) error {
	child, err := fsx.ProcessOf(pid)
	if err != nil {
		return err
	}
	return d.update(ctx, func(tm *Teammate) { tm.Child = &child })
}

func (d *piDriver) run(ctx context.Context) error {
	prompts, cancel := context.WithCancel(ctx)
	defer d.wg.Wait()
	defer cancel() // what was not shown stays unread
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		stop, interrupt, err := d.look()
		if err != nil || stop != "" || ctx.Err() != nil {
			return err
		}
		if interrupt {
			d.interrupt(ctx)
		}
		d.deliver(prompts, pi.Steer)
		d.deliver(prompts, pi.FollowUp)
		select {
		case <-ctx.Done():
		case <-d.pi.Done():
			d.flush(ctx)
			return errs.New(errs.Failure, "%s", d.pi.Exit().Reason())
		case <-d.watch.C:
		case <-ticker.C:
			d.flush(ctx)
		}
	}
}

// abortLimit is how long pi has to abort its turn. The host looks at nothing else
// meanwhile, so that what is delivered next is no part of that turn.
const abortLimit = 5 * time.Second

// interrupt aborts the running turn. The request stands, and is tried again,
// until that is done or whoever asked has given up.
func (d *piDriver) interrupt(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, abortLimit)
	defer cancel()
	switch err := d.pi.Interrupt(wait); {
	case err == nil:
		d.takeInterrupt()
		d.log.Event("interrupted")
	case ctx.Err() != nil:
	case wait.Err() != nil:
		d.log.Event("pi has not aborted its turn within %v", abortLimit)
	default:
		d.log.Event("%v", err)
	}
}

// end ends pi, after its turn when that ends in time, and what it left.
func (d *piDriver) end(now bool) error {
	if d.pi == nil {
		return sweep(d.tm.SpawnID, termGrace)
	}
	ctx := context.Background()
	if !now {
		wait, cancel := context.WithTimeout(ctx, turnGrace)
		d.awaitIdle(wait)
		cancel()
	}
	err := d.pi.Stop(ctx, termGrace)
	d.flush(ctx)
	return errors.Join(err, sweep(d.tm.SpawnID, termGrace))
}

// awaitIdle waits for the end of the running turn, unless the end is wanted at
// once meanwhile.
func (d *piDriver) awaitIdle(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := make(chan struct{})
	go func() { defer close(idle); _ = d.pi.WaitIdle(ctx) }()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-idle:
			return
		case <-d.watch.C:
		case <-ticker.C:
		}
		if stop, interrupt, err := d.look(); err != nil || stop == StopNow {
			return
		} else if interrupt {
			d.interrupt(ctx)
		}
	}
}

// deliver hands over the unread messages of a mode, if there are any, beside
// what is being delivered.
func (d *piDriver) deliver(ctx context.Context, mode pi.Mode) {
	d.mu.Lock()
	busy := d.carrying[mode] > 0 && mode == pi.FollowUp || d.carried >= maxWakeBytes || d.retry.early()
	d.mu.Unlock()
	if busy || !d.hasMail(mode) {
		return
	}
	d.mu.Lock()
	if d.carrying == nil {
		d.carrying = map[pi.Mode]int{}
	}
	d.carrying[mode]++
	d.mu.Unlock()
	locked := make(chan struct{}) // the messages are taken, or there were none
	d.wg.Go(func() {
		var once sync.Once
		taken := func() { once.Do(func() { close(locked) }) }
		defer taken()
		d.carry(ctx, mode, taken)
		d.mu.Lock()
		d.carrying[mode]--
		d.mu.Unlock()
	})
	<-locked // so that the next look does not take the same for new
}

// hasMail reports whether there may be unread messages of a mode that nobody is
// delivering. Messages that are being delivered are locked.
func (d *piDriver) hasMail(mode pi.Mode) bool {
	ids, err := d.t.Box(d.tm.Name).IDs(false)
	if err != nil {
		d.log.Event("%v", err)
		return false
	}
	for _, id := range ids {
		m, err := d.t.Box(d.tm.Name).Peek(id, false)
		if err == nil && modeOf(m) == mode {
			return true
		}
	}
	return false
}

func modeOf(m *inbox.Message) pi.Mode {
	if m.Later != "" {
		return pi.FollowUp
	}
	return pi.Steer
}

// errUnshown says that pi has not shown a message: it stays unread.
var errUnshown = errors.New("pi has not shown it")

// carry delivers what is unread in one prompt, and marks it when pi has shown it.
func (d *piDriver) carry(ctx context.Context, mode pi.Mode, taken func()) {
	who := Identity{Name: d.tm.Name, SpawnID: d.tm.SpawnID, Agent: d.tm.Agent}
	var why error
	outcome := pi.Pending
	n, _, problems, err := d.t.Receive(ctx, ReceiveRequest{
		Who: who, Max: maxWakeMessages, MaxBytes: maxWakeBytes, Only: func(m *inbox.Message) bool { return modeOf(m) == mode },
		Batch: func(list []*inbox.Message, _ int) error {
			defer d.carries(list)()
			taken()
			d.assigned(list)
			outcome, why = d.pi.Prompt(ctx, promptID(list), d.promptText(list), mode)
			if outcome != pi.Acknowledged {
				return errUnshown
			}
			d.introduced()
			d.log.Event("delivered: %s", wakeText(list))
			return nil
		},
	})
	for _, p := range problems {
		d.log.Event("%v", p)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case ctx.Err() != nil, outcome == pi.Pending && err == nil:
	case err == nil:
		if n > 0 {
			d.retry.succeeded()
		}
	case errors.Is(err, errUnshown):
		d.wakeFailed(ctx, &d.retry, fmt.Sprint(why))
	default:
		d.wakeFailed(ctx, &d.retry, err.Error())
	}
}

// carries counts messages as carried until the function that it returns is called.
func (d *piDriver) carries(list []*inbox.Message) (done func()) {
	var n int64
	for _, m := range list {
		n += m.Size
	}
	add := func(n int64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.carried += n
	}
	add(n)
	return func() { add(-n) }
}

// promptID names a prompt by its messages, so that the same is not sent twice.
func promptID(list []*inbox.Message) string {
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	return strings.Join(ids, "+")
}
