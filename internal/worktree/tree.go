package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// tree is a linked worktree that git knows.
type tree struct {
	*repo
	entry
}

// env tells git which worktree is meant. Left to itself it would take a
// directory without a .git file for a part of the checkout around it.
func (w *tree) env() []string {
	return []string{"GIT_DIR=" + w.dirOfGit(), "GIT_WORK_TREE=" + w.path}
}

func (w *tree) dirOfGit() string { return w.entry.dir }

// file is a path in the worktree's own git directory.
func (w *tree) file(name string) string { return filepath.Join(w.dirOfGit(), name) }

// run runs git in the worktree.
func (w *tree) run(ctx context.Context, c call) (answer, error) {
	if c.dir == "" {
		c.dir = w.path
	}
	c.env = append(w.env(), c.env...)
	return w.git.run(ctx, c)
}

// head returns the commit of HEAD, "" when it has none yet, and the ref that it
// stands for, "" when it is detached.
func (w *tree) head(ctx context.Context) (commit, ref string, err error) {
	dir := w.dirOfGit()
	ref, err = w.git.ask(ctx, dir, w.env(), "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return "", "", err
	}
	if err != nil {
		ref = ""
	}
	commit, err = commitOf(ctx, w.git, dir, w.env(), "HEAD")
	return commit, ref, err
}

// underWay names what git was in the middle of; "" for nothing.
func (w *tree) underWay() string {
	for _, op := range [...]struct{ file, name string }{
		{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(w.file(op.file)); err == nil {
			return op.name
		}
	}
	return ""
}

// lockedBy says why somebody locked the worktree, "" when nobody did.
func (w *tree) lockedBy() string {
	data, err := fsx.ReadFile(w.file("locked"), 4<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err == nil && len(strings.TrimSpace(string(data))) > 0:
		return "it is locked: " + fsx.SafeLine(strings.TrimSpace(string(data)))
	}
	return "it is locked"
}

// unsafe says what would be lost with the directory: a lock of somebody,
// changes, or repositories inside with something of their own. "" means that
// nothing would. Ignored files do not count.
func (w *tree) unsafe(ctx context.Context) (string, error) {
	if why := w.lockedBy(); why != "" {
		return why, nil
	}
	if info, err := os.Lstat(filepath.Join(w.path, ".git")); err == nil && !info.Mode().IsRegular() {
		return "there is another repository in it", nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if why, err := w.changes(ctx); why != "" || err != nil {
		return why, err
	}
	return w.git.unsafeModules(ctx, w.path, w.env())
}

// changes says what is not committed in the worktree, "" for nothing.
func (w *tree) changes(ctx context.Context) (string, error) {
	env, done, err := w.unhidden(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	a, err := w.run(ctx, call{env: env, limit: 4 << 10, time: workTime,
		args: []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none"}})
	if err != nil {
		return "", err
	}
	if len(a.out) == 0 {
		return "", nil
	}
	return "it has changes: " + nameSome(a), nil
}

// nameSome names the first paths of git status.
func nameSome(a answer) string {
	const most = 3
	var names []string
	for i, field := range a.fields() {
		if i == most || a.cut && len(field) < 4 {
			return strings.Join(names, ", ") + ", …"
		}
		if len(field) > 3 {
			names = append(names, fsx.SafeLine(field[3:]))
		}
	}
	return strings.Join(names, ", ")
}

// unhidden returns the environment in which git status tells of files that were
// marked to be left alone (assume-unchanged, skip-worktree), and are there.
func (w *tree) unhidden(ctx context.Context) (env []string, done func(), err error) {
	hidden, err := w.hidden(ctx, nil)
	if err != nil || len(hidden) == 0 {
		return nil, func() {}, err
	}
	x, err := w.copyIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	return x.env(), x.remove, nil
}

// hidden lists the files that are marked to be left alone, and are there.
func (w *tree) hidden(ctx context.Context, env []string) ([]string, error) {
	a, err := w.run(ctx, call{env: env, args: []string{"ls-files", "-v", "-z"}})
	if err != nil {
		return nil, err
	}
	if a.cut {
		return nil, errs.New(errs.Failure, "has too many files").WithPath(w.path)
	}
	var out []string
	for _, field := range a.fields() {
		if len(field) < 3 || field[0] != 'S' && (field[0] < 'a' || field[0] > 'z') {
			continue
		}
		if there, _ := exists(filepath.Join(w.path, field[2:])); there {
			out = append(out, field[2:])
		}
	}
	return out, nil
}

// unsafeModules says which repository inside the worktree at dir has something
// that nobody else has; "" for none.
func (g git) unsafeModules(ctx context.Context, dir string, env []string) (string, error) {
	a, err := g.run(ctx, call{dir: dir, env: env, args: []string{"ls-files", "-s", "-z"}})
	if err != nil {
		return "", err
	}
	for _, field := range a.fields() {
		if !strings.HasPrefix(field, "160000 ") {
			continue
		}
		_, name, _ := strings.Cut(field, "\t")
		sub := filepath.Join(dir, name)
		if there, err := exists(filepath.Join(sub, ".git")); err != nil {
			return "", err
		} else if !there {
			continue // not checked out
		}
		lost, err := g.unsafeModule(ctx, sub)
		if err != nil || lost {
			return "the repository " + fsx.SafeLine(name) + " in it has something of its own", contextOnly(ctx)
		}
		if why, err := g.unsafeModules(ctx, sub, nil); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// contextOnly returns the end of ctx as an error. What else goes wrong with
// somebody's nested repository only means that it stays.
func contextOnly(ctx context.Context) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return nil
}

func (g git) unsafeModule(ctx context.Context, dir string) (bool, error) {
	top, err := g.ask(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil || top != dir {
		return true, err
	}
	a, err := g.run(ctx, call{dir: dir, limit: 1,
		args: []string{"status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none"}})
	if err != nil || len(a.out) > 0 {
		return true, err
	}
	// Whatever no remote has.
	a, err = g.run(ctx, call{dir: dir, limit: 1, args: []string{"rev-list", "--max-count=1", "HEAD", "--branches", "--tags", "--glob=refs/stash", "--not", "--remotes"}})
	return len(a.out) > 0, err
}
