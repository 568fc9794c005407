package fsboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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

// errAgain says that the board moved on and the claim may be tried once more.
var errAgain = errors.New("the board moved on")

// Claim takes a task for a worker and returns it as it stands then. It returns
// only after the claim is durable. The error's code is one of
// already_holding, already_claimed, task_ended, blocked, wrong_role,
// wrong_assignee, not_found, nothing_claimable, board_drained.
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
	if err != nil {
		return nil, err
	}
	if h == nil {
		if r.ID != "" {
			return nil, b.unknownTask(r.ID)
		}
		return nil, errs.New(errs.NothingClaimable, "no task was ever added").WithHint("teams claim --wait waits for one")
	}
	if h.Format > Format {
		_, err := b.begin(false)
		return nil, err
	}
	if err := b.checkDirs(); err != nil {
		return nil, err
	}
	folded := false
	for range 1000 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := b.claimOnce(&r)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, errAgain):
			// The epoch moved on, or a marker without a holder is in the way.
			if _, err := b.Fold(ctx, false); err != nil {
				return nil, err
			}
		case !folded && b.foldMightHelp(err):
			folded = true
			if _, err := b.Fold(ctx, true); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return nil, errs.New(errs.Busy, "the board changed during every try to claim").WithPath(b.o.Dir)
}

// foldMightHelp reports whether an answer may be due to markers that nobody
// folded, or to a holder that is gone.
func (b *Board) foldMightHelp(err error) bool {
	switch errs.CodeOf(err) {
	case errs.NothingClaimable, errs.BoardDrained, errs.AlreadyClaimed:
		return !b.o.HarnessLive()
	}
	return false
}

// claimOnce is one try: pick, publish, look again, fold.
func (b *Board) claimOnce(r *ClaimRequest) (*TaskView, error) {
	if err := b.checkHolding(r); err != nil {
		return nil, err
	}
	if r.ID != "" {
		return b.claimNamed(r)
	}
	return b.claimNext(r)
}

// checkHolding refuses a claimer that is at its limit.
func (b *Board) checkHolding(r *ClaimRequest) error {
	held, err := b.Held(r.Worker, r.SpawnID)
	if err != nil {
		return err
	}
	if len(held) < r.Max {
		return nil
	}
	ids := make([]string, len(held))
	for i, t := range held {
		ids[i] = t.ID
	}
	return errs.New(errs.AlreadyHolding, "%s already holds %s", r.Worker, strings.Join(ids, ", ")).
		WithHint("teams submit %s or teams release %s first, or claim with --max %d", ids[0], ids[0], r.Max+1).
		WithDetail("holding", ids)
}

// claimNamed claims one task.
func (b *Board) claimNamed(r *ClaimRequest) (*TaskView, error) {
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	t, err := v.Task(r.ID)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, b.unknownOrArchived(r.ID)
	}
	if err := v.claimable(t, r); err != nil {
		return nil, err
	}
	return b.take(r, t.ID, t.Epoch, v.Revision())
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

// claimNext claims the first task that the worker may take.
func (b *Board) claimNext(r *ClaimRequest) (*TaskView, error) {
	rev, err := b.revision()
	if err != nil {
		return nil, err
	}
	rows, ok := b.readReady(rev)
	if !ok {
		s, err := b.load()
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, b.errNoBoard()
		}
		if rows, err = s.candidates(); err != nil {
			return nil, corrupt(b.Path(), err)
		}
		rev = s.head.Revision
	}
	ids, _, err := b.markerIDs("claims")
	if err != nil {
		return nil, err
	}
	now := fsx.Now().UnixMilli()
	var again error
	mine := []byte("\t" + r.Worker + "\t")
	for _, own := range []bool{true, false} { // what is assigned to it comes first
		for _, row := range rows {
			if own && !bytes.Contains(row, mine) {
				continue
			}
			c, ok := parseCandidate(row)
			if !ok || (c.assignee == r.Worker) != own || !c.mayTake(r, now) {
				continue
			}
			if _, marked := slices.BinarySearch(ids, c.id); marked {
				if again == nil && b.orphan(c.id) {
					again = errAgain
				}
				continue
			}
			v, err := b.take(r, c.id, c.epoch, rev)
			switch errs.CodeOf(err) {
			case errs.AlreadyClaimed, errs.TaskEnded, errs.NotFound:
				continue // the list was older than the board, or a rival was first
			}
			return v, err
		}
	}
	if again != nil {
		return nil, again
	}
	return nil, b.nothing(r)
}

