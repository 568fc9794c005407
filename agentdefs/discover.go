package agentdefs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Set is what [Discover] found.
type Set struct {
	// Agents has one entry for each name, sorted by name.
	Agents []Agent
	// Problems are the files that are not used, sorted by path: they cannot be
	// read or understood, or another file of the same scope has their name.
	// Their severity is always [Error].
	Problems []Problem

	dirs    Dirs
	sources []*source       // every file, in the order of precedence
	asked   map[string]bool // the directories for which git has answered
	tracked map[string]bool // the files that git tracks
}

// Discover reads all definitions. It starts no program: GitManaged is an
// assumption until [Set.AskGit].
//
// A missing directory holds none. The error is of one that cannot be read; the
// Set then has what could be read, and what it resolves may be wrong, since
// the other directory may have a definition that would win.
func Discover(dirs Dirs) (*Set, error) {
	s := &Set{dirs: dirs, Agents: []Agent{}, Problems: []Problem{}}
	var problems []error
	for _, dir := range []string{dirs.Dir(User), dirs.Dir(Project)} {
		if dir == "" {
			continue
		}
		names, err := fsx.List(dir)
		if err != nil {
			problems = append(problems, unreadableDir(dir, err))
			s.Problems = append(s.Problems, Problem{Path: dir, Message: reason(err), Severity: Error})
		}
		for _, name := range names {
			if strings.HasSuffix(name, suffix) {
				s.read(filepath.Join(dir, name), scopeOf(dir == dirs.Dir(User), name))
			}
		}
	}
	s.settle()
	return s, errors.Join(problems...)
}

func unreadableDir(dir string, err error) error {
	return &errs.Error{Code: errs.Failure, Op: "list agents", Path: dir, Msg: reason(err), Err: err}
}

// reason is an error without the operation and the path, which stand elsewhere.
func reason(err error) string {
	var known *errs.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &known):
		return known.Msg
	case errors.As(err, &path):
		return "cannot be read: " + path.Err.Error()
	}
	return err.Error()
}

// scopeOf is the scope of a file. The user's directory has only one.
func scopeOf(user bool, name string) Scope {
	switch {
	case user:
		return User
	case isLocal(name):
		return ProjectLocal
	}
	return Project
}

func isLocal(name string) bool { return strings.HasSuffix(name, localSuffix+suffix) }

// read reads one file. One that vanished meanwhile is none.
func (s *Set) read(path string, scope Scope) {
	src := newSource(path)
	src.agent.Scope = scope
	src.agent.GitManaged = scope == Project
	src.rank = 2 * slices.Index(Scopes(), scope)
	if isLocal(path) {
		src.rank++ // behind its namesake also where that is no scope of its own
	}
	if !src.unused {
		data, err := fsx.ReadFile(path, MaxSize)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil:
			src.fail(0, "%s", reason(err))
		default:
			src.parse(data)
		}
	}
	s.sources = append(s.sources, src)
}

// settle makes the entries of the files: one for each name.
func (s *Set) settle() {
	slices.SortFunc(s.sources, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.agent.Path, b.agent.Path))
	})
	entries := make(map[string]*source, len(s.sources))
	for _, src := range s.sources {
		if src.unused {
			continue
		}
		name := src.agent.Name
		if before := entries[name]; before != nil {
			src.agent.Shadowed = append([]string{before.agent.Path}, before.agent.Shadowed...)
			if before.agent.Scope == src.agent.Scope {
				before.fail(max(before.lines[keyName], 1), "the name %s is also that of %s, which is used", name, src.agent.Path)
			}
		}
		entries[name] = src
	}
	for _, src := range entries {
		s.Agents = append(s.Agents, src.agent)
	}
	slices.SortFunc(s.Agents, func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
	for _, src := range s.sources {
		for _, p := range src.findings {
			if p.Severity == Error {
				s.Problems = append(s.Problems, p)
			}
		}
	}
	sortProblems(s.Problems)
}

func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}

// Names returns the names of the agents, sorted.
func (s *Set) Names() []string {
	names := make([]string, len(s.Agents))
	for i, a := range s.Agents {
		names[i] = a.Name
	}
	return names
}

// Has reports whether there is an agent of that name.
func (s *Set) Has(name string) bool {
	return slices.ContainsFunc(s.Agents, func(a Agent) bool { return a.Name == name })
}

// Resolve returns the agent of that name. The error has code not_found; it says
// which agents there are, and why a file that would define this one is not
// used.
func (s *Set) Resolve(name string) (Agent, error) {
	for _, a := range s.Agents {
		if a.Name == name {
			return a, nil
		}
	}
	err := errs.New(errs.NotFound, "there is no agent %q, %s", clip(name), s.thereAre()).WithDetail("agents", s.Names())
	switch broken := s.Broken(name); {
	case len(broken) > 0:
		err.Msg = fmt.Sprintf("the agent %s cannot be used, %v", name, broken[0])
		return Agent{}, err.WithHint("teams agents check")
	case fsx.CheckHandle(name) == nil:
		return Agent{}, err.WithHint("teams agents new %s", name)
	}
	return Agent{}, err.WithHint("teams agents")
}

func (s *Set) thereAre() string {
	if len(s.Agents) == 0 {
		return "none is defined"
	}
	return "there are " + strings.Join(s.Names(), ", ")
}

// clip keeps a message about an endless name readable.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Broken returns the problems of the files that would define the agent name,
// in the order of precedence, the one that would win first.
func (s *Set) Broken(name string) []Problem {
	var out []Problem
	if name == "" {
		return nil
	}
	for _, src := range slices.Backward(s.sources) {
		if src.agent.Name != name && (src.agent.Name != "" || src.fallback != name) {
			continue
		}
		for _, p := range src.findings {
			if p.Severity == Error {
				out = append(out, p)
				break
			}
		}
	}
	return out
}
