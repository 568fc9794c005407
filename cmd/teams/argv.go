package main

import (
	"strings"
	"unicode"
)

// Globals are the flags that every verb takes, before or after its name.
type Globals struct {
	Session     string   `placeholder:"KEY" complete:"session" help:"Session key; else TEAMS_SESSION, else from the project."`
	As          string   `placeholder:"NAME" complete:"name" help:"Act as this teammate; else TEAMS_NAME."`
	Root        string   `placeholder:"DIR" complete:"dir" help:"Where all state lies; else TEAMS_ROOT, PI_CODING_AGENT_DIR, ~/.pi/agent."`
	Dir         string   `short:"C" placeholder:"DIR" complete:"dir" help:"Change to this directory first."`
	JSON        bool     `name:"json" help:"Print exactly one JSON value."`
	Expanded    bool     `short:"x" help:"Print the long form, with absolute times."`
	Quiet       bool     `short:"q" help:"Print ids only."`
	NoColor     bool     `help:"Print without colour, as with NO_COLOR."`
	LockTimeout Duration `default:"10s" placeholder:"D" help:"How long to wait for a lock."`
	ShowHelp    bool     `name:"help" short:"h" help:"Show help."`
}

// globalFlag returns how many arguments the flag arg takes up when it is a
// global one: 1, or 2 with its value, or 0 for anything else. path is the
// verb as far as it is known: some families have flags before the last word.
func globalFlag(path, arg string) int {
	name, _, attached := strings.Cut(arg, "=")
	switch name {
	case "--json", "--expanded", "--quiet", "--no-color", "--help":
		return 1
	case "--session", "--as", "--root", "--dir", "--lock-timeout":
	case "--socket":
		if path != "herdr" {
			return 0
		}
	default:
		if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' || isText(arg) {
			return 0
		}
		for i := 1; i < len(arg); i++ {
			switch arg[i] {
			case 'x', 'q', 'h':
			case 'C':
				if i == len(arg)-1 {
					return 2
				}
				return 1
			default:
				return 0
			}
		}
		return 1
	}
	if attached {
		return 1
	}
	return 2
}

// commandLine is argv cut at the first "--".
type commandLine struct {
	head   []string // before it
	tail   []string // after it
	dashes bool     // whether there was one
}

func splitArgs(args []string) commandLine {
	for i, a := range args {
		if a == "--" {
			return commandLine{head: args[:i], tail: args[i+1:], dashes: true}
		}
	}
	return commandLine{head: args}
}

// wantsJSON looks for --json before anything is parsed, because the errors of
// the parser are JSON too. The last one counts.
func wantsJSON(head []string) bool {
	json := false
	for _, a := range head {
		switch a {
		case "--json", "--json=true", "--json=1", "--json=yes":
			json = true
		case "--json=false", "--json=0", "--json=no":
			json = false
		}
	}
	return json
}

func wantsHelp(head []string) bool {
	for _, a := range head {
		if a == "--help" || a == "-h" {
			return true
		}
	}
	return false
}

// isText reports whether an argument that begins like a flag is meant as text:
// it holds white space, and is not --name=value.
func isText(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' || !strings.ContainsFunc(arg, unicode.IsSpace) {
		return false
	}
	return longFlagName(arg) == ""
}

// longFlagName returns the name of --name=value, "" when arg is not that.
func longFlagName(arg string) string {
	name, _, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	if !ok || !strings.HasPrefix(arg, "--") || name == "" || name[0] == '-' {
		return ""
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; (c < 'a' || c > 'z') && c != '-' {
			return ""
		}
	}
	return name
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && !isText(arg) }

// invocation is what the words of a command line name.
type invocation struct {
	path  string   // the words that are known
	entry *Entry   // nil: the path is only the beginning of commands
	args  []string // the arguments before "--" without those words
	stuck bool     // the entry is nil, and something that is not known follows
	word  string   // what follows then: a word, or a flag that is not global
}

// find reads the words of the command off the head of a command line: the
// longest path of the registry, with global flags anywhere between.
func find(head []string) invocation {
	var inv invocation
	i := 0
	for i < len(head) {
		a := head[i]
		if n := globalFlag(inv.path, a); n > 0 {
			end := min(i+n, len(head))
			inv.args = append(inv.args, head[i:end]...)
			i = end
			continue
		}
		next := a
		if inv.path != "" {
			next = inv.path + " " + a
		}
		if a == "" || isFlag(a) || strings.ContainsRune(a, ' ') || lookup(next) == nil && !isPrefix(next) {
			break
		}
		inv.path = next
		i++
	}
	inv.args = append(inv.args, head[i:]...)
	inv.entry = lookup(inv.path)
	if inv.entry == nil && i < len(head) {
		inv.stuck, inv.word = true, head[i]
	}
	return inv
}

// scanGlobals sets the global flags that stand in args and returns the other
// arguments. It is lenient: a value that is missing or wrong leaves its
// argument among the others.
func scanGlobals(g *Globals, args []string) (rest []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		n := globalFlag("", a)
		if n == 0 || i+n > len(args) || !g.set(a, args[i+n-1]) {
			rest = append(rest, a)
			continue
		}
		i += n - 1
	}
	return rest
}

// set sets one global flag; value is the argument that holds its value, the
// flag itself when the value is attached or there is none.
func (g *Globals) set(flag, value string) bool {
	name, attached, ok := strings.Cut(flag, "=")
	if ok {
		value = attached
	}
	switch name {
	case "--session":
		g.Session = value
	case "--as":
		g.As = value
	case "--root":
		g.Root = value
	case "--dir":
		g.Dir = value
	case "--lock-timeout":
		return g.LockTimeout.UnmarshalText([]byte(value)) == nil
	default:
		return !ok && g.setSwitches(flag, value)
	}
	return value != ""
}

// setSwitches sets the switches of a long flag or a cluster of short ones,
// which may end with -C.
func (g *Globals) setSwitches(flag, value string) bool {
	switch flag {
	case "--json":
		g.JSON = true
	case "--expanded":
		g.Expanded = true
	case "--quiet":
		g.Quiet = true
	case "--no-color":
		g.NoColor = true
	case "--help":
		g.ShowHelp = true
	default:
		for i := 1; i < len(flag); i++ {
			switch flag[i] {
			case 'x':
				g.Expanded = true
			case 'q':
				g.Quiet = true
			case 'h':
				g.ShowHelp = true
			case 'C':
				if i < len(flag)-1 {
					value = flag[i+1:]
				}
				g.Dir = value
				return value != ""
			}
		}
	}
	return true
}
