package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// RemoveClean removes the directory of a worktree of a teammate that is clean
// and merged, looking again at all of it under the lock. kept says why it stays;
// "" when it is gone. The branch stays in any case. Whether somebody uses it is
// the caller's question: inUse is asked under the lock, and answers with a
// reason or "". With dryRun it only looks.
func RemoveClean(ctx context.Context, project string, info Info, inUse func(Info) string, dryRun bool) (kept string, err error) {
	g, err := findGit()
	if err != nil {
		return "", err
	}
	r, err := openRepo(ctx, g, project)
	if err != nil {
		return "", err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	return r.removeClean(ctx, info.Path, inUse, dryRun)
}

func (r *repo) removeClean(ctx context.Context, path string, inUse func(Info) string, dryRun bool) (string, error) {
	e, err := r.entryOf(path)
	if err != nil {
		return "", err
	}
	if e == nil {
		return "git does not know it", nil
	}
	now, _, err := r.inspect(ctx, *e)
	if err != nil {
		return "", err
	}
	if filepath.Dir(path) != r.dir() {
		return "it does not lie in " + r.dir(), nil
	}
	if why := now.Stays(); why != "" {
		return why, nil
	}
	if why := inUse(now); why != "" {
		return why, nil
	}
	rec, err := r.readRecord(path)
	if err != nil {
		return "", err
	}
	w := &tree{repo: r, entry: *e}
	if now.Missing {
		if why := w.lockedBy(); why != "" || dryRun {
			return why, nil
		}
		return "", r.clear(path, e, rec)
	}
	if dryRun {
		return w.unsafe(ctx)
	}
	w.sweep()
	return w.remove(ctx, rec)
}

// FinishRemovals finishes the removal of directories that was cut short.
func FinishRemovals(ctx context.Context, project string) error {
	left, err := filepath.Glob(filepath.Join(globQuote(worktreesDir(project)), removing+"*"))
	if err != nil || len(left) == 0 {
		return err
	}
	g, err := findGit()
	if err != nil {
		return err
	}
	r, err := openRepo(ctx, g, project)
	if err != nil {
		return err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	var problems []error
	for _, going := range left {
		path := filepath.Join(r.dir(), strings.TrimPrefix(filepath.Base(going), removing))
		if there, err := exists(path); there || err != nil {
			problems = append(problems, err)
			continue
		}
		e, err := r.entryOf(path)
		if err == nil {
			var rec *record
			if rec, err = r.readRecord(path); err == nil {
				err = r.clear(path, e, rec)
			}
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Stays says why a worktree is none that gc removes, "" when it is one.
func (i Info) Stays() string {
	switch {
	case i.Problem != "":
		return i.Problem
	case !i.Managed:
		return "git does not know it"
	case i.Unready:
		return "it is being made"
	case i.Owner == "" && !strings.HasPrefix(i.Branch, "teams/"):
		return "it is not a teammate's"
	case i.Dirty:
		return "it has changes"
	case !i.Merged && !(i.Missing && i.Branch != ""):
		return "it is not merged" // without a directory, the branch has all there is
	}
	return ""
}
