package team

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// WorkRequest says how a work loop works.
type WorkRequest struct {
	Name        string        // "": the first free w<n>
	Agent       string        // the role it joins as
	Command     []string      // what is run for each task
	Once        bool          // one task, and no waiting for it
	MaxTasks    int           // how many at most; 0: no limit
	Tags        []string      // only tasks with all of these
	Lease       time.Duration // of its claims; 0: none
	Wait        bool          // wait on when the board is drained
	GateRetries int           // runs after a failed gate; 0: 3, negative: none
	Poll        time.Duration // how often to look while nothing is claimable; 0: 250 ms

	Stdout, Stderr io.Writer // where the command's output goes, beside its tail
	// Stop ends the loop once the running task is finished.
	Stop <-chan struct{}
	// Report is told of each thing that happens. It may be nil.
	Report func(WorkEvent)
}

// WorkEvent is one thing that happened in a work loop.
type WorkEvent struct {
	Name    string `json:"name"`
	Event   string `json:"event"` // joined, claimed, started, completed, failed, gate_failed, released, lost, waiting, drained, stopped
	Task    string `json:"task,omitempty"`
	Subject string `json:"subject,omitempty"`
	Try     int    `json:"try,omitempty"`
	Message string `json:"message,omitempty"`
}

// exitTempFail is the exit status by which a command gives its task back, as
// EX_TEMPFAIL of sysexits.h.
const exitTempFail = 75

// worker is one running work loop.
type worker struct {
	t  *Team
	b  *fsboard.Board
	r  WorkRequest
	tm Teammate
}

// Work is the worker loop: it joins, then claims, runs the command, and
// submits by its exit status, until the board is drained. It returns
// nothing_claimable with Once when there is nothing to do.
func (t *Team) Work(ctx context.Context, b *fsboard.Board, r WorkRequest) error {
	if len(r.Command) == 0 {
		return errs.New(errs.Usage, "no command to run").WithHint("teams work -- make test")
	}
	if r.GateRetries == 0 {
		r.GateRetries = 3
	}
	if r.Poll == 0 {
		r.Poll = 250 * time.Millisecond
	}
	if r.Report == nil {
		r.Report = func(WorkEvent) {}
	}
	join := JoinRequest{Name: r.Name, Agent: r.Agent, Kind: KindWork}
	var tm Teammate
	var alive *fsx.Lock
	var err error
	if r.Name == "" {
		tm, alive, err = t.FirstFree(ctx, "w", join)
	} else {
		tm, alive, err = t.JoinHeld(ctx, join)
	}
	if err != nil {
		return err
	}
	defer alive.Unlock()
	defer t.StayPresent(ctx)()
	w := &worker{t: t, b: b, r: r, tm: tm}
	w.report(WorkEvent{Event: "joined", Message: t.leaseNote(r.Lease)})
	if tm.PreviousSpawnID != "" {
		// The life before may have died with claims: they are free again.
		err := w.patiently(ctx, func() error {
			_, _, err := b.ReleaseAll(ctx, tm.Name, tm.PreviousSpawnID, "holder_replaced")
			return err
		})
		if err != nil {
			return errors.Join(err, w.leave())
		}
	}
	err = w.loop(ctx)
	if left := w.leave(); left != nil && (err == nil || left.Error() != err.Error()) { // a broken board is told of once
		err = errors.Join(err, left)
	}
	if _, nerr := t.PublishNotices(context.WithoutCancel(ctx), b); nerr != nil && err == nil {
		err = nerr // the next verb that folds publishes them
	}
	return err
}

func (w *worker) report(e WorkEvent) {
	e.Name = w.tm.Name
	w.r.Report(e)
}

// leave ends this life. What it still holds is given back.
func (w *worker) leave() error {
	// The way out must not be cut short by what ended the loop.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := w.t.Leave(ctx, w.tm.Name, w.tm.SpawnID, func(ctx context.Context, tm Teammate) error {
		released, _, err := w.b.ReleaseAll(ctx, tm.Name, tm.SpawnID, "left")
		for _, id := range released {
			w.report(WorkEvent{Event: "released", Task: id, Message: "the work loop ended"})
		}
		return err
	})
	if errs.CodeOf(err) == errs.StaleIdentity {
		return nil // somebody took the name over
	}
	return err
}

