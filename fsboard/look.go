package fsboard

import (
	"context"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Look is what a glance at line 1 of the snapshot and at the marker
// directories finds to do. Its cost does not grow with the board.
type Look struct {
	Exists      bool     // the board has state
	Fold        bool     // a fold, with sweep, would change something
	Submissions []string // tasks with a submission on disk
}

// Look says whether anything is to be done. It writes nothing.
func (b *Board) Look() (Look, error) {
	h, err := b.readHead()
	if err != nil || h == nil {
		return Look{}, err
	}
	l := Look{Exists: true}
	ids, others, err := b.markerIDs("claims")
	if err != nil {
		return l, err
	}
	if l.Submissions, err = b.Waiting(); err != nil {
		return l, err
	}
	_, strangers, err := b.markerIDs("submissions")
	if err != nil {
		return l, err
	}
	l.Fold = len(ids)+len(others)+len(strangers) > 0 || h.due(fsx.Now().UnixMilli(), b.bootNow()) || !b.readyIsOf(h.Revision) || b.lostHolder(h)
	return l, nil
}

// lostHolder reports whether the life of a holder is over, or cannot be told
// because its record cannot be read, which the fold then reports.
func (b *Board) lostHolder(h *head) bool {
	for _, name := range h.Holders {
		for _, spawn := range h.HolderSpawns[name] {
			w := b.o.Roster.Lookup(name, spawn)
			if w.Unread || w.Life == LifeDead || w.Life == LifeReplaced {
				return true
			}
		}
	}
	return false
}

// DecideFree is Decide, except that it leaves a submission alone whose gate
// somebody else is running: a tick waits for nobody.
func (b *Board) DecideFree(ctx context.Context, id string) (Decision, error) {
	held, err := fsx.Held(b.gateLock(id))
	if err != nil || held {
		return Decision{ID: id}, err
	}
	return b.Decide(ctx, id)
}
