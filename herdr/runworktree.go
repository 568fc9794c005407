package herdr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// RunWorktree is the place of a run's worktree, and its branch.
func RunWorktree(project, id string) (path, branch string) {
	return filepath.Join(project, ".pi", "worktrees", "run-"+id), "pi/wf/run-" + id
}

// git runs git in dir and returns its standard output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	// Not those of a hook that we may run under, and no questions.
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// A group of its own, so that a hook ends with it when ctx does.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // what a hook has left holds the output
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		text := fold(stderr.String())
		if text == "" {
			text = err.Error()
		}
		return "", errs.New(errs.Failure, "git %s: %s", args[0], text)
	}
	return strings.TrimSpace(string(out)), nil
}

// FreeRunWorktree says whether worktree and branch of a run can be made:
// fs.ErrExist when one of them is there already.
func FreeRunWorktree(ctx context.Context, project, id string) error {
	path, branch := RunWorktree(project, id)
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	_, err := git(ctx, project, "rev-parse", "--git-dir")
	if err != nil {
		return errs.New(errs.Failure, "the run needs a worktree, and there can be none: %w", err)
	}
	if _, err := git(ctx, project, "show-ref", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
		return fs.ErrExist
	}
	return nil
}

// AddRunWorktree makes the worktree of a run from the project's HEAD. When it
// fails, also by a hook of the repository, nothing is left of it, beside the
// line by which git ignores the worktrees of all.
func AddRunWorktree(ctx context.Context, project, id string) (path, branch string, err error) {
	path, branch = RunWorktree(project, id)
	w := newWorktree{project: project, path: path, branch: branch}
	if err = w.add(ctx); err == nil {
		return path, branch, nil
	}
	// Also when the caller was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if uerr := w.undo(ctx); uerr != nil {
		return "", "", errs.New(errs.Failure, "the run needs a worktree, and it could not be made: %w; nor could what there is of it be removed: %s", err, uerr)
	}
	return "", "", errs.New(errs.Failure, "the run needs a worktree, and it could not be made: %w", err)
}

// newWorktree is a worktree that is being made. What was there before is not
// ours to remove, so each part is made such that it fails when it is there.
type newWorktree struct {
	project, path, branch string

	dirs                 []string // that were made, the outer ones first
	madePath, madeBranch bool
}

func (w *newWorktree) add(ctx context.Context) error {
	common, err := git(ctx, w.project, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err == nil {
		err = excludeWorktrees(common)
	}
	if err != nil {
		return err
	}
	parent := filepath.Dir(w.path)
	for _, dir := range []string{filepath.Dir(parent), parent} {
		switch err := os.Mkdir(dir, 0o777); { // as git makes them
		case err == nil:
			w.dirs = append(w.dirs, dir)
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	if err := os.Mkdir(w.path, 0o777); err != nil {
		return err
	}
	w.madePath = true
	// Not interrupted, so that it is known whether the branch is ours.
	if _, err := git(context.WithoutCancel(ctx), w.project, "branch", "--no-track", w.branch, "HEAD"); err != nil {
		return err
	}
	w.madeBranch = true
	_, err = git(ctx, w.project, "worktree", "add", "-q", w.path, w.branch)
	return err
}

// undo removes what was made.
func (w *newWorktree) undo(ctx context.Context) error {
	if w.madePath {
		// With force twice, since a git that was stopped leaves it locked; and
		// again, since one that is broken is not removed, but one that is gone is.
		remove := []string{"worktree", "remove", "--force", "--force", w.path}
		_, err := git(ctx, w.project, remove...)
		if err := os.RemoveAll(w.path); err != nil {
			return err
		}
		if err != nil && w.madeBranch {
			_, _ = git(ctx, w.project, remove...)
		}
	}
	for _, dir := range slices.Backward(w.dirs) {
		_ = os.Remove(dir) // another run may have its worktree there by now
	}
	if !w.madeBranch {
		return nil
	}
	_, err := git(ctx, w.project, "branch", "-q", "-D", w.branch)
	return err
}

// excludeWorktrees keeps worktrees out of what git shows as new.
func excludeWorktrees(gitDir string) error {
	const line = ".pi/worktrees"
	path := filepath.Join(gitDir, "info", "exclude")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, l := range strings.Split(string(b), "\n") {
		if strings.Trim(strings.TrimSpace(l), "/") == line {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return fsx.Append(path, []byte(line+"\n"), false)
}

// RemoveRunWorktree removes the worktree of a run. Changes that are not
// committed are committed on its branch before; the branch is removed only when
// all of it is merged. A worktree that is gone is no error.
func RemoveRunWorktree(ctx context.Context, run *Run) error {
	if run.Worktree == "" {
		return nil
	}
	if err := fsx.CheckDir(run.Worktree); err == nil {
		dirty, err := git(ctx, run.Worktree, "status", "--porcelain")
		if err != nil {
			return err
		}
		if dirty != "" {
			if _, err := git(ctx, run.Worktree, "add", "-A"); err != nil {
				return err
			}
			if _, err := git(ctx, run.Worktree, "-c", "user.name="+run.ID, "-c", "user.email="+run.ID+"@localhost", "-c", "commit.gpgsign=false",
				"commit", "-q", "--no-verify", "-m", "Leftover changes of run "+run.ID); err != nil {
				return err
			}
		}
		if _, err := git(ctx, run.Repo, "worktree", "remove", "--force", run.Worktree); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, _ = git(ctx, run.Repo, "worktree", "prune")
	_, _ = git(ctx, run.Repo, "branch", "-d", run.Branch)
	return nil
}
