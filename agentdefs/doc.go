// Package agentdefs reads, checks and writes the definitions of agents: the
// roles that teammates are started from.
//
// A definition is a Markdown file with YAML frontmatter; its body is the role
// prompt.
//
//	---
//	name: security-auditor
//	description: Read-only security review; use when authentication was changed
//	tools: read, bash
//	model: provider/model
//	verify: make test
//	worktree: true
//	---
//	You are the security-auditor agent. ...
//
// Every key may be missing; the name is then that of the file. Other keys are
// ignored.
//
// # Scopes
//
// Definitions lie in three scopes: user (<root>/agents/*.md), project
// (<project>/.pi/agents/<name>.md) and project-local
// (<project>/.pi/agents/<name>.local.md). [Discover] reads them all. Of several
// definitions of one name that of the last scope is the entry, and the others
// are listed as its shadowed files.
//
// # What is tolerated
//
// A byte order mark, CRLF, tabs, a missing final newline and any Unicode parse
// as they are meant. The block is strict YAML, in which no key may stand
// twice. Where it is no YAML, each key is read by itself, and only what still
// is none is taken as it stands, with a warning that names the line: so
// "description: Review: use when code changed" means what it says.
//
// A file that cannot be used spoils only itself: it is a [Problem] with path,
// line and reason, and whatever it would have shadowed is used.
//
// # What it costs
//
// Nothing is cached: a [Set] is what lay on disk when it was made. Files are
// bounded ([MaxSize]). Only [Set.AskGit] starts a program. All functions may
// be called by several processes at once; a Set is for one goroutine at a time.
package agentdefs
