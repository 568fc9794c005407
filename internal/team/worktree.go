package team

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/worktree"
)

// planWorktree chooses the worktree of a life that is to be spawned. It writes
// nothing.
func (t *Team) planWorktree(ctx context.Context, name, spawnID string) (*worktree.Plan, error) {
	p, err := worktree.NewPlan(ctx, worktree.Request{
		Project: t.Project, From: t.Cwd, Name: name, Owner: spawnID, Holder: t.TeammateFile(name),
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// tree is the worktree that a record names.
func (t *Team) tree(tm Teammate) worktree.Tree {
	return worktree.Tree{Project: t.Project, Path: tm.Worktree, Branch: tm.Branch, Owner: tm.SpawnID, Holder: t.TeammateFile(tm.Name)}
}

// projectIn is the project's place in a worktree of its repository, where the
// gates of a teammate run: its top for a project that is the top of a checkout.
// What the worktree does not have is replaced by the nearest directory above
// that it has. "" for no worktree.
func (t *Team) projectIn(tree string) string {
	if tree == "" {
		return ""
	}
	top := t.Project
	for gitKind(top) == gitNone {
		if top == filepath.Dir(top) {
			return tree
		}
		top = filepath.Dir(top)
	}
	dir := filepath.Join(tree, strings.TrimPrefix(t.Project, top))
	for dir != tree && !isDir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// undoWorktree takes back the worktree of a spawn that did not finish.
func (t *Team) undoWorktree(ctx context.Context, tm Teammate) error {
	kept, err := worktree.Undo(ctx, t.tree(tm))
	if err != nil {
		return err
	}
	if kept != "" {
		_, err = t.notify(ctx, notice{
			to: LeaderName, key: "kept-" + tm.Name + "-" + digest(tm.SpawnID)[:lifeDigits], event: eventDiff,
			body: fmt.Sprintf("The spawn of %s did not finish, and its worktree %s stays: %s\n", tm.Name, tm.Worktree, kept),
		})
	}
	return err
}

// worktreeAgain is how long a tick leaves a worktree alone whose work could not
// be committed.
const worktreeAgain = time.Minute

// finaliseWorktree commits what a life has left in its worktree, tells the
// leader what it changed, and removes the directory when everything is safe. A
// directory that cannot be put away stays, and the leader is told why. What could
// not be committed is tried again, since a full disk does not stay full.
func (t *Team) finaliseWorktree(ctx context.Context, tm Teammate) (Teammate, error) {
	r, ferr := worktree.Finalise(ctx, worktree.Finish{
		Tree: t.tree(tm), Author: tm.Name, Message: "Leftover changes of " + tm.Name, Base: tm.Base, Remove: true,
	})
	if errs.CodeOf(ferr) == errs.Busy || ctx.Err() != nil {
		return tm, ferr // nothing is wrong with the worktree: it is tried again
	}
	body, key := r.Text(), "diff-"
	head := fmt.Sprintf("The worktree of %s is put away; its branch is %s.\n", tm.Name, r.Branch)
	switch {
	case ferr != nil:
		key = "uncommitted-"
		head = fmt.Sprintf("The work of %s is not committed: %s\nIt is kept in %s, and tried again each minute.\n", tm.Name, errText(ferr), tm.Worktree)
	case !r.Removed:
		head = fmt.Sprintf("The worktree of %s is kept: %s\n%s\n", tm.Name, r.Kept, tm.Worktree)
	}
	if _, err := t.notify(ctx, notice{
		to: LeaderName, key: key + tm.Name + "-" + digest(tm.SpawnID)[:lifeDigits], event: eventDiff, body: head + body,
	}); err != nil {
		return tm, err
	}
	now, err := t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
		if r.Branch != "" {
			tm.Branch = r.Branch
		}
		if ferr != nil {
			tm.Error, tm.WorktreeTriedAt = errText(ferr), nowMillis()
			return nil
		}
		if tm.WorktreeTriedAt != 0 { // what went wrong then is over
			tm.Error, tm.WorktreeTriedAt = "", 0
		}
		tm.WorktreeDone = true
		if r.Removed {
			tm.Worktree = ""
		}
		return nil
	})
	if err != nil {
		return tm, err
	}
	return now, nil
}
