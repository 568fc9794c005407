package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Tree names one worktree, as the record of its teammate does.
type Tree struct {
	Project string // the project whose .pi/worktrees it lies in, or is to
	Path    string // the worktree's directory
	Branch  string // its branch, such as teams/ann-1
	Owner   string // the life that it was made for; Undo asks for it
	Holder  string // the file that says whether that life still uses it; may be empty
}

// Plan is a worktree to be made.
type Plan struct {
	Tree
	Cwd  string // where its teammate works: Path or a directory below
	Base string // the commit that the branch begins at

	repo *repo
}

// Request is what a plan is made from.
type Request struct {
	Project string // a directory in a checkout of the repository
	From    string // where the leader stands; may be empty
	Name    string // the teammate's handle
	Owner   string // a word that no other life has, such as the spawn id
	Holder  string // see [Tree]; may be empty
}

// maxNumber is above every number that worktrees will have. A higher one that
// somebody gave to a branch is left alone.
const maxNumber = 1_000_000_000

// NewPlan finds the next free number of a teammate's worktrees, which is above
// that of every worktree and branch there is, those of ended teammates and
// those in remotes included. The branch begins at HEAD of the checkout where the
// leader stands, if that is one of the project's repository, else of the
// project's. The subdirectory in which it stands is kept; where that is not in
// the commit the nearest one above that is. Nothing is written.
//
// The error, of code failure or conflict, says in Hint what would help: no git,
// no repository, no commit yet.
func NewPlan(ctx context.Context, q Request) (Plan, error) {
	if err := fsx.CheckHandle(q.Name); err != nil {
		return Plan{}, err
	}
	if q.Owner == "" {
		return Plan{}, errs.New(errs.Internal, "a worktree needs an owner")
	}
	g, err := findGit()
	if err != nil {
		return Plan{}, err
	}
	r, err := openRepo(ctx, g, q.Project)
	if err != nil {
		return Plan{}, err
	}
	from, prefix, err := r.standing(ctx, q.From)
	if err != nil {
		return Plan{}, err
	}
	base, err := r.head(ctx, from)
	if err != nil {
		return Plan{}, err
	}
	n, err := r.nextNumber(ctx, q.Name)
	if err != nil {
		return Plan{}, err
	}
	name := q.Name + "-" + strconv.Itoa(n)
	p := Plan{
		Tree: Tree{Project: r.project, Path: filepath.Join(r.dir(), name), Branch: "teams/" + name, Owner: q.Owner, Holder: q.Holder},
		Base: base, repo: r,
	}
	sub, err := r.nearest(ctx, base, prefix)
	if err != nil {
		return Plan{}, err
	}
	p.Cwd = filepath.Join(p.Path, sub)
	return p, nil
}

// standing returns the checkout that the leader stands in and the way from its
// top to there. If from is not in a checkout of this repository it is the
// project.
func (r *repo) standing(ctx context.Context, from string) (dir, prefix string, err error) {
	dir = r.project
	if from != "" {
		real, err := filepath.EvalSymlinks(from)
		if err == nil {
			if common, err := commonDir(ctx, r.git, real); err == nil && common == r.common {
				inside, err := r.git.ask(ctx, real, nil, "rev-parse", "--is-inside-work-tree")
				if err == nil && inside == "true" {
					dir = real
				}
			}
		}
		if ctx.Err() != nil {
			return "", "", interrupted(ctx)
		}
	}
	prefix, err = r.git.ask(ctx, dir, nil, "rev-parse", "--show-prefix")
	return dir, strings.TrimSuffix(prefix, "/"), err
}

func interrupted(ctx context.Context) error {
	return &errs.Error{Code: errs.CodeOf(ctx.Err()), Op: "worktree", Msg: ctx.Err().Error(), Err: ctx.Err()}
}

// head returns the commit of HEAD as seen from dir.
func (r *repo) head(ctx context.Context, dir string) (string, error) {
	base, err := commitOf(ctx, r.git, dir, nil, "HEAD")
	if err != nil || base != "" {
		return base, err
	}
	// A branch without a commit, or a repository that is damaged.
	ref, err := r.git.ask(ctx, dir, nil, "symbolic-ref", "--quiet", "HEAD")
	if err == nil {
		_, err = r.git.ask(ctx, dir, nil, "show-ref", "--verify", "--quiet", ref)
		if exitCode(err) == 1 {
			return "", errs.New(errs.Failure, "the repository has no commit yet, and a worktree begins at one").WithPath(dir).
				WithHint("git commit --allow-empty -m start, or use a role without worktree: true")
		}
	}
	return "", errs.New(errs.Failure, "HEAD of the repository names no commit that is there").WithPath(dir).WithHint("git fsck")
}

// nearest returns prefix if it is a directory of the commit, or the nearest one
// above it that is; "" is the top.
func (r *repo) nearest(ctx context.Context, commit, prefix string) (string, error) {
	for prefix != "" && prefix != "." {
		kind, err := r.ask(ctx, "cat-file", "-t", commit+":"+prefix)
		if err == nil && kind == "tree" {
			return prefix, nil
		}
		if err != nil && exitCode(err) < 0 {
			return "", err
		}
		prefix = filepath.Dir(prefix)
	}
	return "", nil
}

// nextNumber is one more than the highest number that name has had.
func (r *repo) nextNumber(ctx context.Context, name string) (int, error) {
	highest := 0
	note := func(s string) {
		rest, ok := strings.CutPrefix(s, name+"-")
		if n, err := strconv.Atoi(rest); ok && err == nil && n > highest && n < maxNumber {
			highest = n
		}
	}
	list, err := os.ReadDir(r.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, d := range list {
		note(strings.TrimPrefix(d.Name(), removing))
	}
	entries, err := r.entries()
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		note(filepath.Base(e.path))
	}
	records, err := os.ReadDir(r.recordsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, d := range records {
		note(strings.TrimSuffix(d.Name(), ".json"))
	}
	a, err := r.git.run(ctx, call{dir: r.common, env: r.env(), args: []string{"for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"}})
	if err != nil {
		return 0, err
	}
	for ref := range strings.Lines(string(a.out)) {
		ref = strings.TrimSuffix(ref, "\n")
		if ref == "refs/heads/teams" {
			return 0, errs.New(errs.Conflict, `there is a branch "teams", which leaves no room for branches teams/%s-1`, name).
				WithPath(r.top).WithHint("rename that branch with git branch -m")
		}
		if _, short, ok := strings.Cut(ref, "/teams/"); ok {
			// teams/ann-1/x takes teams/ann-1, and so does teams/ann-1-detached for a
			// person who looks for what ann left.
			short, _, _ = strings.Cut(short, "/")
			note(strings.TrimSuffix(short, detached))
		}
	}
	return highest + 1, nil
}
