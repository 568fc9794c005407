package team

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed6990a682/teams/internal/errs"
)

// resolveProject finds the working directory and the project it belongs to.
func (p *Place) resolveProject(in Input) error {
	cwd, err := workingDir(in.Cwd)
	if err != nil {
		return err
	}
	p.Cwd = cwd
	if env := in.Getenv(EnvProject); env != "" {
		if !filepath.IsAbs(env) {
			return errs.New(errs.Unusable, "%s is not an absolute path", EnvProject).WithPath(env)
		}
		p.Project = cwd
		if env != cwd {
			if p.Project, err = realDir(env); err != nil {
				return err
			}
		}
		p.Sources["project"] = EnvProject
		return nil
	}
	var home string
	if h, err := in.Home(); err == nil && filepath.IsAbs(h) {
		home = h
	}
	p.Project, p.Sources["project"], err = findProject(cwd, p.Root, home)
	return err
}

// workingDir is the working directory, or the given one, with its symlinks
// resolved.
func workingDir(given string) (string, error) {
	if given == "" {
		// The system knows it without symlinks. PWD, which package os prefers, is
		// the way that the shell took.
		if wd, err := syscall.Getwd(); err == nil && filepath.IsAbs(wd) {
			return wd, nil
		}
		wd, err := os.Getwd()
		if err != nil {
			return "", &errs.Error{Code: errs.Unusable, Op: "working directory", Msg: err.Error(), Err: err}
		}
		given = wd
	}
	if !filepath.IsAbs(given) {
		return "", errs.New(errs.Unusable, "the working directory is not an absolute path").WithPath(given)
	}
	return realDir(given)
}

// realDir resolves the symlinks of an existing directory.
func realDir(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &errs.Error{Code: errs.Unusable, Path: path, Msg: cause(err), Err: err}
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", &errs.Error{Code: errs.Unusable, Path: path, Msg: cause(err), Err: err}
	}
	if !fi.IsDir() {
		return "", errs.New(errs.Unusable, "is not a directory").WithPath(path)
	}
	return real, nil
}

// cause is the reason of a path error without its operation and path.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// findProject walks up from cwd, whose symlinks are resolved, to the nearest
// directory with .git, or with a .pi that holds neither the root nor the
// agent directory of the home. With neither it is cwd itself. In a linked
// worktree it is the project of the same place in the main checkout.
func findProject(cwd, root, home string) (project, source string, err error) {
	marked := "" // the nearest directory with a .pi
	for dir := cwd; ; dir = filepath.Dir(dir) {
		kind, main := gitKind(dir), dir
		if kind == gitFile {
			if main, err = mainCheckout(dir); err != nil {
				return "", "", err
			}
		}
		top := dir == filepath.Dir(dir)
		switch {
		case main != dir:
			project, source = projectOfWorktree(dir, main, cwd, marked, root, home)
			return project, source, nil
		case marked == "" && kind != gitNone:
			return dir, SourceGit, nil
		case marked == "" && hasMark(dir, root, home):
			marked = dir
		}
		switch {
		case marked != "" && (top || kind != gitNone):
			return marked, SourcePi, nil
		case top:
			return cwd, SourceCwd, nil
		}
	}
}

// projectOfWorktree is the project of cwd, which lies in the linked worktree at
// top: that of the same place in the main checkout, so that a teammate finds the
// board of those who started it. marked is the nearest directory of the worktree
// with a .pi, or ""; one that the main checkout does not have stays a project of
// its own.
func projectOfWorktree(top, main, cwd, marked, root, home string) (project, source string) {
	there := func(dir string) string { return filepath.Join(main, strings.TrimPrefix(dir, top)) }
	if marked != "" && !isDir(there(marked)) {
		return marked, SourcePi
	}
	for dir := there(cwd); dir != main; dir = filepath.Dir(dir) {
		if hasMark(dir, root, home) && realPrefix(dir) == dir {
			return dir, SourcePi
		}
	}
	// A worktree of ours lies in the .pi of the project that it was made for.
	holder := filepath.Dir(filepath.Dir(filepath.Dir(top)))
	if filepath.Dir(top) == filepath.Join(holder, ".pi", "worktrees") && holder != main && within(holder, main) && hasMark(holder, root, home) {
		return holder, SourcePi
	}
	return main, SourceGit
}

