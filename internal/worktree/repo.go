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

// lockWait bounds the wait for the lock: a checkout of a big repository takes
// its time.
const lockWait = 2 * time.Minute

// repo is a repository as seen from a project in it.
type repo struct {
	git     git
	project string // symlinks resolved
	top     string // of the checkout that project lies in
	common  string // the git directory that all worktrees share
}

// openRepo finds the repository that a directory lies in.
func openRepo(ctx context.Context, g git, project string) (*repo, error) {
	real, err := filepath.EvalSymlinks(project)
	if err != nil {
		return nil, &errs.Error{Code: errs.Failure, Op: "worktree", Path: project, Msg: cause(err), Err: err}
	}
	r := &repo{git: g, project: real}
	inside, err := g.ask(ctx, real, nil, "rev-parse", "--is-inside-work-tree")
	switch {
	case err != nil:
		return nil, notARepository(real, err)
	case inside != "true":
		return nil, errs.New(errs.Failure, "is a bare repository or a git directory, not a checkout").WithPath(real).
			WithHint("run this in a checkout of the repository, or use a role without worktree: true")
	}
	if r.top, err = g.ask(ctx, real, nil, "rev-parse", "--show-toplevel"); err != nil {
		return nil, notARepository(real, err)
	}
	r.common, err = commonDir(ctx, g, real)
	return r, err
}

// commonDir asks for the common git directory of the repository around dir.
func commonDir(ctx context.Context, g git, dir string) (string, error) {
	common, err := g.ask(ctx, dir, nil, "rev-parse", "--git-common-dir")
	if err != nil {
		return "", notARepository(dir, err)
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	common, err = filepath.EvalSymlinks(common)
	if err != nil {
		return "", &errs.Error{Code: errs.Failure, Op: "worktree", Path: dir, Msg: cause(err), Err: err}
	}
	return common, nil
}

// notARepository turns git's refusal into an error that helps.
func notARepository(dir string, err error) error {
	var ge *gitError
	if !errors.As(err, &ge) {
		return err
	}
	e := &errs.Error{Code: errs.Failure, Path: dir, Msg: firstLine(ge.text), Err: err}
	switch {
	case strings.Contains(ge.text, "not a git repository"):
		e.Msg = "is not in a git repository, and a worktree needs one"
		e.Hint = "git init && git commit --allow-empty -m start, or use a role without worktree: true"
	case strings.Contains(ge.text, "dubious ownership"):
		e.Hint = "the repository belongs to somebody else: git config --global --add safe.directory DIRECTORY"
	case strings.Contains(ge.text, "must be run in a work tree"):
		e.Msg = "is a bare repository or a git directory, not a checkout"
	}
	return e
}

// noRepository says whether err of openRepo means anything else than that there
// is no repository.
func noRepository(err error) bool {
	var ge *gitError
	return errors.As(err, &ge) && strings.Contains(ge.text, "not a git repository")
}

// cause is the reason of a path error without its operation and path.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// lock takes the lock under which worktrees are made and removed.
func (r *repo) lock(ctx context.Context) (*fsx.Lock, error) {
	return fsx.Acquire(ctx, filepath.Join(r.common, "teams-worktree.lock"), lockWait)
}

// dir is where the project's worktrees are.
func (r *repo) dir() string { return worktreesDir(r.project) }

func worktreesDir(project string) string { return filepath.Join(project, ".pi", "worktrees") }

// ask asks git about the repository itself, whatever checkout it has.
func (r *repo) ask(ctx context.Context, args ...string) (string, error) {
	return r.git.ask(ctx, r.common, r.env(), args...)
}

// env makes git use the common directory. It has its own HEAD: the main
// checkout's.
func (r *repo) env() []string { return []string{"GIT_DIR=" + r.common} }

// tip returns the commit of a ref, "" when there is no such ref.
func (r *repo) tip(ctx context.Context, ref string) (string, error) {
	return commitOf(ctx, r.git, r.common, r.env(), ref)
}

// branchTip returns the commit of a branch, "" when there is no such branch.
func (r *repo) branchTip(ctx context.Context, branch string) (string, error) {
	return r.tip(ctx, "refs/heads/"+branch)
}

func commitOf(ctx context.Context, g git, dir string, env []string, ref string) (string, error) {
	if strings.HasPrefix(ref, "-") {
		return "", nil // no ref, and an option to git
	}
	id, err := g.ask(ctx, dir, env, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if exitCode(err) > 0 {
		return "", nil
	}
	return id, err
}

// ancestor says whether commit a is b or an ancestor of it.
func (r *repo) ancestor(ctx context.Context, a, b string) (bool, error) {
	if a == "" || b == "" {
		return false, nil
	}
	_, err := r.ask(ctx, "merge-base", "--is-ancestor", a, b)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// entry is what git has recorded of one linked worktree.
type entry struct {
	id   string // name of its directory below the common one
	dir  string // its own git directory
	path string // where the worktree is; "" when that is not written yet
}

// entries reads git's records of the linked worktrees, whole or not.
func (r *repo) entries() ([]entry, error) {
	root := filepath.Join(r.common, "worktrees")
	list, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []entry
	for _, d := range list {
		if !d.IsDir() {
			continue
		}
		e := entry{id: d.Name(), dir: filepath.Join(root, d.Name())}
		data, err := fsx.ReadFile(filepath.Join(e.dir, "gitdir"), 64<<10)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if file := strings.TrimSuffix(string(data), "\n"); file != "" {
			if !filepath.IsAbs(file) {
				file = filepath.Join(e.dir, file)
			}
			e.path = filepath.Dir(filepath.Clean(file))
		}
		out = append(out, e)
	}
	return out, nil
}

// entryOf returns git's record of the worktree at path, nil when it has none.
func (r *repo) entryOf(path string) (*entry, error) {
	list, err := r.entries()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.path == path })
	if i < 0 {
		return nil, nil
	}
	return &list[i], nil
}

// forget removes git's record of a worktree that is gone. Git's own command for
// it refuses what is not whole, and its prune would take those of others too.
func (r *repo) forget(e entry) error {
	// Moved away first: half of one would be nobody's.
	if err := fsx.MkdirAll(r.common, r.recordsDir()); err != nil {
		return err
	}
	going := filepath.Join(r.recordsDir(), removing+e.id)
	if err := os.RemoveAll(going); err != nil {
		return err
	}
	if err := os.Rename(e.dir, going); err != nil {
		return err
	}
	if err := os.RemoveAll(going); err != nil {
		return err
	}
	// Git removes the directory of all with the last one.
	return removeEmpty(filepath.Join(r.common, "worktrees"))
}

// exists says whether there is anything at path, a dangling link included.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}
