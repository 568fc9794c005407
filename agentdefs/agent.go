package agentdefs

import (
	"path/filepath"
	"strconv"
)

// Scope says where a definition comes from.
type Scope string

// The scopes, in the order of precedence: a later one wins.
const (
	User         Scope = "user"          // <root>/agents/*.md
	Project      Scope = "project"       // <project>/.pi/agents/<name>.md, meant to be committed
	ProjectLocal Scope = "project-local" // <project>/.pi/agents/<name>.local.md, one's own
)

// Scopes returns the scopes in the order of precedence.
func Scopes() []Scope { return []Scope{User, Project, ProjectLocal} }

// Dirs are the two directories below which definitions lie. An empty one has
// none.
type Dirs struct {
	Root    string // the Pi agent directory
	Project string // the project's directory
}

// Dir returns the directory of a scope, "" when there is none.
func (d Dirs) Dir(s Scope) string {
	switch {
	case s == User && d.Root != "":
		return filepath.Join(d.Root, "agents")
	case s != User && d.Project != "":
		return filepath.Join(d.Project, ".pi", "agents")
	}
	return ""
}

// Path returns the file in which [Create] puts the agent name, "" when the
// scope has no directory.
func (d Dirs) Path(s Scope, name string) string {
	dir := d.Dir(s)
	switch {
	case dir == "":
		return ""
	case s == ProjectLocal:
		name += localSuffix
	}
	return filepath.Join(dir, name+suffix)
}

// The ends of the names of definitions.
const (
	suffix      = ".md"
	localSuffix = ".local"
)

// Agent is one definition.
type Agent struct {
	Name        string   `json:"name"`
	Scope       Scope    `json:"scope"`
	Path        string   `json:"path"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`      // never nil
	Model       string   `json:"model"`      // empty: that of the leader
	Verify      string   `json:"verify"`     // default gate of the role, a shell command; empty: none
	Worktree    bool     `json:"worktree"`   // each teammate of the role gets a git worktree
	GitManaged  bool     `json:"gitManaged"` // see [Set.AskGit]
	Shadowed    []string `json:"shadowed"`   // the files it is used instead of, the nearest first; never nil
	Prompt      string   `json:"prompt,omitempty"`
}

// Severity says what a [Problem] means for its file.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the file is not used
	Warning Severity = "warning" // it is used, perhaps not as it was meant
	Note    Severity = "note"    // it is no definition, and need not be one
)

// Problem is something to be said about a file. Its text is made from the
// file's, so it has to be made safe before a terminal sees it.
type Problem struct {
	Path     string   `json:"path"`
	Line     int      `json:"line"` // from 1; 0 when it is about the file as a whole
	Message  string   `json:"message"`
	Severity Severity `json:"severity"`
}

// String is path, line and message, as compilers write them.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Message
	}
	return p.Path + ":" + strconv.Itoa(p.Line) + ": " + p.Message
}
