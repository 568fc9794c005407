package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// kongGrammar is what kong reads for one command.
type kongGrammar struct {
	Globals
	Cmd Command `embed:""`
}

// kongList reads a flag of type *[]string as grammar does; kong on its own
// keeps the last value only.
type kongList struct{}

func (kongList) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("string", &text); err != nil {
		return err
	}
	list := target.Interface().(*[]string)
	if text != "" {
		*list = append(*list, kong.SplitEscaped(text, ctx.Value.Tag.Sep)...)
	}
	return nil
}

func newKong(t *testing.T, g *kongGrammar) *kong.Kong {
	t.Helper()
	parser, err := kong.New(g, kong.Name("teams"), kong.NoDefaultHelp(), kong.Writers(io.Discard, io.Discard),
		kong.TypeMapper(reflect.TypeFor[*[]string](), kongList{}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// everyEntry runs f for each command, the test commands included.
func everyEntry(t *testing.T, f func(t *testing.T, entry *Entry)) {
	for _, entry := range append(append([]*Entry{}, registry...), testEntries...) {
		t.Run(strings.ReplaceAll(entry.Path, " ", "_"), func(t *testing.T) { f(t, entry) })
	}
}

// The tags mean what they mean to kong.
func TestGrammarIsThatOfKong(t *testing.T) {
	everyEntry(t, func(t *testing.T, entry *Entry) {
		node := newKong(t, &kongGrammar{Cmd: entry.New()}).Model.Node
		g, err := newGrammar(new(Globals), entry.New())
		if err != nil {
			t.Fatal(err)
		}
		if len(g.flags) != len(node.Flags) || len(g.args) != len(node.Positional) {
			t.Fatalf("%d flags and %d arguments, kong has %d and %d", len(g.flags), len(g.args), len(node.Flags), len(node.Positional))
		}
		describe := func(name string, short rune, required, isBool, isList bool, def string, choices []string, sep byte, help string) string {
			return fmt.Sprintf("%s -%c required=%t bool=%t list=%t default=%q choices=%q sep=%d help=%q", name, short, required, isBool, isList, def, choices, sep, help)
		}
		compare := func(v *value, k *kong.Value, short rune) {
			t.Helper()
			var choices []string
			if k.Enum != "" {
				choices = k.EnumSlice()
			}
			list := k.IsSlice() || k.Target.Type() == reflect.TypeFor[*[]string]()
			sep := byte(max(k.Tag.Sep, 0))
			help := strings.ReplaceAll(v.tag.Get("help"), "$$", "$") // kong's way to write a $
			want := describe(k.Name, short, k.Required, k.IsBool(), list, k.Default, choices, sep, k.Help)
			if got := describe(v.name, v.short, v.required, v.isBool(), v.isList(), v.tag.Get("default"), v.choices(), v.sep(), help); got != want {
				t.Errorf("%s\nkong: %s", got, want)
			}
		}
		for i, f := range g.flags {
			compare(f, node.Flags[i].Value, node.Flags[i].Short)
		}
		for i, a := range g.args {
			compare(a, node.Positional[i], 0)
		}
	})
}

// What kong reads, we read, with the same values; what it refuses, we refuse.
func TestGrammarReadsLikeKong(t *testing.T) {
	const lines = 150
	everyEntry(t, func(t *testing.T, entry *Entry) {
		rng := rand.New(rand.NewPCG(1, uint64(len(entry.Path))))
		read := 0
		for range lines {
			ours, theirs := entry.New(), entry.New()
			var globals Globals
			g, err := newGrammar(&globals, ours)
			if err != nil {
				t.Fatal(err)
			}
			flags, words := randomLine(rng, g)
			k := kongGrammar{Cmd: theirs}
			_, kongErr := newKong(t, &k).Parse(append(append(append([]string{}, flags...), "--"), words...))
			ourErr := g.decode(flags, words)
			if (ourErr == nil) != (kongErr == nil) {
				t.Fatalf("%q -- %q\nwe:   %v\nkong: %v", flags, words, ourErr, kongErr)
			}
			if ourErr != nil {
				continue
			}
			read++
			if !reflect.DeepEqual(ours, theirs) || globals != k.Globals {
				t.Fatalf("%q -- %q\nwe:   %+v %+v\nkong: %+v %+v", flags, words, ours, globals, theirs, k.Globals)
			}
		}
		if read < lines/20 {
			t.Errorf("only %d of %d lines were right", read, lines)
		}
	})
}

// randomLine makes the flags and the arguments of a command line, most of them
// right.
func randomLine(rng *rand.Rand, g *grammar) (flags, words []string) {
	for range rng.IntN(4) {
		f := g.flags[rng.IntN(len(g.flags))]
		name := "--" + f.name
		switch {
		case rng.IntN(40) == 0:
			flags = append(flags, "--no-such-flag")
		case f.isBool() && f.short != 0 && rng.IntN(2) == 0:
			flags = append(flags, "-"+string(f.short))
		case f.isBool() && rng.IntN(3) == 0:
			flags = append(flags, name+"="+pick(rng, "true", "yes", "1", "No", "false", "0", "maybe"))
		case f.isBool():
			flags = append(flags, name)
		case f.short != 0 && rng.IntN(2) == 0:
			flags = append(flags, "-"+string(f.short)+pick(rng, "3", "x", "=3", "a,b", "5m"))
		case rng.IntN(2) == 0:
			flags = append(flags, name+"="+randomText(rng, f))
		default:
			flags = append(flags, name, randomText(rng, f))
		}
	}
	if rng.IntN(30) == 0 {
		flags = append(flags, "--"+g.flags[rng.IntN(len(g.flags))].name)
	}
	for _, a := range g.args {
		for n := rng.IntN(3); n > 0; n-- {
			words = append(words, randomText(rng, a))
		}
		if len(words) == 0 && rng.IntN(4) > 0 {
			words = append(words, randomText(rng, a))
		}
	}
	return flags, words
}

// randomText is a value for a flag or an argument, mostly of its kind.
func randomText(rng *rand.Rand, v *value) string {
	if c := v.choices(); c != nil && rng.IntN(4) > 0 {
		return pick(rng, c...)
	}
	t := v.target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if rng.IntN(8) > 0 {
		switch {
		case t == reflect.TypeFor[Duration]():
			return pick(rng, "0", "5m", "1d12h", "250ms")
		case t.Kind() == reflect.Int:
			return pick(rng, strconv.Itoa(rng.IntN(9)), "0x10", "+3", "1_000")
		}
	}
	return pick(rng, "x", "a,b", `a\,b`, `a\b,`, ",", "é", "", "30", "a=b", "99999999999999999999")
}

func pick(rng *rand.Rand, list ...string) string { return list[rng.IntN(len(list))] }
