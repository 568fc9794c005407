package fsboard

import (
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// checkDeps refuses dependencies of a task that are too many, doubled, its
// own, unknown, or that would form a cycle. It restores archived ones into the
// snapshot, since a task may depend on them.
func (t *tx) checkDeps(id string, deps []string) error {
	if len(deps) > MaxDependsOn {
		return errs.New(errs.Usage, "%s depends on %d tasks, at most %d are allowed", id, len(deps), MaxDependsOn)
	}
	seen := map[string]bool{}
	for _, d := range deps {
		if seen[d] {
			return errs.New(errs.Usage, "%s depends on %s twice", id, d)
		}
		seen[d] = true
		if d == id {
			return errs.New(errs.Cycle, "%s cannot wait for itself", id).WithDetail("cycle", []string{id, id})
		}
		task, err := t.snap.task(d)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		if task == nil {
			restored, err := t.restore(d)
			if err != nil {
				return err
			}
			if restored == nil {
				e := errs.New(errs.UnknownDep, "%s cannot wait for %q: there is no such task", id, d).WithHint("teams task list shows the tasks")
				return e.WithDetail("dependency", d)
			}
		}
	}
	return t.checkCycle(id, deps)
}

// checkCycle looks for a way from one of deps back to id.
func (t *tx) checkCycle(id string, deps []string) error {
	from := map[string]string{} // how each task was reached
	var stack []string
	for _, d := range deps {
		if _, been := from[d]; !been {
			from[d] = id
			stack = append(stack, d)
		}
	}
	for len(stack) > 0 {
		cur := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		task, err := t.snap.task(cur)
		if err != nil {
			return corrupt(t.b.Path(), err)
		}
		if task == nil {
			continue
		}
		for _, d := range task.DependsOn {
			if d == id {
				path := []string{id}
				for at := cur; at != id; at = from[at] {
					path = append([]string{at}, path...)
				}
				path = append([]string{id}, path...)
				return errs.New(errs.Cycle, "that would be a cycle: %s (each waits for the next)", strings.Join(path, " -> ")).WithDetail("cycle", path)
			}
			if _, been := from[d]; !been {
				from[d] = cur
				stack = append(stack, d)
			}
		}
	}
	return nil
}

// hopeless returns the dependencies, direct or not, that keep a task from ever
// becoming claimable without the leader: failed, cancelled or missing ones.
func (s *snapshot) hopeless(task *Task) ([]string, error) {
	var culprits []string
	seen := map[string]bool{task.ID: true}
	stack := append([]string(nil), task.DependsOn...)
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		num, _ := taskNumber(id)
		i, there := s.find(num)
		if !there {
			culprits = append(culprits, id)
			continue
		}
		switch s.lines[i].status() {
		case Completed:
			continue
		case Failed, Cancelled:
			culprits = append(culprits, id)
			continue
		}
		t, err := s.lines[i].decode()
		if err != nil {
			return nil, err
		}
		stack = append(stack, t.DependsOn...)
	}
	return culprits, nil
}

// nothing tells a claimer that found no task whether one can still come:
// nothing_claimable, or board_drained when every task is terminal or can never
// become claimable for it.
func (b *Board) nothing(r *ClaimRequest) error {
	s, err := b.load()
	if err != nil {
		return err
	}
	if s == nil || len(s.lines) == 0 && s.head.NextTask <= 1 {
		return errs.New(errs.NothingClaimable, "no task was ever added").WithHint("teams claim --wait waits for one")
	}
	open := 0
	for i := range s.lines {
		if s.lines[i].status().Terminal() {
			continue
		}
		t, err := s.lines[i].decode()
		if err != nil {
			return corrupt(b.Path(), err)
		}
		if t.Assignee != "" && t.Assignee != r.Worker || t.Role != "" && t.Role != r.Agent || r.Role != "" && t.Role != r.Role || !hasTags(t.Tags, r.Tags) {
			continue
		}
		culprits, err := s.hopeless(t)
		if err != nil {
			return corrupt(b.Path(), err)
		}
		if len(culprits) == 0 {
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
