package team

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/inbox"
)

// kickoffFile is the first message of a resident that was given something to do.
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

// introduction tells a teammate who it is. For pi it stands before the first
// message of a life: the system prompt is the same for all of one role, so that
// it can be cached.
func introduction(tm *Teammate) string {
	return "You are " + tm.Name + ", a teammate of role " + tm.Agent + ".\n\n"
}

// kickoff is the first message of a teammate that was given something to do. A pi
// has the guidance and its role as system prompt.
func kickoff(tm *Teammate, a *agentdefs.Agent, text string) string {
	if tm.SessionFile != "" {
		return introduction(tm) + text
	}
	var b strings.Builder
	b.WriteString(introduction(tm))
	b.WriteString(rolePrompt(a))
	b.WriteString("\n# What to do now\n\n" + strings.TrimRight(text, "\n") + "\n")
	return b.String()
}

// promptText is what a pi or a program in a pane gets: the first message of its
// life as it is, since it is the leader's own words, and everything else in the
// form for agents. The first that a pi gets says who it is.
func (h *host) promptText(list []*inbox.Message) string {
	kick := slices.ContainsFunc(list, func(m *inbox.Message) bool { return m.From == LeaderName && m.Event == eventKickoff })
	if kick && len(list) == 1 {
		return string(list[0].Body)
	}
	var b strings.Builder
	h.mu.Lock()
	if !kick && !h.named && h.tm.SessionFile != "" {
		b.WriteString(introduction(&h.tm))
	}
	h.mu.Unlock()
	for _, m := range list {
		b.WriteString(m.AgentText())
	}
	return b.String()
}

// introduced notes that pi was told who it is.
func (h *host) introduced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.named = true
}
