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

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Info is what is known of one worktree.
type Info struct {
	Path    string
	Branch  string // "" when HEAD is detached, or not known
	Head    string // the commit, "" when there is none
	Base    string // the commit that it began at, "" when nobody wrote that down
	Bytes   int64  // size of its files
	Partial bool   // there are so many files that Bytes is only the least
	Dirty   bool   // it has changes, or git is in the middle of something
	Merged  bool   // Head is in the HEAD of the main checkout
	Managed bool   // git knows it as a worktree
	Missing bool   // git knows it, but its directory is gone
	Unready bool   // it is still being made, or its spawn died
	Owner   string // the life that it was made for, "" when nobody wrote that down
	Holder  string // see [Tree]
	Problem string // what could not be found out, and why; Dirty is true then
}

// List returns the worktrees below the project's .pi/worktrees, and those
// elsewhere that have a branch of a teammate, in the order of their paths. A
// directory there that git does not know is listed as not managed. No such
// directory, no repository and no git are no worktrees, unless something is
// there. Nothing is changed.
func List(ctx context.Context, project string) ([]Info, error) {
	real, err := filepath.EvalSymlinks(project)
	if err != nil {
		return nil, &errs.Error{Code: errs.Failure, Op: "worktrees", Path: project, Msg: cause(err), Err: err}
	}
	names, err := fsx.List(worktreesDir(real))
	if errors.Is(err, syscall.ENOTDIR) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	r, entries, repoErr := known(ctx, real)
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	var out []Info
	for _, e := range entries {
		info, ours, err := r.inspect(ctx, e)
		if err != nil {
			return nil, err
		}
		if ours {
			out = append(out, info)
		}
	}
	for _, name := range names {
		path := filepath.Join(worktreesDir(real), name)
		fi, err := os.Lstat(path)
		if err != nil || !fi.IsDir() || slices.ContainsFunc(out, func(i Info) bool { return i.Path == path }) {
			continue
		}
		info := Info{Path: path, Dirty: true, Problem: "git does not know it"}
		if repoErr != nil {
			info.Problem = explain(repoErr)
		}
		info.Bytes, info.Partial = size(ctx, path)
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return out, contextOnly(ctx)
}

// known opens the repository and reads git's records of worktrees.
func known(ctx context.Context, project string) (*repo, []entry, error) {
	g, err := findGit()
	if err != nil {
		return nil, nil, err
	}
	r, err := openRepo(ctx, g, project)
	if err != nil {
		return nil, nil, err
	}
	entries, err := r.entries()
	return r, entries, err
}

// inspect looks at one worktree. It answers false for one that has nothing to
// do with us. The error is the end of ctx; what else goes wrong is a Problem.
func (r *repo) inspect(ctx context.Context, e entry) (Info, bool, error) {
	here := filepath.Dir(e.path) == r.dir()
	if e.path == "" {
		return Info{}, false, nil
	}
	w := &tree{repo: r, entry: e}
	head, ref, err := w.head(ctx)
	info := Info{Path: e.path, Head: head, Managed: true}
	info.Branch, _ = strings.CutPrefix(ref, "refs/heads/")
	if !here && !strings.HasPrefix(info.Branch, "teams/") {
		return Info{}, false, contextOnly(ctx)
	}
	var rec *record
	if err == nil {
		rec, err = r.readRecord(e.path)
	}
	if rec != nil {
		info.Base, info.Owner, info.Holder, info.Unready = rec.Base, rec.Owner, rec.Holder, rec.State != ready
	}
	if err == nil {
		var main string
		if main, err = r.tip(ctx, "HEAD"); err == nil {
			info.Merged, err = r.ancestor(ctx, head, main)
		}
	}
	there, lerr := exists(e.path)
	switch {
	case err != nil:
	case lerr != nil:
		err = lerr
	case !there:
		info.Missing = true
	default:
		info.Bytes, info.Partial = size(ctx, e.path)
		info.Dirty = w.underWay() != ""
		if !info.Dirty {
			var why string
			why, err = w.changes(ctx)
			info.Dirty = why != ""
		}
	}
	if err != nil {
		info.Dirty, info.Problem = true, explain(err)
	}
	return info, true, contextOnly(ctx)
}

// maxEntries bounds the count of a worktree's size.
const maxEntries = 1_000_000

// size adds up the sizes of the files in dir; links are not followed, and a
// file with several names counts once. partial says that it gave up.
func size(ctx context.Context, dir string) (bytes int64, partial bool) {
	type id struct{ dev, ino uint64 }
	seen := map[id]bool{}
	entries := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries || ctx.Err() != nil {
			partial = true
			return fs.SkipAll
		}
		if err != nil {
			partial = true
			return nil
		}
		info, err := d.Info()
		if err != nil || info.IsDir() {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			key := id{uint64(st.Dev), st.Ino}
			if seen[key] {
				return nil
			}
			seen[key] = true
		}
		bytes += info.Size()
		return nil
	})
	return bytes, partial
}
