package fsboard

import (
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// checkDeps refuses dependencies of a task that are too many, doubled, its
// own, unknown, or that would form a cycle. It restores archived ones into the
// snapshot, since a task may depend on them.
func (t *tx) checkDeps(id string, deps []string) error {
	if err := t.checkKnown(id, deps); err != nil {
		return err
	}
	return t.checkCycle(id, deps)
}

// checkKnown is checkDeps without the cycles; nothing can wait for a new task.
func (t *tx) checkKnown(id string, deps []string) error {
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
	return nil
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

// waiters returns the ids of the tasks that directly depend on each id.
func (s *snapshot) waiters() (map[string][]string, error) {
	out := map[string][]string{}
	for i := range s.lines {
		t, err := s.at(i)
		if err != nil {
			return nil, err
		}
		for _, d := range t.DependsOn {
			out[d] = append(out[d], t.ID)
		}
	}
	return out, nil
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
		i, there := s.find(number(id))
		if !there {
			culprits = append(culprits, id)
			continue
		}
		switch s.lines[i].status() {
		case completed:
			continue
		case failed, cancelled:
			culprits = append(culprits, id)
			continue
		}
		t, err := s.at(i)
		if err != nil {
			return nil, err
		}
		stack = append(stack, t.DependsOn...)
	}
	return culprits, nil
}

// doom tells, for many tasks of one snapshot, which can never become claimable
// without the leader. Each task is looked at once.
type doom struct {
	s     *snapshot
	known []fate
}

type fate uint8

const (
	unseen fate = iota
	underway
	hopeful
	doomed
)

func (s *snapshot) doom() *doom { return &doom{s: s, known: make([]fate, len(s.lines))} }

// of reports whether the ith task is doomed. A cycle, which only damage can
// make, dooms its tasks too.
func (d *doom) of(i int) (bool, error) {
	if d.known[i] != unseen {
		return d.known[i] != hopeful, nil
	}
	switch st := d.s.lines[i].status(); {
	case st == completed:
		d.known[i] = hopeful
		return false, nil
	case st.terminal():
		d.known[i] = doomed
		return true, nil
	}
	t, err := d.s.at(i)
	if err != nil {
		return false, err
	}
	d.known[i] = underway
	for _, id := range t.DependsOn {
		j, there := d.s.find(number(id))
		bad := !there
		if there {
			if bad, err = d.of(j); err != nil {
				return false, err
			}
		}
		if bad {
			d.known[i] = doomed
			return true, nil
		}
	}
	d.known[i] = hopeful
	return false, nil
}

// cycles returns one cycle of dependencies for each set of tasks that wait for
// each other, as paths.
func (s *snapshot) cycles() ([][]string, error) {
	var out [][]string
	state := make([]fate, len(s.lines))
	var path []int
	var visit func(i int) error
	visit = func(i int) error {
		t, err := s.at(i)
		if err != nil {
			return err
		}
		state[i] = underway
		path = append(path, i)
		for _, id := range t.DependsOn {
			j, there := s.find(number(id))
			switch {
			case !there:
			case state[j] == underway:
				var cycle []string
				for k := slices.Index(path, j); k < len(path); k++ {
					cycle = append(cycle, taskID(s.lines[path[k]].num))
				}
				out = append(out, append(cycle, id))
			case state[j] == unseen:
				if err := visit(j); err != nil {
					return err
				}
			}
		}
		state[i] = hopeful
		path = path[:len(path)-1]
		return nil
	}
	for i := range s.lines {
		if state[i] == unseen {
			if err := visit(i); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}
