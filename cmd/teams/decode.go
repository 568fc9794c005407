package main

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode sets the fields of a grammar: to their defaults, then to what the
// arguments say. Flags may stand anywhere among args; literal are arguments
// that are never flags. The error is in words for the user.
func (g *grammar) decode(args, literal []string) error {
	for _, list := range [][]*value{g.flags, g.args} {
		for _, v := range list {
			if err := v.reset(); err != nil {
				return err
			}
		}
	}
	var words []string
	for i := 0; i < len(args); i++ {
		if !isFlag(args[i]) {
			words = append(words, args[i])
			continue
		}
		used, err := g.decodeFlag(args[i], args[i+1:])
		if err != nil {
			return err
		}
		i += used
	}
	if err := g.decodeWords(append(words, literal...)); err != nil {
		return err
	}
	return g.missing()
}

// reset gives a field its default, or its zero value.
func (v *value) reset() error {
	v.target.SetZero()
	v.set = false
	def, ok := v.tag.Lookup("default")
	if !ok {
		return nil
	}
	err := v.decode(def)
	v.set = false
	return err
}

// decodeFlag decodes a flag, or several short ones in one argument, and says
// how many of the arguments behind it were its value.
func (g *grammar) decodeFlag(arg string, next []string) (used int, err error) {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, text, attached := strings.Cut(long, "=")
		f := g.flag(name)
		switch {
		case f == nil:
			return 0, g.unknownFlag("--" + name)
		case attached:
			return 0, f.decode(text)
		case f.isBool():
			return 0, f.decode("true")
		}
		return f.decodeNext(next)
	}
	for i, short := range arg[1:] {
		f := g.shortFlag(short)
		switch {
		case f == nil:
			return 0, g.unknownFlag("-" + string(short))
		case f.isBool():
			if err := f.decode("true"); err != nil {
				return 0, err
			}
			continue
		}
		if rest := arg[1+i+utf8.RuneLen(short):]; rest != "" {
			return 0, f.decode(rest)
		}
		return f.decodeNext(next)
	}
	return 0, nil
}

// decodeNext decodes the flag whose value is the next argument.
func (v *value) decodeNext(next []string) (used int, err error) {
	switch {
	case len(next) == 0:
		return 0, fmt.Errorf("%s needs a value", v.label())
	case isFlag(next[0]):
		return 0, fmt.Errorf("%s needs a value and not %q", v.label(), next[0])
	}
	return 1, v.decode(next[0])
}

// decodeWords decodes the arguments that are no flags.
func (g *grammar) decodeWords(words []string) error {
	for _, v := range g.args {
		if len(words) == 0 {
			return nil
		}
		if !v.isList() {
			if err := v.decode(words[0]); err != nil {
				return err
			}
			words = words[1:]
			continue
		}
		for _, word := range words {
			if err := v.add(word); err != nil {
				return err
			}
		}
		words = nil
	}
	if len(words) > 0 {
		return errors.New(unexpectedArgument + words[0])
	}
	return nil
}

// missing reports what is required and was not given.
func (g *grammar) missing() error {
	var names []string
	for _, list := range [][]*value{g.flags, g.args} {
		for _, v := range list {
			if !v.required || v.set {
				continue
			}
			name := v.label()
			if v.isList() {
				name += "…"
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return errors.New("missing " + strings.Join(names, " "))
}

// unknownFlag is the error for a flag that there is none of, with those that
// are spelled like it.
func (g *grammar) unknownFlag(flag string) error {
	var near []string
	for _, f := range g.flags {
		names := []string{"--" + f.name}
		if f.short != 0 {
			names = append(names, "-"+string(f.short))
		}
		for _, name := range names {
			if strings.HasPrefix(name, flag) || distance(name, flag) <= 2 {
				near = append(near, strconv.Quote(name))
			}
		}
	}
	switch len(near) {
	case 0:
		return fmt.Errorf("unknown flag %s", flag)
	case 1:
		return fmt.Errorf("unknown flag %s, did you mean %s?", flag, near[0])
	}
	return fmt.Errorf("unknown flag %s, did you mean one of %s?", flag, strings.Join(near, ", "))
}

// decode sets the field to the value of one flag or argument; a list gets what
// the text holds, separated, behind what it has.
func (v *value) decode(text string) error {
	if !v.isList() {
		return v.store(v.target, text)
	}
	if v.target.Kind() == reflect.Pointer && text == "" {
		v.list() // there, and empty
		return nil
	}
	for _, item := range splitEscaped(text, v.sep()) {
		if err := v.add(item); err != nil {
			return err
		}
	}
	v.list()
	return nil
}

// add adds one item to a list.
func (v *value) add(text string) error {
	list := v.list()
	item := reflect.New(list.Type().Elem()).Elem()
	if err := v.store(item, text); err != nil {
		return err
	}
	list.Set(reflect.Append(list, item))
	return nil
}

// list returns the slice of a list, made if there is none yet; the first call
// after a reset drops the default.
func (v *value) list() reflect.Value {
	t, s := v.target.Type(), v.target
	if t.Kind() == reflect.Pointer {
		if !v.set {
			s.Set(reflect.New(t.Elem()))
		}
		s = s.Elem()
	} else if !v.set {
		s.Set(reflect.MakeSlice(t, 0, 0))
	}
	v.set = true
	return s
}

// store decodes one text into target, which is the field or an item of it.
func (v *value) store(target reflect.Value, text string) error {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	if u, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s: %w", v.label(), err)
		}
	} else if err := v.storeKind(target, text); err != nil {
		return err
	}
	v.set = true
	return v.checkChoice(text)
}

func (v *value) storeKind(target reflect.Value, text string) error {
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "1", "yes":
			target.SetBool(true)
		case "false", "0", "no":
			target.SetBool(false)
		default:
			return fmt.Errorf("%s must be true or false and not %q", v.label(), text)
		}
	default:
		n, err := strconv.ParseInt(text, 0, target.Type().Bits())
		if err != nil {
			return fmt.Errorf("%s needs a whole number and not %q", v.label(), text)
		}
		target.SetInt(n)
	}
	return nil
}

func (v *value) checkChoice(text string) error {
	choices := v.choices()
	if choices == nil {
		return nil
	}
	for _, c := range choices {
		if c == text {
			return nil
		}
	}
	return fmt.Errorf("%s must be one of %s and not %q", v.label(), strings.Join(choices, ", "), text)
}

// decodable reports whether store knows what to do with a field's type.
func decodable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isListType(t) {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return true
	}
	return unmarshalsText(t)
}

func unmarshalsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// splitEscaped splits text at sep, but not where a backslash stands before it. A
// sep of 0 separates nothing. An empty text holds nothing.
func splitEscaped(text string, sep byte) []string {
	if sep == 0 {
		return []string{text}
	}
	var out []string
	var item []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != sep {
				item = append(item, c)
			}
			item = append(item, text[i])
		case c == sep:
			out = append(out, string(item))
			item = item[:0]
		default:
			item = append(item, c)
		}
	}
	if len(item) > 0 {
		out = append(out, string(item))
	}
	return out
}
