package main

import (
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed6990a682/teams/internal/errs"
)

// grammar is what kong reads for one command: the command alone and the global
// flags, because kong builds everything it is given by reflection.
type grammar struct {
	Globals
	Cmd Command `embed:""`
}

// newParser builds the grammar of one command.
func newParser(entry *Entry, g *grammar) (*kong.Kong, error) {
	parser, err := kong.New(g,
		kong.Name("teams "+entry.Path),
		kong.NoDefaultHelp(),
		kong.Writers(io.Discard, io.Discard),
		kong.TypeMapper(reflect.TypeFor[*[]string](), optionalList{}),
	)
	if err != nil {
		return nil, errs.New(errs.Internal, "the grammar of %s is wrong, %w", entry.Path, err)
	}
	return parser, nil
}

// optionalList reads a flag of type *[]string: nil when it is absent, one list
// of all its values when it is repeated, an empty list for an empty value. kong
// on its own keeps the last value only.
type optionalList struct{}

// Decode implements kong.Mapper.
func (optionalList) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var value string
	if err := ctx.Scan.PopValueInto("string", &value); err != nil {
		return err
	}
	if target.IsNil() {
		target.Set(reflect.ValueOf(new([]string)))
	}
	list := target.Interface().(*[]string)
	if value != "" {
		*list = append(*list, kong.SplitEscaped(value, ctx.Value.Tag.Sep)...)
	}
	return nil
}

// isList reports whether a flag or argument takes several values.
func isList(v *kong.Value) bool {
	return v.IsSlice() || v.Target.Type() == reflect.TypeFor[*[]string]()
}

// parse reads the arguments into cmd and the global flags.
func (e *Env) parse(entry *Entry, cmd Command, args []string, cl commandLine) error {
	g := grammar{Cmd: cmd}
	parser, err := newParser(entry, &g)
	if err != nil {
		return err
	}
	lit := literals{argv: append(cl.head[:len(cl.head):len(cl.head)], cl.tail...)}
	if args, err = lit.hide(args); err != nil {
		return err
	}
	taker, takes := cmd.(commandTaker)
	var tail []string
	if !takes {
		tail = lit.hideAll(cl.tail)
	}
	if _, err := parser.Parse(reorder(parser.Model.Node, args, tail)); err != nil {
		return usageError(entry, lit.restore(err.Error()))
	}
	lit.restoreIn(reflect.ValueOf(cmd))
	lit.restoreIn(reflect.ValueOf(&g.Globals))
	if err := checkGlobals(parser.Model.Node); err != nil {
		return err
	}
	e.Globals = g.Globals
	if takes && cl.dashes {
		taker.SetCommand(cl.tail)
	}
	return check(entry, cmd)
}

// check runs the command's own checks of its fields.
func check(entry *Entry, cmd Command) error {
	c, ok := cmd.(checker)
	if !ok {
		return nil
	}
	err := c.Check()
	if err != nil && errs.CodeOf(err) == errs.Failure {
		return usageError(entry, err.Error())
	}
	return err
}

// checkGlobals refuses a global flag that was given the empty text: a script
// whose variable is empty would quietly work on something else.
func checkGlobals(node *kong.Node) error {
	for _, f := range node.Flags {
		if f.Set && f.Target.Kind() == reflect.String && f.Target.String() == "" && isGlobal(f.Name) {
			return errs.New(errs.Usage, "--%s needs a value, it is empty", f.Name)
		}
	}
	return nil
}

func isGlobal(name string) bool { return globalFlag("", "--"+name) > 0 }

// reorder puts the flags before the positional arguments, and "--" between
// them: a list of arguments may then have flags in its middle, which kong
// refuses. Without the value of a last flag it changes nothing, so that kong
// misses it.
func reorder(node *kong.Node, args, tail []string) []string {
	flags := make([]string, 0, len(args)+len(tail)+1)
	var rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !isFlag(a) {
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		if wantsValue(node, a) {
			if i+1 == len(args) {
				return args
			}
			i++
			flags = append(flags, args[i])
		}
	}
	if len(rest)+len(tail) == 0 {
		return flags
	}
	flags = append(flags, "--")
	flags = append(flags, rest...)
	return append(flags, tail...)
}

// wantsValue reports whether the value of the flag is the next argument.
func wantsValue(node *kong.Node, arg string) bool {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		for _, f := range node.Flags {
			if f.Name == long {
				return !f.IsBool()
			}
		}
		return false
	}
	for i, short := range arg[1:] {
		known := false
		for _, f := range node.Flags {
			if f.Short == short {
				if !f.IsBool() {
					return i+1 == len(arg)-1
				}
				known = true
			}
		}
		if !known {
			return false
		}
	}
	return false
}

// usageError makes the error for a command line that kong refuses.
func usageError(entry *Entry, msg string) error {
	err := errs.New(errs.Usage, "wrong usage of %s, %s", entry.Path, plainUsage(msg))
	if word, ok := strings.CutPrefix(msg, "unexpected argument "); ok && isPrefix(entry.Path) {
		if near := nearest(entry.Path, word); near != "" {
			return err.WithHint("teams %s --help", near)
		}
	}
	return err.WithHint("teams %s --help", entry.Path)
}

// plainUsage says what kong says in words for somebody who does not know its
// model.
func plainUsage(msg string) string {
	if args, ok := strings.CutPrefix(msg, "expected \""); ok {
		return "missing " + strings.ToUpper(plainArgument(args))
	}
	if what, choices, ok := strings.Cut(msg, " must be one of "); ok {
		choices, got, _ := strings.Cut(choices, " but got ")
		choices = strings.ReplaceAll(strings.ReplaceAll(choices, `"`, ""), ",", ", ")
		choices = strings.TrimPrefix(choices, ", ") // nothing, which is the default
		name := plainArgument(what)
		if !strings.HasPrefix(name, "--") {
			name = strings.ToUpper(name)
		}
		return name + " must be one of " + choices + " and not " + got
	}
	what, why, ok := strings.Cut(msg, ": ")
	if !ok || !strings.HasPrefix(what, "--") && !strings.Contains(what, "<") {
		return msg
	}
	what = plainArgument(what)
	if strings.HasPrefix(why, "missing value") || strings.Contains(why, " value but got ") {
		got := ""
		if _, rest, ok := strings.Cut(why, " value but got "); ok && !strings.HasPrefix(rest, `"EOL"`) {
			rest, _, _ = strings.Cut(rest, " (")
			got = " and not " + rest
		}
		return what + " needs a value" + got
	}
	if _, got, ok := strings.Cut(why, " int but got "); ok {
		return what + " needs a whole number and not " + got
	}
	return what + ": " + why
}

// plainArgument writes an argument without the brackets kong puts around it.
func plainArgument(s string) string {
	return strings.NewReplacer("<", "", ">", "", "[", "", "]", "", `"`, "", " ...", "…").Replace(s)
}
