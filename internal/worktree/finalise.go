package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// removing begins the name that a worktree's directory has while it is being
// removed. What has such a name is not a worktree any more.
const removing = ".removing-"

// Finish says how a worktree is finalised.
type Finish struct {
	Tree
	Base    string // the commit to compare with; "": the one that Create recorded, else the merge base with HEAD
	Author  string // the teammate's handle
	Message string // of the commit; "": that these are leftover changes
	Remove  bool   // remove the directory, if nothing is lost with it
}

// Result is what became of a worktree.
type Result struct {
	Path    string
	Branch  string   // the branch that holds the work
	Others  []string // the worktree's own branch, if the work is on another one that does not contain it
	Base    string   // the commit that it is compared with; "" when there is none
	Head    string   // the last commit of the work
	Changed bool     // Head brings anything that Base has not

	Commit    string   // the commit of leftover changes made now; "" for none
	Conflicts []string // paths with unresolved conflicts in Commit

	Stat    string // the changed files and lines, as by git diff --stat
	Preview string // the beginning of the difference, at most 64 KiB in whole lines
	Cut     bool   // there is more than Preview has
	Command string // the shell command that shows the whole difference

	Removed bool   // the directory is gone
	Kept    string // why the directory stays, although it was to be removed or something could not be committed; "" otherwise
}

// Finalise commits the changes that were left in a worktree, tells how it
// differs from where it began, and removes the directory, if that is asked for
// and loses nothing. The branch stays. Called again, after a crash or for a
// worktree that is gone, it continues or only tells.
//
// When HEAD does not stand for the worktree's branch the changes are committed
// where it stands, and a branch is made for them if none has them.
//
// An error means that not all changes are committed; the directory is there
// then, and the Result is filled as far as it is known.
func Finalise(ctx context.Context, f Finish) (Result, error) {
	res := Result{Path: f.Path, Branch: f.Branch, Base: f.Base}
	err := finalise(ctx, f, &res)
	if err != nil && res.Kept == "" {
		if there, lerr := exists(f.Path); there || lerr != nil {
			res.Kept = explain(err)
		}
	}
	return res, err
}

// explain is an error as a reason in one line.
func explain(err error) string {
	var failed *gitError
	if errors.As(err, &failed) && failed.text != "" {
		return lastReason(failed.text)
	}
	return fsx.SafeLine(err.Error())
}

func finalise(ctx context.Context, f Finish, res *Result) error {
	if err := fsx.CheckHandle(f.Author); err != nil {
		return err
	}
	g, err := findGit()
	if err != nil {
		return err
	}
	r, err := openRepo(ctx, g, f.Project)
	if err != nil {
		return err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// Without its record the changes are committed all the same.
	rec, recErr := r.readRecord(f.Path)
	if res.Base == "" && rec != nil {
		res.Base = rec.Base
	}
	there, err := exists(f.Path)
	if err != nil {
		return err
	}
	e, err := r.entryOf(f.Path)
	if err != nil {
		return err
	}
	if !there {
		if recErr != nil {
			return recErr
		}
		if err := r.clear(f.Path, e, rec); err != nil {
			return err
		}
		res.Removed = true
		if err := r.lastDetached(ctx, f.Branch, res); err != nil {
			return err
		}
		return r.describe(ctx, res)
	}
	if e == nil {
		res.Kept = "git does not know this directory as a worktree"
		return errs.New(errs.Conflict, "git does not know this directory as a worktree").WithPath(f.Path).
			WithHint("git worktree repair")
	}
	w := &tree{repo: r, entry: *e}
	commitErr := w.commit(ctx, f, res)
	if commitErr != nil {
		res.Kept = explain(commitErr)
		if res.Head == "" {
			res.Head, _, _ = w.head(ctx)
		}
	}
	// The changes are safe, or told; a difference that cannot be shown changes
	// nothing about that.
	err = r.describe(ctx, res)
	if commitErr != nil || err != nil || !f.Remove {
		return errors.Join(commitErr, err)
	}
	if recErr != nil {
		res.Kept = explain(recErr)
	}
	if res.Kept != "" {
		return nil
	}
	res.Kept, err = w.remove(ctx, rec)
	res.Removed = err == nil && res.Kept == ""
	return err
}

// remove removes the worktree's directory and git's record of it, if nothing is
// lost with it; else it says why not. The caller holds the lock.
func (w *tree) remove(ctx context.Context, rec *record) (kept string, err error) {
	if why, err := w.indexBusy(ctx); why != "" || err != nil {
		return why, err
	}
	if why, err := w.unsafe(ctx); why != "" || err != nil {
		return why, err
	}
	commit, ref, err := w.head(ctx)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(ref, "refs/heads/") && commit != "" {
		a, err := w.run(ctx, call{args: []string{"for-each-ref", "--count=1", "--format=%(refname)", "--contains=" + commit, "refs/heads"}})
		if err != nil {
			return "", err
		}
		if a.text() == "" {
			return "no branch has its commits", nil
		}
	}
	// Commits made here by a git with its usual settings may not be on the disk.
	if err := syncFileSystem(w.common); err != nil {
		return "", err
	}
	// From here on a crash leaves a name that nobody takes for a worktree: what
	// is half removed would else look like files that were deleted.
	if err := os.Rename(w.path, goingName(w.path)); err != nil {
		return "", err
	}
	return "", w.clear(w.path, &w.entry, rec)
}

func goingName(path string) string {
	return filepath.Join(filepath.Dir(path), removing+filepath.Base(path))
}

// clear removes what a worktree without a directory has left.
func (r *repo) clear(path string, e *entry, rec *record) error {
	if e != nil {
		if err := r.forget(*e); err != nil {
			return err
		}
	}
	if err := removeTree(goingName(path)); err != nil {
		return err
	}
	_ = fsx.FsyncDir(filepath.Dir(path))
	if rec != nil {
		if err := r.drop(path); err != nil {
			return err
		}
	}
	r.sweepRecords()
	return removeEmpty(filepath.Join(r.common, "worktrees"))
}
