package agentdefs

import (
	"path/filepath"
	"slices"
	"strings"
)

// Check returns everything there is to say about the files, also those that are
// shadowed, sorted by path and line: the problems, what of a definition is
// probably not as it was meant, and which files are no definitions. That git
// tracks a personal definition is told only after [Set.AskGit].
func (s *Set) Check() []Problem {
	out := []Problem{}
	for _, p := range s.Problems {
		if !slices.ContainsFunc(s.sources, func(src *source) bool { return src.agent.Path == p.Path }) {
			out = append(out, p) // a directory
		}
	}
	for _, src := range s.sources {
		out = append(out, src.check()...)
		a := src.agent
		if a.Scope == ProjectLocal && s.tracked[a.Path] {
			out = append(out, Problem{a.Path, 0, "git tracks this personal definition; git rm --cached takes it out, and the file stays", Warning})
		}
	}
	sortProblems(out)
	return out
}

// check is Check for one file.
func (s *source) check() []Problem {
	c := &source{agent: s.agent, findings: slices.Clone(s.findings)}
	for _, cut := range s.cuts {
		c.warn(cut.line, "the %s ends before %q: an unquoted # after a space begins a comment; quote the value to keep it", cut.key, clip(cut.comment))
	}
	if !s.parsed {
		return c.findings
	}
	for _, e := range s.other {
		if meant := meantKey(e.key); meant != "" {
			c.warn(e.line, "the key %q is ignored; is %s meant?", e.key, meant)
		}
	}
	c.checkDescription(s)
	c.checkTools(s)
	c.checkPrompt(s)
	return c.findings
}

func (s *source) checkDescription(of *source) {
	if s.agent.Description == "" {
		s.warn(max(of.lines[keyDescription], 1), "there is no description, so nobody can tell when to use this agent")
	}
}

// checkTools looks at the tools, and for those that a read-only role must not
// have.
func (s *source) checkTools(of *source) {
	var writes []string
	for _, tool := range s.agent.Tools {
		if strings.ContainsAny(tool, " \t\n") && !strings.Contains(tool, "(") {
			s.warn(of.lines[keyTools], "the tool %q has a space in its name; tools are separated by commas", clip(tool))
		}
		if t := strings.ToLower(tool); t == "edit" || t == "write" {
			writes = append(writes, tool)
		}
	}
	if len(writes) == 0 {
		return
	}
	where := ""
	switch {
	case saysReadOnly(s.agent.Description):
		where = "description"
	case saysReadOnly(s.agent.Prompt):
		where = "body"
	default:
		return
	}
	s.warn(of.lines[keyTools], "the %s says read-only, but the tools have %s", where, strings.Join(writes, " and "))
}

func saysReadOnly(text string) bool {
	text = strings.ToLower(text)
	return containsAny(text, "read-only", "readonly", "read only", "read‑only")
}

// checkPrompt looks for the parts that every role needs. It looks for words,
// so it can be wrong both ways, and only warns.
func (s *source) checkPrompt(of *source) {
	if s.agent.Prompt == "" {
		s.warn(of.body, "the body is empty, so the agent has no role prompt")
		return
	}
	text := strings.ToLower(strings.ReplaceAll(s.agent.Prompt, "’", "'"))
	if !containsAny(text, "boundar", "do not", "don't", "never", "must not", "mustn't", "may not", "no edits", "outside", "out of scope",
		"off limits", "off-limits", "stay within", "forbidden", "change nothing", "without changing", "leave everything") {
		s.warn(of.body, "the body sets no boundary: it does not say what must never be touched or changed")
	}
	if !containsAny(text, "evidence", "exact path", "file and line", "file:line", "path:line", "line number", "output", "timestamp",
		"time stamp", "reproduc", "proof", "prove", "cite", "quote") {
		s.warn(of.body, "the body asks for no evidence: it does not say what every claim or finding has to carry")
	}
	if !containsAny(text, "terminal report", "terminal status", "final report", "last message", "final message", "--status", "status=",
		"status `completed`", "status completed", "teams submit", "task_submit") {
		s.warn(of.body, "the body asks for no terminal report: a last message to the leader with the status completed or failed")
	}
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// meantKey returns the key that other is a misspelling of, "" when it is
// something else.
func meantKey(other string) string {
	low := strings.ToLower(other)
	for _, key := range []string{keyName, keyDescription, keyTools, keyModel, keyVerify, keyWorktree} {
		if low == key || low+"s" == key || low == key+"s" || len(low) > 4 && oneOff(low, key) {
			return key
		}
	}
	return ""
}

// oneOff reports whether one letter was added, left out, changed or swapped
// with its neighbour.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}

// Directories returns the directories of the scopes, for a message.
func (s *Set) Directories() []string {
	var out []string
	for _, dir := range []string{s.dirs.Dir(User), s.dirs.Dir(Project)} {
		if dir != "" {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}
