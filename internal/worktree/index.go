package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// index is a copy of a worktree's index. Changes are collected in it, so that
// an index.lock that a killed git has left is in nobody's way.
type index struct {
	w    *tree
	path string
}

const indexPrefix = "teams-index-"

func (x *index) env() []string { return []string{"GIT_INDEX_FILE=" + x.path} }

func (x *index) remove() {
	_ = os.Remove(x.path)
	_ = os.Remove(x.path + ".lock")
}

// run runs git on the copy.
func (x *index) run(ctx context.Context, c call) (answer, error) {
	c.env = append(x.env(), c.env...)
	return x.w.run(ctx, c)
}

// copyIndex copies the worktree's index and uncovers what is marked to be left
// alone. An index that is missing or damaged is made anew from HEAD.
func (w *tree) copyIndex(ctx context.Context) (*index, error) {
	x := &index{w, w.file(indexPrefix + fsx.RandomID())}
	err := copyFile(w.file("index"), x.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.remove()
		return nil, err
	}
	var hidden []string
	if err == nil {
		hidden, err = w.hidden(ctx, x.env())
	}
	if err != nil && (errors.Is(err, fs.ErrNotExist) || exitCode(err) == 128) {
		hidden, err = nil, x.anew(ctx, err)
	}
	if err == nil && len(hidden) > 0 {
		for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
			_, err = x.run(ctx, call{args: []string{"update-index", flag, "-z", "--stdin"}, stdin: []byte(strings.Join(hidden, "\x00") + "\x00")})
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		x.remove()
		return nil, err
	}
	return x, nil
}

// anew makes the index from HEAD. In a sparse checkout that would tell of every
// file that was left out as deleted.
func (x *index) anew(ctx context.Context, why error) error {
	if x.sparse(ctx) {
		return errs.New(errs.Failure, "the index of the sparse worktree cannot be read: %w", why).WithPath(x.w.path)
	}
	if err := fsx.Remove(x.path); err != nil {
		return err
	}
	head, _, err := x.w.head(ctx)
	if err != nil {
		return err
	}
	args := []string{"read-tree", head}
	if head == "" {
		args = []string{"read-tree", "--empty"}
	}
	_, err = x.run(ctx, call{args: args})
	return err
}

func (x *index) sparse(ctx context.Context) bool {
	s, err := x.w.git.ask(ctx, x.w.dirOfGit(), x.w.env(), "config", "--type=bool", "core.sparseCheckout")
	return err == nil && s == "true"
}

// unmerged lists the paths with conflicts.
func (x *index) unmerged(ctx context.Context) ([]string, error) {
	a, err := x.run(ctx, call{args: []string{"ls-files", "-u", "-z"}})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, field := range a.fields() {
		_, name, _ := strings.Cut(field, "\t")
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return out, nil
}

// collect takes all changes of the worktree into the copy. Repositories inside,
// of which only the name of a commit could be stored, stay out. What could not
// be read or stored is told in problem; the rest is there.
func (x *index) collect(ctx context.Context) (problem string, err error) {
	a, err := x.run(ctx, call{args: []string{"ls-files", "--others", "--exclude-standard", "-z"}, time: workTime})
	if err != nil {
		return "", err
	}
	if a.cut {
		return "", errs.New(errs.Failure, "has too many new files").WithPath(x.w.path)
	}
	specs := []string{":/"}
	for _, name := range a.fields() {
		if dir, nested := strings.CutSuffix(name, "/"); nested {
			specs = append(specs, ":(top,exclude,literal)"+dir)
		}
	}
	args := []string{"-c", "core.safecrlf=false", "-c", "core.fsync=all", "-c", "core.fsyncMethod=batch",
		"-c", "core.splitIndex=false", "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--ignore-errors"}
	if x.sparse(ctx) {
		args = append(args, "--sparse")
	}
	args = append(args, "--pathspec-from-file=-", "--pathspec-file-nul")
	_, err = x.run(ctx, call{args: args, stdin: []byte(strings.Join(specs, "\x00") + "\x00"), time: workTime})
	var failed *gitError
	if errors.As(err, &failed) && failed.code == 1 {
		return lastReason(failed.text), nil
	}
	return "", err
}

// install makes the copy the worktree's index, which no git holds.
func (x *index) install() error { return os.Rename(x.path, x.w.file("index")) }

// sweep removes copies that a killed process has left. The caller holds the
// lock, so they are nobody's.
func (w *tree) sweep() {
	left, _ := filepath.Glob(filepath.Join(globQuote(w.dirOfGit()), indexPrefix+"*"))
	for _, path := range left {
		_ = os.Remove(path)
	}
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
