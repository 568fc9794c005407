package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Ended says what the end of a session did.
type Ended struct {
	Left     []string `json:"left"`     // teammates whose lives ended with it
	Released []string `json:"released"` // tasks that became pending again
	Waiting  []string `json:"waiting"`  // submissions that could not be decided here
	Mail     int      `json:"mail"`     // unread messages of the leader that were kept
}

// boardMail is where the leader's unread mail of an ended session waits.
func (p Place) boardMail() string { return filepath.Join(p.BoardDir(), "mail") }

// EndSession ends the session: it shuts down every resident, decides what was
// submitted, ends the lives of all teammates, makes their tasks pending again,
// keeps the leader's unread mail and the conversations beside board and ledger,
// and removes the team's directory. The board stays.
// Without now it is refused with conflict while a shell or a work loop lives or
// holds a task.
func (t *Team) EndSession(ctx context.Context, b *fsboard.Board, now bool) (Ended, error) {
	ended := Ended{Left: []string{}, Released: []string{}, Waiting: []string{}}
	switch err := t.checkDirs("teammate", t.Session); {
	case errors.Is(err, fs.ErrNotExist):
		return ended, errs.New(errs.NoSession, "session %s is not running", t.Session).WithPath(t.TeamDir()).WithHint("teams sessions lists those there are")
	case err != nil:
		return ended, err
	}
	roster, ok, err := fsx.AcquireTenure(t.RosterLock(), tenureWait)
	if err != nil {
		return ended, err
	}
	if !ok {
		return ended, errs.New(errs.Busy, "a teammate is being spawned, or another end of the session is going on").WithPath(t.RosterLock())
	}
	defer roster.Unlock()
	if !now {
		if err := t.refuseEnd(b); err != nil {
			return ended, err
		}
	}
	if err := t.StopHarness(ctx); err != nil && errs.CodeOf(err) != errs.NotFound {
		return ended, err
	}
	if err := t.undoHalfSpawns(ctx); err != nil {
		return ended, err
	}
	gone, err := t.shutdownAll(ctx, b, now, true)
	for _, tm := range gone {
		ended.Left = append(ended.Left, tm.Name)
	}
	if err != nil {
		return ended, err
	}
	if err := t.decideAll(ctx, b, &ended); err != nil {
		return ended, err
	}
	if err := t.endLives(ctx, b, &ended); err != nil {
		return ended, err
	}
	if _, problems, err := t.DrainReports(ctx); err != nil || len(problems) > 0 {
		return ended, errors.Join(append(problems, err)...) // they would be removed with the rest
	}
	if _, err := t.PublishNotices(ctx, b); err != nil {
		return ended, err
	}
	if err := t.keepNotices(); err != nil {
		return ended, err
	}
	if err := t.forgetSession(); err != nil {
		return ended, err
	}
	if ended.Mail, err = t.keepMail(); err != nil {
		return ended, err
	}
	if err := t.keepConversations(); err != nil {
		return ended, err
	}
	return ended, t.removeTeam()
}

// refuseEnd lists who still lives or works.
func (t *Team) refuseEnd(b *fsboard.Board) error {
	living, err := t.living("")
	if err != nil {
		return err
	}
	var who []string
	for _, tm := range living {
		switch {
		case tm.Resident():
		case tm.PID == 0: // a shell that joined without its process
			who = append(who, tm.Name+" may live")
		default:
			who = append(who, tm.Name+" lives")
		}
	}
	v, err := b.View()
	if err != nil {
		return err
	}
	held, _, err := v.Tasks(fsboard.Filter{States: []fsboard.State{fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying}}, 0)
	if err != nil {
		return err
	}
	for _, task := range held {
		if slices.ContainsFunc(living, func(tm Teammate) bool { return tm.Name == task.ClaimedBy && !tm.Resident() }) {
			who = append(who, task.ClaimedBy+" holds "+task.ID)
		}
	}
	if len(who) == 0 {
		return nil
	}
	return errs.New(errs.Conflict, "the session is in use: %s", strings.Join(who, ", ")).
		WithHint("let them finish, or teams session end --now").WithDetail("inUse", who)
}

// decideAll decides the submissions that wait.
func (t *Team) decideAll(ctx context.Context, b *fsboard.Board, ended *Ended) error {
	ids, err := b.Waiting()
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := b.Decide(ctx, id)
		if err != nil {
			return fmt.Errorf("decide %s: %w", id, err)
		}
		if d.Waiting != "" {
			ended.Waiting = append(ended.Waiting, id)
		}
	}
	return nil
}

// endLives ends every life and gives back what it holds.
func (t *Team) endLives(ctx context.Context, b *fsboard.Board, ended *Ended) error {
	all, _, err := t.List()
	if err != nil {
		return err
	}
	for _, tm := range all {
		if tm.Status != StatusStopped || !tm.Drained {
			_, err := t.Leave(ctx, tm.Name, tm.SpawnID, nil)
			if err != nil && errs.CodeOf(err) != errs.StaleIdentity {
				return err
			}
			ended.Left = append(ended.Left, tm.Name)
		}
		// Whichever life of it took it: one that was killed while it left has not
		// given it back, and when the record is gone nobody can tell that it is over.
		released, _, err := b.ReleaseAll(ctx, tm.Name, "", "session_ended")
		ended.Released = append(ended.Released, released...)
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetSession removes the session's record before the leader's mail is moved:
// should this process die behind that, whoever comes next makes the session anew,
// which puts the mail back.
func (t *Team) forgetSession() error {
	if err := fsx.Remove(t.SessionFile()); err != nil {
		return err
	}
	return fsx.FsyncDir(t.TeamDir())
}

// keepMail moves the leader's unread mail beside the board.
func (t *Team) keepMail() (int, error) {
	box := t.Box(LeaderName)
	ids, err := box.IDs(false)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(ids) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := fsx.MkdirAll(t.Root, t.boardMail()); err != nil {
		return 0, err
	}
	return len(ids), t.moveMail(filepath.Join(box.Dir(), "new"), t.boardMail(), ids)
}

// restoreMail puts what an ended session kept back into the leader's mailbox.
func (t *Team) restoreMail() error {
	names, err := fsx.List(t.boardMail())
	if err != nil || len(names) == 0 {
		return err
	}
	if err := fsx.CheckDir(t.boardMail()); err != nil {
		return err
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ".md"); ok {
			ids = append(ids, id)
		}
	}
	return t.moveMail(t.boardMail(), filepath.Join(t.InboxDir(LeaderName), "new"), ids)
}

// moveMail moves messages between two directories, durably: first that they are
// there, then that they are not here.
func (t *Team) moveMail(from, to string, ids []string) error {
	for _, id := range ids {
		err := fsx.Move(filepath.Join(from, id+".md"), filepath.Join(to, id+".md"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.Join(fsx.FsyncDir(to), fsx.FsyncDir(from))
}

// removeTeam takes the team's directory out of sight and removes it. Nobody
// finds half of it: the rename comes first.
func (t *Team) removeTeam() error {
	gone := filepath.Join(filepath.Dir(t.TeamDir()), "."+t.Session+".ended-"+fsx.RandomID()[:12])
	if err := fsx.Move(t.TeamDir(), gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := fsx.FsyncDir(filepath.Dir(t.TeamDir())); err != nil {
		return err
	}
	// Until everybody sees that it is gone, mail may still come in there.
	t.awaitOthers()
	if err := t.keepLate(gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}