// stopping reports whether the loop shall take no further task.
func (w *worker) stopping(ctx context.Context) bool {
	select {
	case <-w.r.Stop:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func (w *worker) loop(ctx context.Context) error {
	var waiter *Waiter
	defer func() { waiter.Close() }()
	for done := 0; w.r.MaxTasks == 0 || done < w.r.MaxTasks; {
		if w.stopping(ctx) {
			w.report(WorkEvent{Event: "stopped"})
			return ctx.Err()
		}
		task, err := w.claim(ctx)
		switch code := errs.CodeOf(err); {
		case err == nil:
			done++
			if err := w.do(ctx, task); err != nil {
				return err
			}
			if _, err := w.t.PublishNotices(ctx, w.b); err != nil && ctx.Err() == nil {
				return err
			}
			w.idle(ctx)
			if w.r.Once {
				return nil
			}
			continue
		case code == errs.StaleClaim:
			// It was won and taken away before this process went on, as by a lease that
			// ended while the machine slept: lost, as later in the task.
			done++
			w.report(WorkEvent{Event: "lost", Message: err.Error()})
			if w.r.Once {
				return nil
			}
			continue
		case code == errs.BoardDrained && !w.r.Wait && !w.r.Once:
			w.report(WorkEvent{Event: "drained"})
			return nil
		case w.r.Once, code != errs.NothingClaimable && code != errs.BoardDrained && code != errs.Busy:
			return err
		}
		if waiter == nil {
			waiter = w.t.NewWaiter(w.r.Poll)
			waiter.stop = w.r.Stop
			w.report(WorkEvent{Event: "waiting", Message: err.Error()})
		}
		_ = waiter.Wait(ctx) // the loop looks at ctx and Stop itself
	}
	return nil
}

// claim takes the next task, or the one that this life holds already: a loop
// never holds two.
func (w *worker) claim(ctx context.Context) (*fsboard.TaskView, error) {
	return w.b.Claim(ctx, fsboard.ClaimRequest{
		Worker: w.tm.Name, SpawnID: w.tm.SpawnID, Agent: w.tm.Agent, Lease: w.r.Lease, Tags: w.r.Tags, Role: w.r.Agent,
	})
}

// do works on one claimed task until it is decided, given back or lost.
func (w *worker) do(ctx context.Context, task *fsboard.TaskView) error {
	w.report(WorkEvent{Event: "claimed", Task: task.ID, Subject: task.Subject})
	stopRenewing := w.renew(ctx, task)
	defer stopRenewing()
	feedback := ""
	for try := 1; ; try++ {
		w.report(WorkEvent{Event: "started", Task: task.ID, Subject: task.Subject, Try: try})
		run, err := w.run(ctx, task, try, feedback)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return w.giveBack(task, "interrupted")
		}
		switch {
		case run.exit == exitTempFail:
			return w.giveBack(task, "the command asked for it (exit 75)")
		case run.exit != 0:
			return w.submitFailed(ctx, task, run.reason())
		}
		res, err := w.verdict(ctx, task, try, fsboard.SubmitRequest{ID: task.ID, Worker: w.tm.Name, SpawnID: w.tm.SpawnID, Result: run.stdout})
		if ctx.Err() != nil || err == nil && res.Waiting != "" {
			return nil // the submission waits on disk; a tick decides it
		}
		if err != nil {
			return w.lost(task, err)
		}
		if res.Outcome != fsboard.OutcomeGateFailed {
			w.report(WorkEvent{Event: "completed", Task: task.ID, Subject: task.Subject, Try: try})
			return nil
		}
		w.report(WorkEvent{Event: "gate_failed", Task: task.ID, Subject: task.Subject, Try: try, Message: res.Receipt.Summary()})
		feedback = res.Receipt.Log
		if try > w.r.GateRetries {
			return w.submitFailed(ctx, task, strings.TrimSpace(res.Receipt.Summary()+"\n"+GateTail(feedback)))
		}
		if w.stopping(ctx) {
			return w.giveBack(task, "the work loop was asked to stop")
		}
	}
}

// waitingLook is how often a loop asks for a verdict that waits for somebody else.
const waitingLook = time.Second

// verdict submits, and waits also for a verdict that nobody here can give, as that
// of a gate which another host runs: the loop cannot take another task before.
// It returns a result that still waits only when the loop shall stop.
func (w *worker) verdict(ctx context.Context, task *fsboard.TaskView, try int, r fsboard.SubmitRequest) (*fsboard.SubmitResult, error) {
	for told := ""; ; {
		res, err := w.submit(ctx, r)
		if err != nil || res.Waiting == "" || ctx.Err() != nil {
			return res, err
		}
		if told != res.Waiting {
			told = res.Waiting
			w.report(WorkEvent{Event: "submitted", Task: task.ID, Subject: task.Subject, Try: try, Message: "its submission waits: " + told})
		}
		select {
		case <-ctx.Done():
		case <-w.r.Stop:
			return res, nil
		case <-time.After(waitingLook):
		}
	}
}

// lost reports a task whose claim is gone. It is no failure of the loop.
func (w *worker) lost(task *fsboard.TaskView, err error) error {
	switch errs.CodeOf(err) {
	case errs.StaleClaim, errs.NotHolder, errs.TaskEnded, errs.NotFound:
		w.report(WorkEvent{Event: "lost", Task: task.ID, Subject: task.Subject, Message: err.Error()})
		return nil
	}
	return err
}

func (w *worker) submitFailed(ctx context.Context, task *fsboard.TaskView, reason string) error {
	res, err := w.submit(ctx, fsboard.SubmitRequest{ID: task.ID, Worker: w.tm.Name, SpawnID: w.tm.SpawnID, Status: "failed", Result: reason})
	if err != nil {
		return w.lost(task, err)
	}
	message := firstLine(res.Task.ErrorMessage)
	if res.Task.State == fsboard.StateWaiting {
		message += "; it comes back after a pause"
	}
	w.report(WorkEvent{Event: "failed", Task: task.ID, Subject: task.Subject, Message: message})
	return nil
}

// giveBack releases a task, also after the loop was interrupted.
func (w *worker) giveBack(task *fsboard.TaskView, reason string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := w.patiently(ctx, func() error {
		_, err := w.b.Release(ctx, fsboard.ReleaseRequest{ID: task.ID, Worker: w.tm.Name, SpawnID: w.tm.SpawnID, Reason: reason})
		return err
	})
	if err != nil {
		return w.lost(task, err)
	}
	w.report(WorkEvent{Event: "released", Task: task.ID, Subject: task.Subject, Message: reason})
	return nil
}

// renew keeps a lease alive. One failed renewal is no reason to stop: the
// lease ends only when it was not renewed for its whole length.
func (w *worker) renew(ctx context.Context, task *fsboard.TaskView) (stop func()) {
	if w.r.Lease <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(w.r.Lease/3, 10*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = w.b.Renew(ctx, task.ID, w.tm.Name, w.tm.SpawnID, 0)
			}
		}
	}()
	return func() { cancel(); <-done }
}
