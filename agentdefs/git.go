package agentdefs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitTimeout bounds a question to git. Its answer only informs.
const gitTimeout = 5 * time.Second

// AskGit asks git's index which definitions it tracks, and corrects GitManaged
// accordingly. Where there is no answer (no git, no repository, an error, more
// than 5 s for a directory) the assumption stays: definitions of the project
// scope are managed, others are not.
func (s *Set) AskGit(ctx context.Context) {
	s.asked, s.tracked = map[string]bool{}, map[string]bool{}
	git, err := exec.LookPath("git")
	if err != nil {
		return
	}
	for _, src := range s.sources {
		dir := filepath.Dir(src.agent.Path)
		if _, done := s.asked[dir]; !done {
			s.asked[dir] = s.askGit(ctx, git, dir)
		}
	}
	correct := func(a *Agent) {
		if s.asked[filepath.Dir(a.Path)] {
			a.GitManaged = s.tracked[a.Path]
		}
	}
	for _, src := range s.sources {
		correct(&src.agent)
	}
	for i := range s.Agents {
		correct(&s.Agents[i])
	}
}

// askGit lists the tracked definitions of one directory.
func (s *Set) askGit(ctx context.Context, git, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	// No monitor of the repository's configuration is started for this.
	cmd := exec.CommandContext(ctx, git, "-C", dir, "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--", ":(glob)*"+suffix)
	cmd.Env = gitEnviron(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			s.tracked[filepath.Join(dir, name)] = true
		}
	}
	return true
}

// gitEnviron is the environment without what would point git to another
// repository, as in a hook, or change how it reads our pattern.
func gitEnviron(env []string) []string {
	out := make([]string, 0, len(env)+2)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
			"GIT_OPTIONAL_LOCKS", "GIT_TRACE", "GIT_TRACE2", "LC_ALL":
		default:
			out = append(out, kv)
		}
	}
	return append(out, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}
