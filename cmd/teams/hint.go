package main

import (
	"maps"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/team"
)

// hint makes the commands of a hint work as they are printed. Who writes a hint
// knows neither the global flags of this command line, which the next one needs
// as well, nor that the leader cannot claim without a name.
func (e *Env) hint(text string) string { return e.hintAs(text, e.As) }

// hintAs is hint for commands to be given as somebody else than --as said, ""
// for who the environment says.
func (e *Env) hintAs(text, name string) string {
	if strings.Contains(text, e.again()) {
		return text // it is this command line, flags and all
	}
	const program = "teams "
	parts := strings.Split(text, program)
	var out strings.Builder
	before := byte(' ')
	for i, part := range parts {
		if i > 0 {
			out.WriteString(program)
			if strings.IndexByte(" (`", before) >= 0 {
				n, flags := e.hintFlags(part, name)
				out.WriteString(part[:n] + flags)
				part = part[n:]
			}
			before = ' '
		}
		out.WriteString(part)
		if part != "" {
			before = part[len(part)-1]
		}
	}
	return out.String()
}

// hintFlags returns the flags that a command of a hint lacks, and where they go:
// after the verb and the ids that follow it. args is what follows the program's
// name, with whatever the hint says after the command.
func (e *Env) hintFlags(args, name string) (at int, flags string) {
	verb, at := hintVerb(args)
	if verb == "" || strings.HasPrefix(args[at:], " --help") {
		return 0, ""
	}
	for {
		n := hintID(args[at:])
		if n == 0 {
			break
		}
		at += n
	}
	add := func(flag, value string) {
		if value != "" && !strings.Contains(args, flag+" ") {
			flags += " " + flag + " " + shellWord(value)
		}
	}
	if actsByName(verb) {
		add("--as", e.hintName(verb, name))
	}
	add("--session", e.Session)
	add("--root", e.Root)
	add("-C", e.Dir)
	return at, flags
}

// hintVerb returns the verb that args begins with, "" when they are no command
// but text, and its length.
func hintVerb(args string) (verb string, n int) {
	for end := 0; end < len(args); {
		next := strings.IndexByte(args[end+1:], ' ')
		if next < 0 {
			next = len(args) - end - 1
		}
		end += 1 + next
		path := strings.TrimRight(args[:end], ",;:.)`")
		if lookup(path) != nil {
			verb, n = path, len(path)
		}
		if len(path) < end || !isPrefix(path) {
			break
		}
	}
	return verb, n
}

// hintID returns the length of an id of a task or a question at the beginning
// of s, with the space before it; 0 for anything else.
func hintID(s string) int {
	if !strings.HasPrefix(s, " t_") && !strings.HasPrefix(s, " q_") {
		return 0
	}
	n := 3
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'z') {
		n++
	}
	return n
}

// hintName is the name that a command needs after --as: what was given so, and
// some name for a claim that the leader is told of. One from the environment is
// there the next time too.
func (e *Env) hintName(verb, given string) string {
	name := given
	if name == "" {
		name = e.Getenv(team.EnvName)
	}
	if verb == claimEntry.Path && (name == "" || name == team.LeaderName) {
		return "w1"
	}
	return given
}

// actsByName reports whether a verb does what it does as the teammate of --as,
// or says what that one may do. Others have no use for the flag or refuse it.
func actsByName(verb string) bool {
	switch verb {
	case claimEntry.Path, renewEntry.Path, releaseEntry.Path, submitEntry.Path, workEntry.Path, taskWhyEntry.Path,
		sendEntry.Path, replyEntry.Path, inboxEntry.Path, recvEntry.Path, readEntry.Path, unreadEntry.Path,
		threadEntry.Path, sentEntry.Path, followEntry.Path, leaveEntry.Path, askEntry.Path:
		return true
	}
	return strings.HasPrefix(verb, "todo ")
}

// hintReasons is hint for the reasons that keep a task.
func (e *Env) hintReasons(list []fsboard.Reason, name string) []fsboard.Reason {
	out := make([]fsboard.Reason, len(list))
	for i, r := range list {
		r.Hint = e.hintAs(r.Hint, name)
		out[i] = r
	}
	return out
}

// hintDetails is hint for the details of an error.
func (e *Env) hintDetails(details map[string]any) map[string]any {
	details = maps.Clone(details)
	if list, ok := details["reasons"].([]fsboard.Reason); ok {
		details["reasons"] = e.hintReasons(list, e.As)
	}
	return details
}

// again is this command line as a shell reads it.
func (e *Env) again() string {
	line := "teams"
	for _, a := range e.args {
		line += " " + shellWord(a)
	}
	return line
}

// shellWord is one word for a shell, quoted only where it must be.
func shellWord(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte("_-./:=@,+%", c) < 0 {
			return team.Quote(s)
		}
	}
	if s == "" {
		return team.Quote(s)
	}
	return s
}
