package herdr

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Prune frees leases that nobody needs: one without a pane whose owner is proven
// dead, one whose terminal this herdr does not know any more, one of another
// herdr that is not there any more, as its owner is not, and one from before the
// machine was started anew. It returns what it freed. When herdr cannot be asked
// those of its panes stay, and its error is returned beside them.
func (s *Spawner) Prune(ctx context.Context) (freed []Lease, err error) {
	list, problems, err := s.Leases.List()
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, p := range problems {
		failures = append(failures, p.Err)
	}
	var terminals map[string]bool
	known := map[string]bool{}
	if len(list) > 0 {
		panes, err := s.Client.Panes(ctx, "")
		if err != nil {
			failures = append(failures, err)
		} else {
			terminals = map[string]bool{}
			for _, p := range panes {
				terminals[p.Terminal] = true
				known[escape(p.ID)] = true
			}
		}
	}
	for _, l := range list {
		over := false
		switch {
		case l.Pane == "":
			over = l.Owner.Liveness() == fsx.Dead
		case l.Owner.Host == fsx.Host() && l.Owner.Rebooted():
			over = true // no pane outlives its machine
		case l.Socket == s.Client.Path && terminals != nil:
			over = !terminals[l.Terminal]
		case l.Socket != s.Client.Path && l.Owner.Liveness() == fsx.Dead:
			over = nobodyListens(ctx, l.Socket)
		}
		if !over {
			continue
		}
		// A lease that has got its pane since is looked at again next time.
		now, err := s.Leases.get(l.n)
		if err != nil || now.SpawnID != l.SpawnID || now.Pane != l.Pane {
			continue
		}
		if l.Pane == "" && terminals != nil && l.Socket == s.Client.Path {
			// Its owner died between making things and writing them down.
			err := s.closeMarked(ctx, l.SpawnID)
			if err == nil {
				err = s.RemoveWorktree(ctx, &l, false)
			}
			if err != nil {
				failures = append(failures, err)
				continue
			}
		}
		if err := s.Leases.free(ctx, l.n, l.SpawnID); err != nil {
			failures = append(failures, err)
			continue
		}
		freed = append(freed, l)
	}
	if terminals != nil {
		s.Leases.Sequences().forget(known)
	}
	return freed, errors.Join(failures...)
}

// nobodyListens reports whether there is no herdr at a socket, with which its
// panes are gone too. One that does not answer may be there.
func nobodyListens(ctx context.Context, socket string) bool {
	_, err := New(socket).Ping(ctx)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
