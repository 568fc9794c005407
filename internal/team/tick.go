package team

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
)

// Done is one thing that a tick did.
type Done struct {
	Step    string `json:"step"`
	Event   string `json:"event"`
	Subject string `json:"subject"` // what it was about, such as a task id
	Message string `json:"message"`
}

// TickReport says what a tick did and what it could not do.
type TickReport struct {
	Done     []Done   `json:"done"`
	Problems []string `json:"problems"`
	Harness  bool     `json:"harness,omitempty"` // a live harness does the work
}

// TickOptions say how a tick works.
type TickOptions struct {
	Gates     int           // how many gates run beside each other; 0: the number of cores
	StaleWait time.Duration // age of an open request before its sender is told; 0: never
	Stall     time.Duration // silence of a working resident before the leader is told; 0: never
	Hooks     Hooks         // what is run for the leader's mail
	// Getenv finds herdr, for the panes of ours that it no longer knows. Nil:
	// there is no herdr.
	Getenv func(string) string
	// AppliesTo has a tick show its line in herdr once, bound to this source as
	// by [herdr.Mirror]; "" shows none. A harness has [HerdrOptions].
	AppliesTo string

	settleWindow time.Duration // how long watched tasks that end one after the other are told of together
}

// The steps of a tick, in their order.
const (
	stepDrain     = "drain"     // reports
	stepFold      = "fold"      // claims, and what is dead or over
	stepResidents = "residents" // those whose processes died
	stepNotices   = "notices"   // what board events owe
	stepWake      = "wake"      // idle residents are told of claimable tasks
	stepStall     = "stall"     // residents that are silent for long
	stepRequests  = "requests"  // those that wait for a reply
	stepSettle    = "settle"    // watched tasks that have ended
	stepAsks      = "questions" // those whose askers were killed
	stepHerdr     = "herdr"     // what is shown there
	stepDecide    = "decide"    // submissions
	stepRelease   = "release"   // what a decision made releasable
	stepHooks     = "hooks"     // commands for the leader's mail
)

// Tick is one pass of the harness: it drains outboxes, folds claims, releases
// those of the dead and the expired, tells idle residents of claimable tasks and
// the leader of silent ones, reminds of requests, tells of watched tasks, and
// decides submissions, their gates beside each other. Each step is on its
// own: a problem of one is reported and the rest still runs. Ticks may overlap;
// each skips what another holds. With a live harness on this host it does nothing. A session
// without state is no_session.
func (t *Team) Tick(ctx context.Context, b *fsboard.Board, o TickOptions) (TickReport, error) {
	r := TickReport{Done: []Done{}, Problems: []string{}}
	exists, err := t.Exists()
	if err != nil {
		return r, err
	}
	if !exists {
		return r, errs.New(errs.NoSession, "session %s has no state", t.Session).WithPath(t.Root).
			WithHint("cd into the project, or name its session with --session; teams sessions lists those there are")
	}
	if t.harnessHere() {
		r.Harness = true
		return r, nil
	}
	t.offers.onDisk.Store(true) // for the next tick
	look, lookErr := t.pass(ctx, b, o, &r)
	if lookErr != nil {
		return r, lookErr
	}
	if len(look.Submissions) > 0 && r.decide(ctx, b, look.Submissions, o.Gates) {
		if look, err := b.Look(); err == nil && look.Fold {
			r.fold(ctx, b, stepRelease)
		}
		t.tickNotices(ctx, b, &r)
		t.tickWatches(ctx, b, 0, &r)
	}
	t.runHooks(ctx, o.Hooks, &r)
	looking, cancel := context.WithTimeout(ctx, tickPaneTime)
	defer cancel()
	t.tickPanes(looking, o.Getenv, &r) // last, as it may be waited for
	t.tickLine(looking, b, o, &r)
	return r, ctx.Err()
}

// pass is what tick and harness do alike: every step but decisions and hooks.
// Each is on its own. The error says that the board cannot be looked at.
func (t *Team) pass(ctx context.Context, b *fsboard.Board, o TickOptions, r *TickReport) (fsboard.Look, error) {
	all := t.tickMail(ctx, r)
	look, err := b.Look()
	r.problem(stepFold, err)
	if err == nil && look.Fold {
		r.fold(ctx, b, stepFold)
	}
	t.tickResidents(ctx, b, all, r)
	t.tickNotices(ctx, b, r)
	if err == nil {
		t.tickOffers(ctx, b, all, r)
	}
	t.tickStall(ctx, all, o.Stall, r)
	done, problems := t.remind(ctx, o.StaleWait)
	r.add(stepRequests, done, problems)
	t.tickAsks(ctx, r)
	if err == nil {
		t.tickWatches(ctx, b, o.settleWindow, r)
	}
	return look, err
}

// tickMail drains the outboxes, and finishes ends of lives that a crash left
// unfinished. It returns the roster.
func (t *Team) tickMail(ctx context.Context, r *TickReport) []Teammate {
	done, problems, err := t.DrainReports(ctx)
	r.add(stepDrain, done, append(problems, err))
	all, _, err := t.List()
	r.problem(stepDrain, err)
	for _, tm := range all {
		if !tm.Drained {
			r.problem(stepDrain, t.finishDrain(ctx, tm))
		}
	}
	return all
}

// tickNotices publishes what the board's events owe.
func (t *Team) tickNotices(ctx context.Context, b *fsboard.Board, r *TickReport) {
	n, err := t.PublishNotices(ctx, b)
	r.problem(stepNotices, err)
	if n > 0 {
		r.Done = append(r.Done, Done{stepNotices, "published", "", "notices published: " + strconv.Itoa(n)})
	}
}

// add takes over what a step did and what went wrong in it.
func (r *TickReport) add(step string, done []Done, problems []error) {
	r.Done = append(r.Done, done...)
	for _, err := range problems {
		r.problem(step, err)
	}
}

// fold folds with sweep, and reports what came of it.
func (r *TickReport) fold(ctx context.Context, b *fsboard.Board, step string) {
	report, err := b.Fold(ctx, true)
	r.problem(step, err)
	for _, err := range report.Problems {
		r.problem(step, err)
	}
	r.events(step, report.Events)
}

// decide decides submissions, at most limit gates at a time, and says whether
// any was decided.
func (r *TickReport) decide(ctx context.Context, b *fsboard.Board, ids []string, limit int) bool {
	if limit <= 0 {
		limit = runtime.NumCPU()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	decided := false
	slots := make(chan struct{}, limit)
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			d, err := decideOne(ctx, b, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !errors.Is(err, context.Canceled) {
				r.problem(stepDecide, fmt.Errorf("%s: %w", id, err))
			}
			if d.Waiting != "" {
				r.Done = append(r.Done, Done{stepDecide, "waiting", id, "its submission waits: " + d.Waiting})
			}
			decided = decided || d.Outcome != ""
			r.events(stepDecide, d.Events)
		})
	}
	wg.Wait()
	return decided
}

// decideOne decides one submission; a panic becomes an error, so that it spoils
// only itself.
func decideOne(ctx context.Context, b *fsboard.Board, id string) (d fsboard.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.Internal, "panic: %v", p)
		}
	}()
	return b.DecideFree(ctx, id)
}

func (r *TickReport) problem(step string, err error) {
	if err != nil {
		r.Problems = append(r.Problems, step+": "+err.Error())
	}
}

func (r *TickReport) events(step string, events []fsboard.Event) {
	for i := range events {
		e := &events[i]
		r.Done = append(r.Done, Done{step, e.Event, e.Task, e.Describe()})
	}
}
