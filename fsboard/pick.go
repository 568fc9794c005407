package fsboard

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// next claims the first task that the worker may take. The ready list only
// says where to look: what can be claimed, and that nothing can, is for the
// snapshot to say.
func (c *claimer) next() (*TaskView, error) {
	v, err := c.b.viewMarkers()
	if err != nil {
		return nil, err
	}
	rev, err := c.b.revision()
	if err != nil {
		return nil, err
	}
	if list, ok := c.b.readReady(rev); ok {
		if won, err := c.first(list, v, c.b.glimpse); won != nil || err != nil {
			return won, err
		}
	}
	if v, err = c.b.View(); err != nil {
		return nil, err
	}
	list, err := v.snap.candidates()
	if err != nil {
		return nil, corrupt(c.b.Path(), err)
	}
	whole := func(string) (*snapshot, error) { return v.snap, nil }
	if won, err := c.first(list, v, whole); won != nil || err != nil {
		return won, err
	}
	return nil, c.b.nothing(v.snap, c.r)
}

// first claims the first of the candidates that the worker may take; nil and
// nil when there is none. snapOf returns a snapshot that has the task.
func (c *claimer) first(list readyList, v *View, snapOf func(id string) (*snapshot, error)) (*TaskView, error) {
	orphaned := false
	mine := []byte("\t" + c.r.Worker + "\t")
	for _, own := range []bool{true, false} { // what is assigned to it comes first
		if own && !bytes.Contains(list, mine) {
			continue
		}
		for row := range list.rows() {
			if own && !bytes.Contains(row, mine) {
				continue
			}
			hint, ok := parseCandidate(row)
			if !ok || (hint.assignee == c.r.Worker) != own || !hint.mayTake(c.r, v.now) {
				continue
			}
			if v.isAhead(hint.id, hint.epoch) {
				continue
			}
			if err := v.see(snapOf(hint.id)); err != nil {
				return nil, err
			}
			t, err := v.Task(hint.id)
			if err != nil {
				return nil, err
			}
			if t == nil || v.claimable(t, c.r) != nil {
				continue
			}
			won, err := c.take(t.ID, t.Epoch, v.Revision())
			switch {
			case err == errOrphan:
				orphaned = true
				continue
			case errs.CodeOf(err) == errs.AlreadyClaimed, errs.CodeOf(err) == errs.TaskEnded, errs.CodeOf(err) == errs.NotFound:
				continue // the board moved on, or a rival was first
			}
			return won, err
		}
	}
	if orphaned && c.mayFold() {
		return nil, errOrphan
	}
	return nil, nil
}

// isAhead reports whether somebody is known to have been first on a task that
// is pending in an epoch: it needs no closer look then.
func (v *View) isAhead(id string, epoch int64) bool {
	m := v.claims[id]
	if m == nil || m.Epoch == nil || *m.Epoch != epoch {
		return false
	}
	switch v.b.o.Roster.Lookup(m.Worker, m.SpawnID).Life {
	case LifeAlive, LifeUnknown:
		return true
	}
	return false
}

// mayTake reports whether the request may take a candidate now.
func (c *candidate) mayTake(r *ClaimRequest, now int64) bool {
	if c.notBefore > now || c.assignee != "" && c.assignee != r.Worker || c.role != "" && c.role != r.Agent || r.Role != "" && c.role != r.Role {
		return false
	}
	return len(r.Tags) == 0 || hasTags(strings.Split(c.tags, ","), r.Tags)
}

func hasTags(have, want []string) bool {
	for _, tag := range want {
		if !slices.Contains(have, tag) {
			return false
		}
	}
	return true
}

// nothing tells a claimer that found no task whether one can still come:
// nothing_claimable, or board_drained when every task is terminal or can never
// become claimable for it.
func (b *Board) nothing(s *snapshot, r *ClaimRequest) error {
	if len(s.lines) == 0 && s.head.NextTask <= 1 {
		return nothingYet()
	}
	open := 0
	doom := s.doom()
	for i := range s.lines {
		if s.lines[i].status().terminal() {
			continue
		}
		t, err := s.at(i)
		if err != nil {
			return corrupt(b.Path(), err)
		}
		if t.Assignee != "" && t.Assignee != r.Worker || t.Role != "" && t.Role != r.Agent || r.Role != "" && t.Role != r.Role || !hasTags(t.Tags, r.Tags) {
			continue
		}
		hopeless, err := doom.of(i)
		if err != nil {
			return corrupt(b.Path(), err)
		}
		if !hopeless {
			open++
		}
	}
	if open > 0 {
		return errs.New(errs.NothingClaimable, "nothing can be claimed now; %d open tasks are claimed, blocked or waiting", open).
			WithHint("teams claim --wait waits for one; teams task list shows them").WithDetail("open", open)
	}
	return errs.New(errs.BoardDrained, "nothing is left for %s: every task has ended or can never become claimable", r.Worker).
		WithHint("teams task list shows the tasks")
}
