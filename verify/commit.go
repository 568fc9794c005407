package verify

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// headCommit returns the HEAD commit of the git repository that dir lies in,
// read from its files as gitrepository-layout(5) describes them; "" when there
// is none, no commit yet, or refs in another format than files.
func headCommit(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		if gitDir := gitDirOf(dir); gitDir != "" {
			return resolveHead(gitDir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitDirOf returns the git directory that dir/.git is or names; "": none.
func gitDirOf(dir string) string {
	gitDir := filepath.Join(dir, ".git")
	if text, ok := readSmall(gitDir); ok {
		// A linked worktree or a submodule: a file that names the directory.
		name, ok := strings.CutPrefix(text, "gitdir:")
		if !ok {
			return ""
		}
		gitDir = relativeTo(dir, strings.TrimSpace(name))
	}
	if _, ok := readSmall(filepath.Join(gitDir, "HEAD")); !ok {
		return ""
	}
	return gitDir
}

// resolveHead follows HEAD of a git directory to a commit.
func resolveHead(gitDir string) string {
	common := gitDir
	if text, ok := readSmall(filepath.Join(gitDir, "commondir")); ok {
		common = relativeTo(gitDir, strings.TrimSpace(text))
	}
	ref := "HEAD"
	for range 5 { // as deep as git itself follows symbolic refs
		text, ok := readSmall(filepath.Join(gitDir, ref))
		if !ok && common != gitDir {
			text, ok = readSmall(filepath.Join(common, ref))
		}
		if !ok {
			return packedRef(filepath.Join(common, "packed-refs"), ref)
		}
		text = strings.TrimSpace(text)
		target, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			if isObjectID(text) {
				return text
			}
			return ""
		}
		ref = strings.TrimSpace(target)
		if !strings.HasPrefix(ref, "refs/") || !filepath.IsLocal(ref) {
			return ""
		}
	}
	return ""
}

// packedRef looks a ref up in a packed-refs file, which may be long.
func packedRef(path, ref string) string {
	f, err := openPlain(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, name, ok := strings.Cut(lines.Text(), " ")
		if ok && name == ref && isObjectID(id) {
			return id
		}
	}
	return ""
}

// readSmall reads a regular file of at most 4 KiB.
func readSmall(path string) (string, bool) {
	f, err := openPlain(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	const limit = 4096
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return string(data), err == nil && len(data) <= limit
}

// openPlain opens a regular file of git's. Unlike a log it may be reached
// through a symbolic link, as HEAD of an old repository is.
func openPlain(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return openRegular(real, os.O_RDONLY)
}

// relativeTo returns path, taken relative to dir unless it is absolute.
func relativeTo(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// isObjectID tells whether s is a SHA-1 or SHA-256 object name.
func isObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