// mayTake reports whether the request may take a candidate now.
func (c *candidate) mayTake(r *ClaimRequest, now int64) bool {
	if c.notBefore > now || c.assignee != "" && c.assignee != r.Worker || c.role != "" && c.role != r.Agent || r.Role != "" && c.role != r.Role {
		return false
	}
	return hasTags(strings.Split(c.tags, ","), r.Tags)
}

func hasTags(have, want []string) bool {
	for _, tag := range want {
		if !slices.Contains(have, tag) {
			return false
		}
	}
	return true
}

// orphan reports whether the marker of a pending task is nobody's claim: a
// leader's, one that cannot be read, or one of an epoch that is over. With no
// harness, whoever meets it folds.
func (b *Board) orphan(id string) bool {
	m, err := readMarker(b.claimPath(id), id, fsx.Now())
	if errors.Is(err, errVanished) {
		return false
	}
	var p *markerProblem
	if errors.As(err, &p) && p.wait {
		return false
	}
	if err != nil || m.Worker == Leader {
		return !b.o.HarnessLive()
	}
	v, err := b.View()
	if err != nil {
		return false
	}
	t, err := v.Task(id)
	return err == nil && t != nil && t.State == StateReady && !b.o.HarnessLive()
}

// take publishes the marker for a task that was seen pending in an epoch at a
// revision, looks again, and folds if it can.
func (b *Board) take(r *ClaimRequest, id string, epoch, rev int64) (*TaskView, error) {
	m := &Marker{
		TaskID: id, Worker: r.Worker, SpawnID: r.SpawnID, Token: fsx.RandomID(), Epoch: &epoch,
		Timestamp: fsx.Now().UnixMilli(), PID: os.Getpid(), Host: fsx.Host(),
	}
	if r.Lease > 0 {
		boot := bootNow()
		m.LeaseMs, m.BootID, m.BootMs = r.Lease.Milliseconds(), boot.BootID, boot.Ms
	}
	err := publishMarker(b.claimPath(id), m)
	if errors.Is(err, fs.ErrExist) {
		return nil, b.lostLink(id)
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", id, err)
	}
	if err := b.secondLook(m, rev); err != nil {
		return nil, err
	}
	// The claim is won; folding it now only saves others the work.
	if !b.o.HarnessLive() {
		_, _ = b.tryFold()
	}
	return b.wonView(m)
}

// lostLink says why the marker of a task could not be published.
func (b *Board) lostLink(id string) error {
	if b.orphan(id) {
		return errAgain
	}
	holder := "somebody else"
	if m, err := readMarker(b.claimPath(id), id, fsx.Now()); err == nil && m.Worker != Leader {
		holder = m.Worker
	} else if v, err := b.View(); err == nil {
		if t, err := v.Task(id); err == nil && t != nil && t.ClaimedBy != "" {
			holder = t.ClaimedBy
		}
	}
	return alreadyClaimed(id, holder)
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
	s, err := b.load()
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
	return b.unknownTask(m.TaskID)
}

// wonView returns the task as the winner of a marker sees it. A fold that
// refused the marker meanwhile, because the worker's life ended, makes it lost.
func (b *Board) wonView(m *Marker) (*TaskView, error) {
	v, err := b.View()
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
	if t != nil && t.Status == Completed {
		return t, nil // decided already, by its own submission from another process
	}
	return nil, errs.New(errs.StaleClaim, "the claim on %s was refused: %s is no longer the same teammate, or the task was changed", m.TaskID, m.Worker).
		WithHint("teams log %s tells why", m.TaskID)
}

// Held returns the tasks that a worker's life holds, claims that are still
// only a marker included. An empty spawnID means every life of the name.
func (b *Board) Held(worker, spawnID string) ([]*TaskView, error) {
	h, err := b.readHead()
	if err != nil || h == nil {
		return nil, err
	}
	if !slices.Contains(h.Holders, worker) {
		marked, err := b.hasMarker(worker)
		if err != nil {
			return nil, err
		}
		if !marked {
			// A marker may have been folded between the two looks.
			if h, err = b.readHead(); err != nil || h == nil || !slices.Contains(h.Holders, worker) {
				return nil, err
			}
		}
	}
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	return v.Held(worker, spawnID)
}

// hasMarker reports whether a claim marker of the worker is on disk.
func (b *Board) hasMarker(worker string) (bool, error) {
	ids, _, err := b.markerIDs("claims")
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if m, err := readMarker(b.claimPath(id), id, fsx.Now()); err == nil && m.Worker == worker {
			return true, nil
		}
	}
	return false, nil
}
