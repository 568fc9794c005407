package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Undo removes what [Create] made for the life t.Owner, at whatever point that
// life ended: directory, branch, git's record, and git itself if it still runs.
// It may be called at any time and again; nothing made is nothing to do, and
// what another life made is left alone.
//
// Once Create had succeeded, somebody may have worked there. Then only a
// worktree without changes, whose branch is where it began, is removed; else all
// stays, and kept says why.
func Undo(ctx context.Context, t Tree) (kept string, err error) {
	g, err := findGit()
	if err != nil {
		return "", err
	}
	r, err := openRepo(ctx, g, t.Project)
	if noRepository(err) || errors.Is(err, fs.ErrNotExist) {
		if there, err := exists(t.Path); there || err != nil {
			return "its repository is gone", err
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	r.sweepRecords()
	rec, err := r.readRecord(t.Path)
	if err != nil {
		return "", err
	}
	if rec == nil || rec.Owner != t.Owner || t.Owner == "" || filepath.Dir(t.Path) != r.dir() {
		return "", nil
	}
	rec.Path = t.Path
	return r.undo(ctx, rec)
}

// undo undoes what rec announces. Only the record itself is left when it
// cannot be finished. The caller holds the lock.
func (r *repo) undo(ctx context.Context, rec *record) (kept string, err error) {
	if err := endGit(ctx, rec); err != nil {
		return "", err
	}
	e, err := r.entryOf(rec.Path)
	if err != nil {
		return "", err
	}
	if rec.State != creating && e != nil {
		if kept, err := r.worked(ctx, rec, *e); kept != "" || err != nil {
			return kept, err
		}
	}
	tip, err := r.branchTip(ctx, rec.Branch)
	if err != nil {
		return "", err
	}
	if tip != "" && tip != rec.Base {
		return "the branch " + rec.Branch + " has commits", nil
	}
	if err := removeTree(rec.Path); err != nil {
		return "", err
	}
	if err := r.forgetMade(rec); err != nil {
		return "", err
	}
	if err := r.dropBranch(ctx, rec, tip); err != nil {
		return "", err
	}
	if err := removeEmpty(filepath.Join(r.common, "worktrees")); err != nil {
		return "", err
	}
	for _, dir := range slices.Backward(rec.Made) {
		if !filepath.IsLocal(dir) {
			continue
		}
		if err := removeEmpty(filepath.Join(r.project, dir)); err != nil {
			return "", err
		}
	}
	if err := r.dropExclude(rec.Exclude); err != nil {
		return "", err
	}
	return "", r.drop(rec.Path)
}

// worked says why a worktree that was handed over has to stay; "" when nothing
// was done in it.
func (r *repo) worked(ctx context.Context, rec *record, e entry) (string, error) {
	if there, err := exists(rec.Path); !there || err != nil {
		return "", err
	}
	w := &tree{repo: r, entry: e}
	head, ref, err := w.head(ctx)
	if err != nil {
		return "", err
	}
	if head != rec.Base || ref != "refs/heads/"+rec.Branch {
		return "its HEAD has moved from where it began", nil
	}
	return w.unsafe(ctx)
}

// endGit ends the git that makes the worktree, if it outlived its spawn.
func endGit(ctx context.Context, rec *record) error {
	if rec.Git == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoWait)
	defer cancel()
	begin, signal := time.Now(), syscall.SIGTERM
	for {
		switch rec.Git.Liveness() {
		case fsx.Dead:
			return nil
		case fsx.Unknown:
			return errs.New(errs.Conflict, "whether its git (pid %d on %s) still runs cannot be seen from here", rec.Git.PID, rec.Git.Host).WithPath(rec.Path)
		}
		if ctx.Err() != nil {
			return errs.New(errs.Busy, "its git (pid %d) does not end", rec.Git.PID).WithPath(rec.Path)
		}
		if signal == syscall.SIGTERM || time.Since(begin) > killGrace {
			_ = syscall.Kill(-rec.Git.PID, signal) // it leads its group
			signal = syscall.SIGKILL
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// forgetMade removes git's records of the worktree, one that was not finished
// included: that has no path yet, but it was not there before and has the name.
func (r *repo) forgetMade(rec *record) error {
	entries, err := r.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		// Git appends a number when the name is taken.
		digits, ours := strings.CutPrefix(e.id, filepath.Base(rec.Path))
		begun := e.path == "" && ours && strings.Trim(digits, "0123456789") == "" && !slices.Contains(rec.Before, e.id)
		if e.path != rec.Path && !begun {
			continue
		}
		if err := r.forget(e); err != nil {
			return err
		}
	}
	return nil
}

// dropBranch removes the branch, which is still where it began.
func (r *repo) dropBranch(ctx context.Context, rec *record, tip string) error {
	ref := "refs/heads/" + rec.Branch
	if rec.Git != nil {
		// A git that was killed leaves the lock of what it wrote.
		_ = os.Remove(filepath.Join(r.common, ref+".lock"))
	}
	if tip != "" {
		if _, err := r.ask(ctx, "update-ref", "--no-deref", "-d", ref, tip); err != nil {
			return err
		}
	}
	// Git removes them with the last branch, but not when it was killed.
	return errors.Join(removeEmpty(filepath.Join(r.common, "refs/heads/teams")), removeEmpty(filepath.Join(r.common, "logs/refs/heads/teams")))
}

// removeEmpty removes a directory that was made for the worktree, unless it has
// got other entries, or is something else by now.
func removeEmpty(dir string) error {
	err := syscall.Rmdir(dir)
	switch err {
	case nil, syscall.ENOENT, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EEXIST:
		return nil
	}
	return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
}

// removeTree removes a directory with everything below it. Directories that
// forbid it, as of a module cache, are opened first; links are not followed.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	for range 3 {
		switch {
		case err == nil, errors.Is(err, syscall.ENOTDIR): // a parent is a file
			return nil
		case errors.Is(err, fs.ErrPermission):
			_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
				if d != nil && d.IsDir() {
					_ = os.Chmod(p, 0o700)
				}
				return nil
			})
		case !errors.Is(err, syscall.ENOTEMPTY): // somebody adds to it
			return err
		}
		err = os.RemoveAll(path)
	}
	return err
}
