package fsboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// ClaimRequest says who wants which task.
type ClaimRequest struct {
	ID      string        // the task; empty: the first that this worker may take
	Worker  string        // the claimer's name
	SpawnID string        // its life
	Agent   string        // its role; empty: none
	Lease   time.Duration // zero: no lease
	Max     int           // how many tasks it may hold; zero: 1
	Role    string        // claim-next: only tasks of this role
	Tags    []string      // claim-next: only tasks with all of these tags
}

// Why a try is repeated, after a fold: the board moved on, or a marker that is
// nobody's claim was in the way.
var (
	errAgain  = errors.New("the board moved on")
	errOrphan = errors.New("a marker that is nobody's claim is in the way")
)

const (
	maxTries   = 1000
	maxOrphans = 3 // a marker that a fold leaves is not folded for ever
)

// Claim takes a task for a worker and returns it as it stands then. It returns
// only after the claim is durable. The error's code is one of
// already_holding, already_claimed, task_ended, blocked, wrong_role,
// wrong_assignee, not_found, nothing_claimable, board_drained, stale_identity.
//
// It follows the steps of the claim protocol: publish a marker for the epoch in
// which the task was seen pending, look at the board again, then fold.
func (b *Board) Claim(ctx context.Context, r ClaimRequest) (*TaskView, error) {
	if r.Worker == "" || r.Worker == Leader {
		return nil, errs.New(errs.Usage, "a claim needs the name of a worker").WithHint(`eval "$(teams join w1 --pid $$)"`)
	}
	if r.Max == 0 {
		r.Max = 1
	}
	h, err := b.readHead()
	switch {
	case err != nil:
		return nil, err
	case h == nil && r.ID != "":
		return nil, b.unknownTask(r.ID)
	case h == nil:
		return nil, nothingYet()
	case h.Format > Format:
		return nil, b.tooNew(h.Format)
	}
	if err := b.checkWorker(r.Worker, r.SpawnID); err != nil {
		return nil, err
	}
	if err := b.create(); err != nil {
		return nil, err
	}
	unlock, err := b.lockClaims(ctx, &r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := claimer{b: b, r: &r}
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := c.once()
		if err == nil {
			return v, nil
		}
		again, sweep := c.again(err)
		if !again {
			return nil, err
		}
		if _, err := b.Fold(ctx, sweep); err != nil {
			return nil, err
		}
	}
	return nil, errs.New(errs.Busy, "the board changed during every try to claim").WithPath(b.o.Dir)
}

