package team

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/pi"
)

// conversationFile is the session file of one life of a teammate that runs pi,
// unless it goes on in that of the life that it revives.
func (p Place) conversationFile(name, spawnID string) string {
	return filepath.Join(p.TeammateDir(name), "session-"+spawnID[:min(8, len(spawnID))]+".jsonl")
}

// prepareConversation makes the session file ready for pi, which works where
// that says, wherever it is started. A life that goes on with a conversation
// from another directory, as one with a worktree of its own does, gets a copy
// that says where it works now: the first one stays as it was, for whoever comes
// after a start that fails.
func (h *host) prepareConversation(ctx context.Context) error {
	old := h.tm.SessionFile
	r, err := pi.RepairSession(old)
	if err != nil {
		return err
	}
	if r.Cut > 0 {
		h.log.Event("the last line of the conversation was torn; %d bytes of it are kept in %s", r.Cut, r.Kept)
	}
	if r.Entries == 0 || sameDir(r.Cwd, h.tm.Cwd) {
		return nil
	}
	own := h.t.conversationFile(h.tm.Name, h.tm.SpawnID)
	if err := pi.CopySession(old, own, h.tm.Cwd); err != nil {
		return err
	}
	if err := h.update(ctx, func(tm *Teammate) { tm.SessionFile = own }); err != nil {
		return err
	}
	h.tm.SessionFile = own
	h.log.Event("the conversation goes on in %s", h.tm.Cwd)
	return nil
}

// sameDir tells whether two paths are those of one directory that is there.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// dropConversation takes the copy of a conversation away that a life which never
// was has made. One that the ledger names is the one to go on with.
func (t *Team) dropConversation(tm Teammate) error {
	row, err := t.LedgerFind(t.ledgerRow(tm, LedgerClosed, "").TaskID)
	if err != nil && errs.CodeOf(err) != errs.NotFound {
		return err
	}
	if err == nil && row.SpawnID == tm.SpawnID {
		return nil
	}
	return fsx.Remove(t.conversationFile(tm.Name, tm.SpawnID))
}
