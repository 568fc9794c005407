package team

import (
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/agentdefs"
)

// kickoffFile is the first message of a resident as it was given.
func (p Place) kickoffFile(name string) string { return filepath.Join(p.TeamDir(), name, "kickoff.md") }

// promptFile is what a resident is told at all times: the guidance and its role.
func (p Place) promptFile(name string) string { return filepath.Join(p.TeamDir(), name, "prompt.md") }

// rolePrompt is the guidance for a teammate and the prompt of its role. It is
// the same bytes for every teammate of one agent.
func rolePrompt(a *agentdefs.Agent) string {
	var b strings.Builder
	b.WriteString(agentdefs.WorkerGuide())
	b.WriteString("\n# Your role: " + a.Name + "\n\n")
	if a.Description != "" {
		b.WriteString(a.Description + "\n\n")
	}
	b.WriteString(strings.TrimSpace(a.Prompt) + "\n")
	return b.String()
}

// kickoff is the first message of a teammate that was given something to do.
func kickoff(tm *Teammate, a *agentdefs.Agent, text string) string {
	var b strings.Builder
	b.WriteString("You are " + tm.Name + ", a teammate of role " + tm.Agent + ".\n\n")
	b.WriteString(rolePrompt(a))
	b.WriteString("\n# What to do now\n\n" + strings.TrimRight(text, "\n") + "\n")
	return b.String()
}
