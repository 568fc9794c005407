package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// detached ends the names of branches that hold what was done beside the
// worktree's own branch.
const detached = "-detached"

// commit stores the leftover changes on what HEAD stands for, and makes sure
// that a branch holds them. It sets Head, Branch, Others, Commit and Conflicts.
//
// The commit is made without git commit: no hook, no signature, no editor, no
// lock of the index, and nothing half-done when it fails.
func (w *tree) commit(ctx context.Context, f Finish, res *Result) error {
	head, ref, err := w.head(ctx)
	if err != nil {
		return err
	}
	w.sweep()
	x, err := w.copyIndex(ctx)
	if err != nil {
		return err
	}
	defer x.remove()
	if res.Conflicts, err = x.unmerged(ctx); err != nil {
		return err
	}
	problem, err := x.collect(ctx)
	if err != nil {
		return err
	}
	a, err := x.run(ctx, call{args: []string{"-c", "core.fsync=all", "write-tree"}})
	if err != nil {
		if problem != "" {
			err = errs.New(errs.Failure, "%s", problem).WithPath(w.path)
		}
		return err
	}
	parents, err := w.parents(ctx, head, ref, f, res)
	if err != nil {
		return err
	}
	tip := head
	need, err := w.needed(ctx, head, a.text(), parents)
	if err != nil {
		return err
	}
	if need {
		if tip, err = w.commitTree(ctx, f, a.text(), parents, res.Conflicts); err != nil {
			return err
		}
		res.Commit = tip
	} else {
		res.Conflicts = nil
	}
	res.Head = tip
	if err := w.keep(ctx, f.Branch, ref, head, tip, res); err != nil {
		return err
	}
	busy, err := w.indexBusy(ctx)
	switch {
	case err != nil:
	case busy == "":
		err = x.install()
	case f.Remove:
		res.Kept = busy
	}
	if err != nil {
		return err
	}
	if need {
		// As git commit does; a merge would seem to be still under way.
		for _, name := range []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
			_ = os.Remove(w.file(name))
		}
	}
	if problem != "" {
		return errs.New(errs.Failure, "not everything could be committed: %s", problem).WithPath(w.path)
	}
	return nil
}

