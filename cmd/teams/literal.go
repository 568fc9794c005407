package main

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

// literals replaces arguments that kong must not look into by words without
// meaning, and puts them back into what kong decoded.
type literals struct {
	argv   []string // every argument of the command line
	mark   string   // begins every replacement and is part of no argument
	values []string
}

// hide returns args with every text that begins like a flag, and every text
// that is not UTF-8 (kong would alter it), replaced.
func (l *literals) hide(args []string) ([]string, error) {
	var out []string
	for i, a := range args {
		hidden := a
		switch {
		case isText(a):
			hidden = l.add(a)
		case utf8.ValidString(a):
		case !isFlag(a):
			hidden = l.add(a)
		case longFlagName(a) != "":
			name, value, _ := strings.Cut(a, "=")
			hidden = name + "=" + l.add(value)
		default:
			return nil, errs.New(errs.Usage, "argument %q cannot be read, it is not UTF-8", a)
		}
		if hidden != a && out == nil {
			out = append(make([]string, 0, len(args)), args...)
		}
		if out != nil {
			out[i] = hidden
		}
	}
	if out == nil {
		return args, nil
	}
	return out, nil
}

// hideAll returns args, which are all literal, with what is not UTF-8 replaced.
func (l *literals) hideAll(args []string) []string {
	out := args[:len(args):len(args)]
	for i, a := range args {
		if !utf8.ValidString(a) {
			out = append(append(out[:i:i], l.add(a)), args[i+1:]...)
		}
	}
	return out
}

func (l *literals) add(value string) string {
	if l.mark == "" {
		l.mark = "literal"
		for clash := true; clash; {
			clash = false
			for _, a := range l.argv {
				if strings.Contains(a, l.mark) {
					l.mark += "l"
					clash = true
				}
			}
		}
	}
	l.values = append(l.values, value)
	return l.name(len(l.values) - 1)
}

func (l *literals) name(i int) string {
	const digits = "0123456789abcdef"
	return l.mark + string([]byte{digits[i>>12&15], digits[i>>8&15], digits[i>>4&15], digits[i&15]})
}

// restore puts the hidden values back into s.
func (l *literals) restore(s string) string {
	if len(l.values) == 0 || !strings.Contains(s, l.mark) {
		return s
	}
	for i, v := range l.values {
		s = strings.ReplaceAll(s, l.name(i), v)
	}
	return s
}

// restoreIn puts the hidden values back into every string below v.
func (l *literals) restoreIn(v reflect.Value) {
	if len(l.values) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			l.restoreIn(v.Elem())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			l.restoreIn(v.Field(i))
		}
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			l.restoreIn(v.Index(i))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(l.restore(v.String()))
		}
	}
}
