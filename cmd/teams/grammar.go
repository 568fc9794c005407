package main

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

// grammar is what can stand on the command line of one command: its own flags
// and arguments and the global flags.
//
// It is described by the tags of kong, and read as kong reads it, which the
// tests compare. kong itself is not linked: it brings package os/user, and with
// it cgo, so that every start would load the C library, which takes longer than
// all the rest of a start. Of its tags these are known: name, short, help,
// placeholder, default, enum, sep, arg, optional, required and hidden, and
// kong:"-"; "complete" is our own.
type grammar struct {
	flags []*value
	args  []*value
}

// value is one flag or argument. What only help needs is read from the tag when
// it is asked for.
type value struct {
	name     string
	short    rune // 0: none
	arg      bool // an argument, not a flag
	required bool
	set      bool // it was on the command line
	tag      reflect.StructTag
	target   reflect.Value
}

// newGrammar reads the fields of the structs that it is given pointers to.
func newGrammar(structs ...any) (*grammar, error) {
	g := new(grammar)
	for _, s := range structs {
		if err := g.add(reflect.ValueOf(s).Elem()); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add adds the fields of one struct and of those embedded in it.
func (g *grammar) add(s reflect.Value) error {
	t := s.Type()
	for i := range t.NumField() {
		f, target := t.Field(i), s.Field(i)
		if f.Anonymous && target.Kind() == reflect.Struct {
			if err := g.add(target); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || f.Tag.Get("kong") == "-" {
			continue
		}
		v := &value{name: f.Tag.Get("name"), tag: f.Tag, target: target}
		if v.name == "" {
			v.name = flagName(f.Name)
		}
		if !decodable(f.Type) {
			return errs.New(errs.Internal, "the grammar is wrong, nothing decodes the type of %s.%s", t.Name(), f.Name)
		}
		v.arg = v.has("arg")
		if v.arg {
			v.required = !v.has("optional") && !v.has("default")
			g.args = append(g.args, v)
			continue
		}
		v.required = v.has("required")
		v.short, _ = utf8.DecodeRuneInString(f.Tag.Get("short"))
		if v.short == utf8.RuneError {
			v.short = 0
		}
		if g.flag(v.name) != nil || v.short != 0 && g.shortFlag(v.short) != nil {
			return errs.New(errs.Internal, "the grammar is wrong, there are two flags --%s", v.name)
		}
		g.flags = append(g.flags, v)
	}
	return nil
}

// flag returns the flag of a long name, nil when there is none.
func (g *grammar) flag(name string) *value {
	for _, f := range g.flags {
		if f.name == name {
			return f
		}
	}
	return nil
}

// shortFlag returns the flag of a short name, nil when there is none.
func (g *grammar) shortFlag(short rune) *value {
	for _, f := range g.flags {
		if f.short == short {
			return f
		}
	}
	return nil
}

func (v *value) has(key string) bool {
	_, ok := v.tag.Lookup(key)
	return ok
}

// choices are the values that are allowed; nil: any.
func (v *value) choices() []string {
	enum := v.tag.Get("enum")
	if enum == "" {
		return nil
	}
	list := strings.Split(enum, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// sep is what separates several values in one argument; 0: nothing does.
func (v *value) sep() byte {
	switch s := v.tag.Get("sep"); s {
	case "":
		return ','
	case "none":
		return 0
	default:
		return s[0]
	}
}

// isBool reports whether it is a switch, which takes no value.
func (v *value) isBool() bool {
	t := v.target.Type()
	return t.Kind() == reflect.Bool || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Bool
}

// isList reports whether it takes several values. A list behind a pointer is
// nil when it is absent, and empty for an empty value.
func (v *value) isList() bool { return isListType(v.target.Type()) }

func isListType(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Slice && !unmarshalsText(t)
}

// label is how people are told of it.
func (v *value) label() string {
	if v.arg {
		return strings.ToUpper(v.name)
	}
	return "--" + v.name
}

// flagName makes the name of a flag of that of a field: LockTimeout becomes
// lock-timeout, and OptID opt-id.
func flagName(field string) string {
	class := func(c byte) int {
		switch r := rune(c); {
		case unicode.IsLower(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		}
		return 3
	}
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if i > 0 {
			before, here := class(field[i-1]), class(field[i])
			ends := i+1 < len(field) && here == 2 && class(field[i+1]) == 1 // the last capital begins the next word
			if before != here && !(before == 2 && here == 1) || before == 2 && ends {
				b.WriteByte('-')
			}
		}
		b.WriteRune(unicode.ToLower(rune(field[i])))
	}
	return b.String()
}

// parse reads the arguments into cmd and the global flags.
func (e *Env) parse(entry *Entry, cmd Command, args []string, cl commandLine) error {
	var globals Globals
	g, err := newGrammar(&globals, cmd)
	if err != nil {
		return err
	}
	literal := cl.tail
	taker, takes := cmd.(commandTaker)
	if takes {
		literal = nil
	}
	if err := g.decode(args, literal); err != nil {
		return usageError(entry, err.Error())
	}
	if err := checkGlobals(g); err != nil {
		return err
	}
	e.Globals = globals
	if takes && cl.dashes {
		taker.SetCommand(cl.tail)
	}
	if c, ok := cmd.(checker); ok {
		if err := c.Check(); err != nil {
			if errs.CodeOf(err) != errs.Failure {
				return err
			}
			return usageError(entry, err.Error())
		}
	}
	return nil
}

// checkGlobals refuses a global flag that was given the empty text: a script
// whose variable is empty would quietly work on something else.
func checkGlobals(g *grammar) error {
	for _, f := range g.flags {
		if f.set && f.target.Kind() == reflect.String && f.target.Len() == 0 && isGlobal(f.name) {
			return errs.New(errs.Usage, "--%s needs a value, it is empty", f.name)
		}
	}
	return nil
}

func isGlobal(name string) bool { return globalFlag("", "--"+name) > 0 }

// unexpectedArgument begins the message about an argument too many.
const unexpectedArgument = "unexpected argument "

// usageError makes the error for a command line that the grammar refuses.
func usageError(entry *Entry, msg string) error {
	err := errs.New(errs.Usage, "wrong usage of %s, %s", entry.Path, msg)
	if word, ok := strings.CutPrefix(msg, unexpectedArgument); ok && isPrefix(entry.Path) {
		if near := nearest(entry.Path, word); near != "" {
			return err.WithHint("teams %s --help", near)
		}
	}
	return err.WithHint("teams %s --help", entry.Path)
}
