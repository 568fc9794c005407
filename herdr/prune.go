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
// machine was started anew. It also closes what an end has left: the pane of a
// spawn that is over, as its lease says, or ended of a session and a spawn id,
// which may be nil. Panes on another host are left to that. It returns what it
// freed. When herdr cannot be asked those of its panes stay, and its error is
// returned beside them.
func (s *Spawner) Prune(ctx context.Context, ended func(session, spawnID string) bool) (freed []Lease, err error) {
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
	strangers := false // there are panes of which this herdr knows nothing
	for _, l := range list {
		here := l.Owner.Host == fsx.Host()
		over := l.Over || ended != nil && l.Pane != "" && ended(l.Session, l.SpawnID)
		unneeded, elsewhere := false, !l.Of(s.Client)
		strangers = strangers || elsewhere
		switch {
		case l.Pane == "" && !l.Over:
			unneeded = l.Owner.Liveness() == fsx.Dead
		case here && l.Owner.Rebooted():
			unneeded, over = true, false // no pane outlives its machine
		case !elsewhere && terminals != nil:
			unneeded = over || !terminals[l.Terminal]
		case elsewhere && here && (over || l.Owner.Liveness() == fsx.Dead):
			gone := nobodyListens(ctx, l.Socket)
			unneeded, over = over || gone, over && !gone
		}
		if !unneeded {
			continue
		}
		// A lease that has got its pane since is looked at again next time.
		now, err := s.Leases.get(l.n)
		if err != nil || now.SpawnID != l.SpawnID || now.Pane != l.Pane {
			continue
		}
		switch {
		case l.Pane == "" && (over || terminals != nil && !elsewhere):
			// Its owner died between making things and writing them down, or could
			// not find what it had made.
			at := s.at(&l)
			err = at.closeMarked(ctx, l.SpawnID)
			if err == nil {
				err = at.RemoveWorktree(ctx, &l, false)
			}
		case over:
			err = s.closePane(ctx, &l)
		}
		if elsewhere && IsUnavailable(err) {
			continue // that herdr is not the one that was asked
		}
		if err == nil {
			err = s.Leases.free(ctx, l.n, l.SpawnID)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		freed = append(freed, l)
	}
	if terminals != nil && !strangers {
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
