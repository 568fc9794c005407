package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Create makes the worktree of a plan and its branch, and has git ignore the
// directory where worktrees are. When it fails, whatever the reason, everything
// that it made is removed again; a failure of that is told with the error.
//
// A post-checkout hook of the repository is run, as for every worktree. What it
// prints is not shown, and when it fails that is only a warning: the worktree
// is whole.
//
// The error is of code conflict when somebody took the number since it was
// planned, busy when another worktree was being made for too long.
func Create(ctx context.Context, p Plan) (warnings []string, err error) {
	r := p.repo
	if r == nil {
		return nil, errs.New(errs.Internal, "a worktree was not planned")
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	r.sweepRecords()
	rec, err := r.intent(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := r.announce(rec); err != nil {
		return nil, err
	}
	warnings, err = r.create(ctx, rec)
	if err == nil {
		return warnings, nil
	}
	// Also when the caller was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if kept, uerr := r.undo(ctx, rec); uerr != nil || kept != "" {
		if uerr != nil {
			kept = uerr.Error()
		}
		return nil, errs.New(errs.CodeOf(err), "%w; and it could not be undone: %s", err, kept).WithPath(rec.Path)
	}
	return nil, err
}

// intent checks that all that is to be made is still free, and says what it is.
func (r *repo) intent(ctx context.Context, p Plan) (*record, error) {
	taken := func(what string) error {
		return errs.New(errs.Conflict, "%s is there already", what).WithPath(p.Path).WithHint("try again: the next number is taken then")
	}
	old, err := r.readRecord(p.Path)
	if err != nil {
		return nil, err
	}
	switch there, err := exists(p.Path); {
	case err != nil:
		return nil, err
	case there:
		return nil, taken("the directory")
	}
	switch tip, err := r.branchTip(ctx, p.Branch); {
	case err != nil:
		return nil, err
	case tip != "":
		return nil, taken("the branch " + p.Branch)
	}
	if old != nil {
		return nil, taken("the record of such a worktree")
	}
	rec := &record{
		Path: p.Path, Branch: p.Branch, Base: p.Base, Owner: p.Owner, Holder: p.Holder,
		State: creating, CreatedAt: fsx.Now().UnixMilli(),
	}
	entries, err := r.entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.path == p.Path {
			return nil, taken("git's record of such a worktree")
		}
		rec.Before = append(rec.Before, e.id)
	}
	for _, dir := range []string{".pi", ".pi/worktrees"} {
		if there, err := exists(filepath.Join(r.project, dir)); err != nil {
			return nil, err
		} else if !there {
			rec.Made = append(rec.Made, dir)
		}
	}
	rec.Exclude, err = r.missingExclude()
	return rec, err
}

// create makes what rec announces.
func (r *repo) create(ctx context.Context, rec *record) (warnings []string, err error) {
	if err := fsx.MkdirAll(r.project, r.dir()); err != nil {
		return nil, err
	}
	_, err = r.git.run(ctx, call{
		dir: r.top, time: workTime, hooks: true,
		args: []string{"-c", "core.fsync=all", "worktree", "add", "--quiet", "--no-track", "-b", rec.Branch, "--", rec.Path, rec.Base},
		started: func(p fsx.Process) error {
			rec.Git = &p
			return r.update(rec)
		},
	})
	var failed *gitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	whole, werr := r.whole(ctx, rec)
	switch {
	case !whole && failed != nil:
		return nil, createError(rec, failed)
	case werr != nil:
		return nil, werr
	case !whole:
		return nil, errs.New(errs.Failure, "git made no whole worktree").WithPath(rec.Path)
	case failed != nil:
		text := "the post-checkout hook of the repository failed"
		if failed.text != "" {
			text += ": " + lastReason(failed.text)
		}
		warnings = append(warnings, text)
	}
	if err := fsx.FsyncDir(r.dir()); err != nil {
		return nil, err
	}
	if err := r.addExclude(rec.Exclude); err != nil {
		return nil, err
	}
	rec.State, rec.Git = ready, nil
	return warnings, r.update(rec)
}

// createError explains a refusal of git.
func createError(rec *record, failed *gitError) error {
	e := &errs.Error{Code: errs.Failure, Op: "git worktree add", Path: rec.Path, Msg: lastReason(failed.text), Err: failed}
	if e.Msg == "" {
		e.Msg = "failed"
	}
	if strings.Contains(failed.text, "No space left on device") || strings.Contains(failed.text, "unable to write file") {
		e.Hint = "make room on the disk, or use a role without worktree: true"
	}
	return e
}

// lastReason is the part of git's error output that says what went wrong: the
// first error and the fatal one, in which git often only says what it gave up;
// without these the last line.
func lastReason(text string) string {
	first, fatal, last := "", "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "error: ") && first == "":
			first = firstLine(line)
		case strings.HasPrefix(line, "fatal: ") && fatal == "":
			fatal = firstLine(line)
		}
		last = firstLine(line)
	}
	switch {
	case first != "" && fatal != "":
		return first + "; " + fatal
	case first+fatal != "":
		return first + fatal
	}
	return last
}

// whole says whether git finished the worktree: it has its branch at its base,
// every file is checked out, and git does not hold it back any more.
func (r *repo) whole(ctx context.Context, rec *record) (bool, error) {
	e, err := r.entryOf(rec.Path)
	if e == nil || err != nil {
		return false, err
	}
	if _, err := os.Lstat(filepath.Join(e.dir, "locked")); err == nil {
		return false, nil
	}
	w := &tree{repo: r, entry: *e}
	head, ref, err := w.head(ctx)
	if err != nil || head != rec.Base || ref != "refs/heads/"+rec.Branch {
		return false, err
	}
	if _, err := os.Lstat(filepath.Join(e.dir, "index")); err != nil {
		return false, nil
	}
	a, err := w.run(ctx, call{args: []string{"ls-files", "-z", "--deleted"}, limit: 1})
	// A path of a sparse checkout is not deleted, git leaves it out.
	return len(a.out) == 0, err
}

// undoWait bounds the wait for a git of a dead spawn that was told to end.
const undoWait = 20 * time.Second
