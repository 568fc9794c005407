package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/worktree"
)

// Worktree is a git worktree of the project as it is listed.
type Worktree struct {
	Path     string `json:"path"`
	Branch   string `json:"branch"`   // "" when it has none
	Teammate string `json:"teammate"` // whose it is or was; "" when that is not known
	Bytes    int64  `json:"bytes"`    // size of its files; the least it is when there are very many
	Dirty    bool   `json:"dirty"`    // it has changes that are not committed, or that cannot be told
	Merged   bool   `json:"merged"`   // the HEAD of the main checkout has all its commits
	InUse    bool   `json:"inUse"`    // a teammate that has not ended, or a task, needs it
	Problem  string `json:"problem,omitempty"`

	info worktree.Info
}

// Worktrees lists the worktrees of the project's teammates in the order of
// their paths, those of other sessions and of ended lives included. It changes
// nothing. A project without a git repository has none.
func (t *Team) Worktrees(ctx context.Context) ([]Worktree, error) {
	infos, err := worktree.List(ctx, t.Project)
	if err != nil {
		return nil, err
	}
	list := make([]Worktree, 0, len(infos))
	for _, info := range infos {
		w := Worktree{
			Path: info.Path, Branch: info.Branch, Bytes: info.Bytes, Dirty: info.Dirty, Merged: info.Merged,
			Teammate: teammateOf(info), InUse: t.worktreeUse(info) != "", Problem: info.Problem, info: info,
		}
		if info.Missing {
			w.Problem = "its directory is gone"
		}
		list = append(list, w)
	}
	return list, nil
}

// teammateOf is the name in the record, branch or directory of a worktree.
func teammateOf(info worktree.Info) string {
	if info.Holder != "" {
		return filepath.Base(filepath.Dir(info.Holder))
	}
	name, ours := strings.CutPrefix(info.Branch, "teams/")
	if !ours {
		return ""
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 && CheckName(name[:i]) == nil {
		return name[:i]
	}
	return ""
}

// KeptWorktree is a worktree that was not removed.
type KeptWorktree struct {
	Path string
	Why  string
}

// CollectWorktrees removes the worktrees of teammates that nobody uses and
// that are clean and merged, and finishes removals that were cut short. No
// branch is removed. With dryRun it only tells. An error leaves out the worktree
// that it is about.
func (t *Team) CollectWorktrees(ctx context.Context, dryRun bool) (removed []string, kept []KeptWorktree, err error) {
	var problems []error
	if !dryRun {
		problems = append(problems, worktree.FinishRemovals(ctx, t.Project))
	}
	infos, err := worktree.List(ctx, t.Project)
	if err != nil {
		return nil, nil, err
	}
	for _, info := range infos {
		why := info.Stays()
		if why == "" {
			why, err = worktree.RemoveClean(ctx, t.Project, info, t.worktreeUse, dryRun)
		}
		switch {
		case err != nil:
			problems = append(problems, err)
			err = nil
		case why != "":
			kept = append(kept, KeptWorktree{info.Path, why})
		default:
			removed = append(removed, info.Path)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return removed, kept, errors.Join(problems...)
}

// worktreeUse says who needs a worktree: a teammate whose life is not over, of
// any session that can be found, or a task whose gate runs there. A record that
// cannot be read may be that of such a teammate. "" means nobody.
func (t *Team) worktreeUse(info worktree.Info) string {
	sessions, err := fsx.List(filepath.Join(t.Root, "teammate"))
	if err != nil {
		return "the sessions of " + t.Root + " cannot be read"
	}
	for _, key := range sessions {
		if fsx.CheckSessionKey(key) != nil {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(t.Root, "teammate", key)); err == nil && !fi.IsDir() {
			continue // no session, which is never a link
		}
		if why := Open(Place{Root: t.Root, Session: key}).usesWorktree(info); why != "" {
			return why
		}
	}
	if why := t.holderUses(info); why != "" {
		return why
	}
	boards, err := fsx.List(filepath.Join(t.Root, "tasks"))
	if err != nil {
		return "the boards of " + t.Root + " cannot be read"
	}
	for _, key := range boards {
		other := *t
		other.Session = key
		if fsx.CheckSessionKey(key) != nil {
			continue
		}
		if fi, err := os.Lstat(other.BoardDir()); err == nil && !fi.IsDir() {
			continue
		}
		if key != t.Session {
			if of := boardProject(filepath.Join(other.BoardDir(), "board.json")); of != "" && of != t.Project {
				continue
			}
		}
		if why := other.gateUses(info); why != "" {
			return why
		}
	}
	return ""
}

// usesWorktree is worktreeUse for the teammates of one session.
func (t *Team) usesWorktree(info worktree.Info) string {
	list, problems, err := t.List()
	if err != nil {
		return "session " + t.Session + " cannot be read"
	}
	for _, p := range problems {
		if filepath.Base(filepath.Dir(p.Path)) == teammateOf(info) {
			return "the record " + p.Path + " cannot be read"
		}
	}
	for _, tm := range list {
		if why := tm.usesWorktree(info); why != "" {
			return why
		}
	}
	return ""
}

func (tm Teammate) usesWorktree(info worktree.Info) string {
	if tm.Status == StatusStopped {
		return ""
	}
	ours := tm.SpawnID != "" && tm.SpawnID == info.Owner
	if ours || tm.Worktree == info.Path || within(filepath.Clean(tm.Cwd), info.Path) {
		return tm.Name + " uses it"
	}
	return ""
}

// holderUses asks the teammate's record that the worktree names, which may be
// below another root.
func (t *Team) holderUses(info worktree.Info) string {
	if !filepath.IsAbs(info.Holder) {
		return ""
	}
	name := filepath.Dir(info.Holder)
	session := filepath.Dir(name)
	root := filepath.Dir(filepath.Dir(session))
	other := Open(Place{Root: root, Session: filepath.Base(session)})
	if other.TeammateFile(filepath.Base(name)) != info.Holder {
		return ""
	}
	tm, err := other.Read(filepath.Base(name))
	switch {
	case err == nil:
		return tm.usesWorktree(info)
	case !errors.Is(err, fs.ErrNotExist):
		return "the record " + info.Holder + " cannot be read"
	case !other.rootIsThere():
		return "the root " + root + " of its teammate is not there"
	}
	return ""
}

// gateUses looks for a task on one session's board whose gate is to run in the
// worktree: its submission may wait for it.
func (t *Team) gateUses(info worktree.Info) string {
	b, err := t.Board(BoardOptions{})
	if err != nil {
		return "the board of session " + t.Session + " cannot be read"
	}
	v, err := b.View()
	if err != nil {
		return "the board of session " + t.Session + " cannot be read"
	}
	held := []fsboard.State{fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying}
	tasks, _, err := v.Tasks(fsboard.Filter{States: held}, 0)
	if err != nil {
		return "the board of session " + t.Session + " cannot be read"
	}
	for _, task := range tasks {
		if task.Gate != nil && task.Gate.Cwd != "" && within(filepath.Clean(task.Gate.Cwd), info.Path) {
			return "the gate of " + task.ID + " runs in it"
		}
	}
	return ""
}
