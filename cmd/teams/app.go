package main

import (
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// Main runs one command line and returns the exit code. It prints to stdout and
// stderr only, and ends the process itself only when a command hangs after a
// panic.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := newEnv(stdin, stdout, stderr)
	return e.conclude(e.guard(func() error { return e.dispatch(args) }))
}

// guard makes an error of a panic in f.
func (e *Env) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e.takeResult()
			err = e.panicError(v)
		}
	}()
	return f()
}

// dispatch finds the verb and runs it.
func (e *Env) dispatch(args []string) (err error) {
	e.args = args
	cl := splitArgs(args)
	e.JSON = wantsJSON(cl.head)
	cl.head = versionFlag(cl.head)
	inv := find(cl.head)
	if inv.stuck {
		return unknown(inv)
	}
	if wantsHelp(cl.head) {
		return e.help(inv.path)
	}
	if inv.entry == nil {
		return e.incomplete(inv.path)
	}
	if e.JSON && inv.entry.NoJSON {
		return errs.New(errs.Usage, "%s cannot be used with --json, it prints text only", inv.path).
			WithHint("teams %s --help", inv.path)
	}
	e.Verb = inv.path
	cmd := inv.entry.New()
	plain := e.readPlain(inv.entry, cmd, inv.args, cl)
	if plain {
		err = check(inv.entry, cmd)
	} else {
		err = e.parse(inv.entry, cmd, inv.args, cl)
	}
	if err != nil {
		return err
	}
	if !plain || !inv.entry.Bare {
		switch {
		case inv.entry.OwnSignals:
		case inv.entry.Quick:
			// A large board is read once, and then the program ends.
			debug.SetGCPercent(400)
			e.handleSignalsSoon()
		default:
			e.HandleSignals()
		}
	}
	if err := e.enterDir(); err != nil {
		return err
	}
	return cmd.Run(e.ctx, e)
}

// versionFlag makes the verb version of --version in its place.
func versionFlag(head []string) []string {
	for i := 0; i < len(head); {
		n := globalFlag("", head[i])
		if n == 0 {
			if head[i] == "--version" {
				head = slices.Clone(head)
				head[i] = versionEntry.Path
			}
			break
		}
		i += n
	}
	return head
}

// readPlain reads a command line that is too simple to need a grammar: global
// flags, and words that the command takes as they are. It answers false for any
// other, which is then for the grammar to read.
func (e *Env) readPlain(entry *Entry, cmd Command, args []string, cl commandLine) bool {
	if cl.dashes {
		return false
	}
	rest := scanGlobals(&e.Globals, args)
	if entry.Bare {
		return len(rest) == 0
	}
	reader, ok := cmd.(plainReader)
	return ok && reader.ReadPlain(rest)
}

// hasFlag reports whether there is a flag among arguments.
func hasFlag(args []string) bool { return slices.ContainsFunc(args, isFlag) }

// cutFlag takes a flag and its value out of arguments, for a ReadPlain. The
// value is "" when the flag is not there. It answers false when it stands there
// in a way that needs the grammar: twice, or without a value.
func cutFlag(args []string, flag string) (value string, rest []string, ok bool) {
	found := false
	for i := 0; i < len(args); i++ {
		name, attached, isAttached := strings.Cut(args[i], "=")
		if name != flag {
			rest = append(rest, args[i])
			continue
		}
		switch {
		case found:
			return "", nil, false
		case isAttached:
			value = attached
		case i+1 == len(args) || isFlag(args[i+1]):
			return "", nil, false
		default:
			i++
			value = args[i]
		}
		found = true
	}
	return value, rest, true
}

// enterDir carries out -C.
func (e *Env) enterDir() error {
	if e.Dir == "" {
		return nil
	}
	if err := os.Chdir(e.Dir); err != nil {
		return errs.New(errs.Unusable, "cannot change to %s, %w", e.Dir, rootCause(err))
	}
	return nil
}

// unknown is the error for a word that is no command, or for a flag where only
// global ones may stand.
func unknown(inv invocation) error {
	if isFlag(inv.word) {
		hint := "teams --help"
		what := "a command"
		if inv.path != "" {
			hint = "teams " + inv.path + " --help"
			what = "the rest of the command"
		}
		return errs.New(errs.Usage, "unknown flag %s, before %s only global flags may stand", inv.word, what).
			WithHint("%s", hint)
	}
	path := inv.word
	if inv.path != "" {
		path = inv.path + " " + inv.word
	}
	err := errs.New(errs.Usage, "unknown command %q, there is none of that name", path)
	if near := nearest(inv.path, inv.word); near != "" {
		return err.WithHint("teams %s --help", near)
	}
	return err.WithHint("%s", strings.TrimSpace("teams "+inv.path)+" --help")
}

// incomplete is the error for a command line without a verb, or with the first
// words of one only. For people it lists what could follow.
func (e *Env) incomplete(path string) error {
	if !e.JSON {
		w := e.writer()
		writeShort(w, path)
		io.WriteString(e.stderr, w.String())
	}
	if path == "" {
		return errs.New(errs.Usage, "no command given, one must follow").WithHint("teams --help")
	}
	names := make([]string, 0, 8)
	for _, c := range children(path) {
		names = append(names, c.Path)
	}
	return errs.New(errs.Usage, "%q is no command yet, a word must follow", path).
		WithHint("teams %s --help", path).WithDetail("commands", names)
}