// parents are the parents of the commit to be made. What was being merged is
// one, else it could be lost with the worktree.
func (w *tree) parents(ctx context.Context, head, ref string, f Finish, res *Result) ([]string, error) {
	var parents []string
	switch {
	case head != "":
		parents = append(parents, head)
	case ref == "refs/heads/"+f.Branch && res.Base != "":
		parents = append(parents, res.Base) // its branch was deleted under it
	}
	data, err := fsx.ReadFile(w.file("MERGE_HEAD"), 64<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		id, err := w.tip(ctx, strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		merged, err := w.ancestor(ctx, id, head)
		if err != nil {
			return nil, err
		}
		if id != "" && !merged && !slices.Contains(parents, id) {
			parents = append(parents, id)
		}
	}
	return parents, nil
}

// needed says whether tree is anything new.
func (w *tree) needed(ctx context.Context, head, tree string, parents []string) (bool, error) {
	if len(parents) > 1 || len(parents) == 1 && head == "" {
		return true, nil
	}
	if head == "" {
		a, err := w.run(ctx, call{args: []string{"ls-tree", tree}, limit: 1})
		return len(a.out) > 0, err
	}
	now, err := w.git.ask(ctx, w.path, w.env(), "rev-parse", "--verify", "--quiet", head+"^{tree}")
	return now != tree, err
}

// commitTree makes the commit object.
func (w *tree) commitTree(ctx context.Context, f Finish, tree string, parents, conflicts []string) (string, error) {
	message := strings.TrimSpace(f.Message)
	if message == "" {
		message = "Leftover changes of " + f.Author
	}
	if op := w.underWay(); op != "" {
		message += "\n\nA " + op + " was under way."
	}
	if len(conflicts) > 0 {
		message += "\n\nConflicts that were not resolved:"
		for _, name := range conflicts {
			message += "\n\t" + fsx.SafeLine(name)
		}
	}
	args := []string{"-c", "core.fsync=all", "-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	email := f.Author + "@teams.invalid"
	a, err := w.run(ctx, call{args: append(args, "-F", "-"), stdin: []byte(message + "\n"), env: []string{
		"GIT_AUTHOR_NAME=" + f.Author, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + f.Author, "GIT_COMMITTER_EMAIL=" + email}})
	return a.text(), err
}

// keep makes HEAD, and a branch, hold tip.
func (w *tree) keep(ctx context.Context, branch, ref, head, tip string, res *Result) error {
	if tip == "" {
		return nil // a branch without a commit, and nothing to commit
	}
	if ref != "" {
		if tip != head {
			if err := w.setRef(ctx, "HEAD", tip, head, true); err != nil {
				return err
			}
		}
		short, isBranch := strings.CutPrefix(ref, "refs/heads/")
		if !isBranch {
			return w.hold(ctx, branch, tip, res)
		}
		return w.name(ctx, branch, short, tip, res)
	}
	if err := w.hold(ctx, branch, tip, res); err != nil {
		return err
	}
	if tip != head {
		return w.setRef(ctx, "HEAD", tip, head, false)
	}
	return nil
}

// hold makes sure that a branch has the commit, which HEAD alone has.
func (w *tree) hold(ctx context.Context, branch, commit string, res *Result) error {
	own, err := w.branchTip(ctx, branch)
	if err != nil {
		return err
	}
	if has, err := w.ancestor(ctx, commit, own); err != nil || has {
		return err
	}
	if res.Commit == "" {
		a, err := w.run(ctx, call{args: []string{"for-each-ref", "--count=1", "--format=%(refname)", "--contains=" + commit, "refs/heads"}})
		if err != nil {
			return err
		}
		if short, ok := strings.CutPrefix(a.text(), "refs/heads/"); ok {
			return w.name(ctx, branch, short, commit, res)
		}
	}
	for n := 1; ; n++ {
		other := detachedName(branch, n)
		tip, err := w.branchTip(ctx, other)
		if err != nil {
			return err
		}
		if grown, err := w.ancestor(ctx, tip, commit); err != nil {
			return err
		} else if tip != "" && !grown {
			continue
		}
		if tip != commit {
			if err := w.setRef(ctx, "refs/heads/"+other, commit, tip, false); err != nil {
				return err
			}
		}
		return w.name(ctx, branch, other, commit, res)
	}
}

// detachedName is the nth name for what was done beside a branch.
func detachedName(branch string, n int) string {
	if n == 1 {
		return branch + detached
	}
	return branch + detached + "-" + strconv.Itoa(n)
}

// lastDetached finds the branches of a worktree that is gone, as hold has made
// and named them.
func (r *repo) lastDetached(ctx context.Context, branch string, res *Result) error {
	for n := 1; ; n++ {
		other := detachedName(branch, n)
		tip, err := r.branchTip(ctx, other)
		if err != nil || tip == "" {
			return err
		}
		if err := r.name(ctx, branch, other, tip, res); err != nil {
			return err
		}
	}
}

// name sets the branches of the result: the worktree's own one, and another
// that has the commit. The one with more in it comes first.
func (r *repo) name(ctx context.Context, own, other, commit string, res *Result) error {
	res.Branch, res.Others = own, nil
	if own == other {
		return nil
	}
	tip, err := r.branchTip(ctx, own)
	if err != nil {
		return err
	}
	has, err := r.ancestor(ctx, commit, tip)
	if err != nil || has {
		return err
	}
	res.Branch = other
	if within, err := r.ancestor(ctx, tip, commit); err != nil {
		return err
	} else if tip != "" && !within {
		res.Others = []string{own}
	}
	return nil
}

// setRef moves a ref from one commit to another; from is "" for a new one.
func (w *tree) setRef(ctx context.Context, ref, to, from string, follow bool) error {
	args := []string{"-c", "core.fsync=all", "update-ref", "-m", "teams: leftover changes", "--create-reflog"}
	if !follow {
		args = append(args, "--no-deref")
	}
	_, err := w.run(ctx, call{args: append(args, ref, to, from), env: []string{"GIT_COMMITTER_NAME=teams", "GIT_COMMITTER_EMAIL=teams@teams.invalid"}})
	return err
}
