package herdr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

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
	out, err := cmd.Output()
	if err != nil {
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
// fails nothing is left of it.
func AddRunWorktree(ctx context.Context, project, id string) (path, branch string, err error) {
	path, branch = RunWorktree(project, id)
	common, err := git(ctx, project, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err == nil {
		err = excludeWorktrees(common)
	}
	if err == nil {
		_, err = git(ctx, project, "worktree", "add", "-q", "-b", branch, path, "HEAD")
	}
	if err != nil {
		// git removes what it made, except the branch.
		_ = os.Remove(path)
		return "", "", errs.New(errs.Failure, "the run needs a worktree, and it could not be made: %w", err)
	}
	return path, branch, nil
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