// lockClaims keeps other claims of the same worker waiting.
func (b *Board) lockClaims(ctx context.Context, r *ClaimRequest) (unlock func(), err error) {
	if b.o.ClaimLock == nil {
		return func() {}, nil
	}
	path, err := b.o.ClaimLock(r.Worker)
	if err != nil {
		return nil, err
	}
	lock, err := fsx.Acquire(ctx, path, b.o.LockTimeout)
	if errors.Is(err, fs.ErrNotExist) { // its life has ended meanwhile
		if gone := b.checkWorker(r.Worker, r.SpawnID); gone != nil {
			err = gone
		}
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// claimer is one Claim on its way.
type claimer struct {
	b       *Board
	r       *ClaimRequest
	orphans int  // how often a fold was to remove a marker that is nobody's
	swept   bool // a fold has released the claims of the dead and the expired
}

// again decides whether an answer is given or a fold may change it.
func (c *claimer) again(err error) (again, sweep bool) {
	switch {
	case errors.Is(err, errAgain):
		return true, false
	case errors.Is(err, errOrphan):
		c.orphans++
		return true, false
	case c.swept || !c.foldMightHelp(err) || c.b.o.HarnessLive():
		return false, false
	}
	c.swept = true
	return true, true
}

// mayFold reports whether a marker that is nobody's is worth a fold of ours.
func (c *claimer) mayFold() bool { return c.orphans < maxOrphans && !c.b.o.HarnessLive() }

func nothingYet() error {
	return errs.New(errs.NothingClaimable, "no task was ever added").WithHint("teams claim --wait waits for one")
}

// checkWorker refuses a claimer whose marker the fold would refuse.
func (b *Board) checkWorker(worker, spawnID string) error {
	w := b.o.Roster.Lookup(worker, spawnID)
	e := errs.New(errs.StaleIdentity, "%s", "").WithHint("teams join %s starts a life of it", worker)
	switch {
	case w.Life == LifeNoSuch:
		e.Msg = "there is no teammate " + worker
	case w.Life == LifeReplaced:
		e.Msg = worker + " has another spawn id now: this one is over"
	case w.Life == LifeDead:
		e.Msg = "this life of " + worker + " has ended"
	case w.Unread:
		return errs.New(errs.Failure, "%w", w.unread(worker)).WithHint("teams doctor")
	default:
		return nil
	}
	return e
}

// foldMightHelp reports whether an answer may be due to markers that nobody
// folded, or to a holder that is gone.
func (c *claimer) foldMightHelp(err error) bool {
	switch errs.CodeOf(err) {
	case errs.NothingClaimable, errs.BoardDrained:
		return true
	case errs.AlreadyClaimed:
		v, err := c.b.View()
		if err != nil {
			return false
		}
		t, err := v.Task(c.r.ID)
		if err != nil || t == nil || t.Status != Claimed {
			return false
		}
		over, _ := c.b.claimOver(&t.Task, v.now, v.boot)
		return over != ""
	}
	return false
}

// once is one try: pick, publish, look again, fold.
func (c *claimer) once() (*TaskView, error) {
	if err := c.checkHolding(); err != nil {
		return nil, err
	}
	if c.r.ID != "" {
		return c.named()
	}
	return c.next()
}

// checkHolding refuses a claimer that is at its limit.
func (c *claimer) checkHolding() error {
	held, err := c.b.Held(c.r.Worker, c.r.SpawnID)
	if err != nil {
		return err
	}
	if len(held) < c.r.Max {
		return nil
	}
	ids := make([]string, len(held))
	for i, t := range held {
		ids[i] = t.ID
	}
	return errs.New(errs.AlreadyHolding, "%s already holds %s", c.r.Worker, strings.Join(ids, ", ")).
		WithHint("teams submit %s or teams release %s first, or claim with --max %d", ids[0], ids[0], len(ids)+1).
		WithDetail("holding", ids)
}

// named claims one task.
func (c *claimer) named() (*TaskView, error) {
	v, err := c.b.viewOf(c.r.ID)
	if err != nil {
		return nil, err
	}
	t, err := v.Task(c.r.ID)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, c.b.unknownOrArchived(c.r.ID)
	}
	if t.State == StateBlocked || t.State == StateWaiting {
		// Why it is takes more of the board than the task.
		if v, err = c.b.View(); err != nil {
			return nil, err
		}
		if t, err = v.Task(c.r.ID); err != nil || t == nil {
			return nil, c.b.unknownOrArchived(c.r.ID)
		}
	}
	if err := v.claimable(t, c.r); err != nil {
		return nil, err
	}
	won, err := c.take(t.ID, t.Epoch, v.Revision())
	if err == errOrphan && !c.mayFold() {
		return nil, alreadyClaimed(t.ID, "somebody else")
	}
	return won, err
}

// claimable returns nil when the request may take the task now.
func (v *View) claimable(t *TaskView, r *ClaimRequest) error {
	switch t.State {
	case StateCompleted, StateFailed, StateCancelled:
		return errs.New(errs.TaskEnded, "%s is %s", t.ID, t.State).
			WithHint("teams task reopen %s makes it claimable again", t.ID).WithDetail("state", t.State)
	case StateClaimed, StateSubmitted, StateVerifying:
		return alreadyClaimed(t.ID, t.ClaimedBy)
	}
	if t.Assignee != "" && t.Assignee != r.Worker {
		return errs.New(errs.WrongAssignee, "%s is assigned to %s", t.ID, t.Assignee).WithHint("teams task why %s", t.ID)
	}
	if t.Role != "" && t.Role != r.Agent {
		return errs.New(errs.WrongRole, "%s is for teammates of agent %s", t.ID, t.Role).WithHint("teams task why %s", t.ID)
	}
	if t.State == StateReady {
		return nil
	}
	reasons := v.Why(t)
	texts := make([]string, len(reasons))
	for i, reason := range reasons {
		texts[i] = reason.Message
	}
	return errs.New(errs.Blocked, "%s is %s: %s", t.ID, t.State, strings.Join(texts, "; ")).
		WithHint("teams task why %s", t.ID).WithDetail("reasons", reasons)
}

func alreadyClaimed(id, holder string) *Error {
	return errs.New(errs.AlreadyClaimed, "%s is claimed by %s", id, holder).
		WithHint("teams claim takes the next free task").WithDetail("holder", holder)
}

// take publishes the marker for a task that was seen pending in an epoch at a
// revision, looks again, and folds if it can.
func (c *claimer) take(id string, epoch, rev int64) (*TaskView, error) {
	b, r := c.b, c.r
	// A marker is on disk before it meets another one; a look costs less.
	if _, err := os.Lstat(b.claimPath(id)); err == nil {
		return nil, b.lostLink(id, epoch)
	}
	m := &Marker{
		TaskID: id, Worker: r.Worker, SpawnID: r.SpawnID, Token: fsx.RandomID(), Epoch: &epoch,
		Timestamp: fsx.Now().UnixMilli(), PID: os.Getpid(), Host: fsx.Host(),
	}
	if r.Lease > 0 {
		boot := bootNow()
		m.LeaseMs = min(max(r.Lease.Milliseconds(), 1), maxLeaseMs)
		m.BootID, m.BootMs = boot.BootID, boot.Ms
	}
	err := publishMarker(b.claimPath(id), m)
	if errors.Is(err, fs.ErrExist) {
		return nil, b.lostLink(id, epoch)
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", id, err)
	}
	if err := b.secondLook(m, rev); err != nil {
		return nil, err
	}
	// The claim is won; folding it now only saves others the work.
	if !b.o.HarnessLive() {
		if _, err := b.tryFold(); err != nil {
			b.report(fmt.Errorf("fold claim of %s: %w", id, err))
		}
	}
	return b.wonView(m)
}

// lostLink says why the marker of a task that was seen pending in an epoch
// could not be published.
func (b *Board) lostLink(id string, epoch int64) error {
	m, is := b.whose(id, epoch)
	switch {
	case is == gone:
		return errAgain
	case is == nobodys:
		return errOrphan
	case m != nil:
		return alreadyClaimed(id, m.Worker)
	}
	return alreadyClaimed(id, "somebody else")
}

// ownership is whose claim a marker in the way is.
type ownership int

const (
	gone    ownership = iota // it has been removed
	theirs                   // a rival's, or too early to tell
	nobodys                  // no claim at all
)

// whose tells whose claim the marker of a task is that was seen pending in an
// epoch. A leader's, one that cannot be used, one of another epoch and that of
// a life that is over are nobody's.
func (b *Board) whose(id string, epoch int64) (*Marker, ownership) {
	m, err := readMarker(b.claimPath(id), id)
	var p *markerProblem
	switch {
	case errors.Is(err, errVanished):
		return nil, gone
	case errors.As(err, &p) && !p.wait:
		return nil, nobodys
	case err != nil:
		return nil, theirs
	case m.Worker == Leader, m.Epoch != nil && *m.Epoch != epoch:
		return m, nobodys
	}
	switch b.o.Roster.Lookup(m.Worker, m.SpawnID).Life {
	case LifeDead, LifeReplaced, LifeNoSuch:
		return m, nobodys
	}
	return m, theirs
}

// secondLook decides whether a published marker holds its task: when the board
// has not moved since the first look, or the task is still pending in the same
// epoch, or claimed under the marker's token. Anything else is lost for good,
// since epochs never return.
func (b *Board) secondLook(m *Marker, rev int64) error {
	now, err := b.revision()
	if err != nil {
		return err
	}
	if now == rev {
		return nil
	}
	s, err := b.glimpse(m.TaskID)
	if err != nil {
		return err
	}
	if s == nil {
		return b.errNoBoard()
	}
	t, err := s.task(m.TaskID)
	if err != nil {
		return corrupt(b.Path(), err)
	}
	switch {
	case t != nil && t.Status == Pending && t.Epoch == *m.Epoch,
		t != nil && t.Claim != nil && t.Claim.Token == m.Token:
		return nil
	case t != nil && t.Status == Pending:
		return errAgain
	case t != nil && t.Status == Claimed:
		return alreadyClaimed(m.TaskID, t.ClaimedBy)
	case t != nil:
		return errs.New(errs.TaskEnded, "%s is %s now", t.ID, t.Status).WithHint("teams log %s tells how", t.ID)
	}
	return b.unknownOrArchived(m.TaskID)
}

// wonView returns the task as the winner of a marker sees it. A fold that
// refused the marker meanwhile, because the worker's life ended, makes it lost.
func (b *Board) wonView(m *Marker) (*TaskView, error) {
	v, err := b.viewOf(m.TaskID)
	if err != nil {
		return nil, err
	}
	t, err := v.Task(m.TaskID)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Claim != nil && t.Claim.Token == m.Token {
		return t, nil
	}
	return nil, errs.New(errs.StaleClaim, "the claim on %s was won and is over again: it was refused, released or cancelled", m.TaskID).
		WithHint("teams log %s tells why", m.TaskID)
}
