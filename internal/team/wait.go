package team

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
)

// WaitRequest says which tasks to wait for.
type WaitRequest struct {
	IDs   []string      // none: every task of the board
	Any   bool          // the first of them is enough
	Until fsboard.State // "": until they have ended
	Poll  time.Duration // 0: 250 ms
	// Progress is told, after each look, how many have settled.
	Progress func(settled, all int)
}

// Wait blocks until the tasks have ended, or are in the state of the request.
// It returns them, with task_failed when one ended as failed or cancelled,
// not_found for an unknown id, and ctx's error when that ends first. It only
// looks: a tick or a harness beside it sees to what killed workers left.
func (t *Team) Wait(ctx context.Context, b *fsboard.Board, r WaitRequest) ([]*fsboard.TaskView, error) {
	if r.Poll == 0 {
		r.Poll = 250 * time.Millisecond
	}
	var w *Waiter
	defer func() { w.Close() }()
	for {
		list, err := t.waited(b, &r)
		if err != nil {
			return nil, err
		}
		settled, hopeless := r.settled(list)
		if r.Progress != nil {
			r.Progress(len(settled), len(list))
		}
		if hopeless != nil {
			return list, errs.New(errs.TaskFailed, "%s is %s and will not become %s", hopeless.ID, hopeless.State, r.Until).
				WithHint("teams task why %s", hopeless.ID)
		}
		if len(settled) == len(list) || r.Any && len(settled) > 0 {
			if r.Any {
				list = settled
			}
			return list, r.verdict(list)
		}
		if w == nil {
			w = t.NewWaiter(r.Poll)
		}
		if err := w.Wait(ctx); err != nil {
			return list, err
		}
	}
}

// waited returns the tasks that a request is about, as they stand now.
func (t *Team) waited(b *fsboard.Board, r *WaitRequest) ([]*fsboard.TaskView, error) {
	if len(r.IDs) == 0 {
		return b.Tasks()
	}
	list := make([]*fsboard.TaskView, 0, len(r.IDs))
	for _, id := range r.IDs {
		v, err := b.Show(id)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// settled returns the tasks that are where the request wants them, and one
// that can never get there.
func (r *WaitRequest) settled(list []*fsboard.TaskView) (settled []*fsboard.TaskView, hopeless *fsboard.TaskView) {
	for _, v := range list {
		switch {
		case r.Until == "" && v.State.Terminal(), r.Until == v.State,
			r.Until == fsboard.StateClaimed && slices.Contains([]fsboard.State{fsboard.StateSubmitted, fsboard.StateVerifying}, v.State):
			settled = append(settled, v)
		case r.Until != "" && v.State.Terminal():
			hopeless = v
		}
	}
	if r.Any && len(settled) > 0 {
		hopeless = nil
	}
	return settled, hopeless
}

// verdict is task_failed, with the ids, when a task ended badly.
func (r *WaitRequest) verdict(list []*fsboard.TaskView) error {
	var bad []string
	for _, v := range list {
		if r.Until == "" && v.State != fsboard.StateCompleted {
			bad = append(bad, v.ID+" "+string(v.State))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errs.New(errs.TaskFailed, "not all were completed: %s", strings.Join(bad, ", ")).WithHint("teams task show %s", strings.Fields(bad[0])[0])
}
