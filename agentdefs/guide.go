package agentdefs

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed guide/*.md
var guides embed.FS

// guide returns one of the embedded texts.
func guide(name string) string {
	text, err := guides.ReadFile("guide/" + name + ".md")
	if err != nil {
		return "" // not possible: the file is part of the program
	}
	return string(text)
}

// LeaderGuide is the guidance for a leader. It is the same bytes as long as the
// agents are the same, so that it can stand in a prompt that is cached.
func LeaderGuide(s *Set) string {
	var b strings.Builder
	b.WriteString(guide("leader"))
	b.WriteString("\n## The roles there are\n\n")
	if len(s.Agents) == 0 {
		b.WriteString("None is defined yet. There are no built-in ones: make what you need.\n")
	}
	for _, a := range s.Agents {
		b.WriteString(a.guideLine())
	}
	if n := len(s.Problems); n > 0 {
		fmt.Fprintf(&b, "\n%s cannot be used: `teams agents check` says why.\n", countFiles(n))
	}
	return b.String()
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// guideLine is an agent as the leader is told of it.
func (a *Agent) guideLine() string {
	or := func(s, empty string) string {
		if s = fold(s); s == "" {
			return empty
		}
		return s
	}
	managed := "local"
	if a.GitManaged {
		managed = "git-managed"
	}
	worktree := "no"
	if a.Worktree {
		worktree = "yes"
	}
	return fmt.Sprintf("- %s (%s, %s): %s\n  tools: %s · model: %s · verify: %s · worktree: %s\n",
		a.Name, a.Scope, managed, or(a.Description, "no description"), or(strings.Join(a.Tools, ", "), "none"),
		or(a.Model, "inherit"), or(a.Verify, "none"), worktree)
}

// fold makes one line of a text.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// WorkerGuide is the guidance for a teammate, the same for all.
func WorkerGuide() string { return guide("worker") }

// RoleReference says how a role is built. It is no agent.
func RoleReference() string { return guide("roles") }