// hasMark says whether a directory has a .pi that marks a project.
func hasMark(dir, root, home string) bool {
	pi := filepath.Join(dir, ".pi")
	return isDir(pi) && marksProject(pi, root, home)
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// marksProject says whether the directory pi, a .pi, is that of a project, and
// not the one that holds the agent directory.
func marksProject(pi, root, home string) bool {
	pi = realPrefix(pi)
	if home != "" && pi == realPrefix(filepath.Join(home, ".pi")) {
		return false
	}
	return !within(realPrefix(root), pi)
}

// within says whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	if dir == "/" {
		return true
	}
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// realPrefix resolves the symlinks of the longest part of path that exists.
func realPrefix(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// What stands at a directory's .git.
const (
	gitNone = iota
	gitDir  // a directory: a main checkout
	gitFile // a file: a worktree, a submodule, or a separate git directory
)

func gitKind(dir string) int {
	fi, err := os.Stat(filepath.Join(dir, ".git"))
	switch {
	case err != nil:
		return gitNone
	case fi.IsDir():
		return gitDir
	case fi.Mode().IsRegular():
		return gitFile
	}
	return gitNone
}

// mainCheckout returns the main checkout of the repository whose .git file
// stands in dir. Only a linked worktree has another one than dir itself: its
// git directory names a common one. A submodule, or a checkout with a separate
// git directory, is a project of its own.
//
// Git's own files are read, and no git is started: this runs in every command.
func mainCheckout(dir string) (string, error) {
	common, linked, err := commonDir(dir)
	if err != nil || !linked {
		return dir, err
	}
	if filepath.Base(common) == ".git" {
		return realDir(filepath.Dir(common))
	}
	// The common directory is bare, or that of a submodule or of a separate git
	// directory. A submodule's says where its checkout is; otherwise the outermost
	// parent of the same repository is taken, so that the worktrees below a
	// checkout, as teammates have them, belong to it.
	if wt := coreWorktree(common); wt != "" {
		if real, err := realDir(wt); err == nil {
			return real, nil
		}
	}
	best := dir
	for up := filepath.Dir(dir); up != filepath.Dir(up); up = filepath.Dir(up) {
		if gitKind(up) != gitFile {
			continue
		}
		if c, _, err := commonDir(up); err == nil && c == common {
			best = up
		}
	}
	return best, nil
}

// commonDir returns the repository's common git directory, symlinks resolved,
// and whether dir is a linked worktree of it.
func commonDir(dir string) (common string, linked bool, err error) {
	file := filepath.Join(dir, ".git")
	line, err := readLine(file)
	if err != nil {
		return "", false, &errs.Error{Code: errs.Unusable, Path: file, Msg: cause(err), Err: err}
	}
	target, ok := strings.CutPrefix(line, "gitdir:")
	target = strings.TrimLeft(target, " \t")
	if !ok || target == "" || strings.Contains(target, "\x00") {
		return "", false, nil // not git's: a file that marks a project, nothing more
	}
	gitdir := absFrom(dir, target)
	line, err = readLine(filepath.Join(gitdir, "commondir"))
	switch {
	case err == nil && line != "":
		return realPrefix(absFrom(gitdir, line)), true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, &errs.Error{Code: errs.Unusable, Path: gitdir, Msg: cause(err), Err: err}
	}
	// No commondir: a submodule or a separate git directory, or a worktree whose
	// entry was pruned or whose main checkout has moved. The last two would give
	// a teammate another board without a word.
	if filepath.Base(filepath.Dir(gitdir)) != "worktrees" {
		return realPrefix(gitdir), false, nil
	}
	if _, err := os.Stat(gitdir); err == nil {
		return realPrefix(gitdir), false, nil
	}
	common = filepath.Dir(filepath.Dir(gitdir))
	if _, err := os.Stat(common); err != nil {
		return "", false, errs.New(errs.Unusable, "this is a git worktree of %s, which is not there", common).
			WithPath(file).WithHint("set %s to the project's directory", EnvProject)
	}
	return realPrefix(common), true, nil
}

// absFrom makes path absolute as seen from dir.
func absFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// maxGitFile bounds what is read of git's small files.
const maxGitFile = 64 << 10

// readLine returns the contents of a small regular file without the line end.
// A path may hold line ends of its own, so only those at the end go.
func readLine(path string) (string, error) {
	data, err := readSmall(path)
	return strings.TrimRight(string(data), "\r\n"), err
}

func readSmall(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxGitFile))
}

// coreWorktree returns core.worktree of a git directory's config, absolute, or
// "" when there is none.
func coreWorktree(gitdir string) string {
	data, err := readSmall(filepath.Join(gitdir, "config"))
	if err != nil {
		return ""
	}
	section := ""
	for line := range bytes.Lines(data) {
		s := strings.TrimSpace(string(line))
		if strings.HasPrefix(s, "[") {
			section = strings.ToLower(s)
			continue
		}
		key, value, ok := strings.Cut(s, "=")
		if !ok || section != "[core]" || !strings.EqualFold(strings.TrimSpace(key), "worktree") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value[1 : n-1])
		}
		if value != "" {
			return absFrom(gitdir, value)
		}
	}
	return ""
}
