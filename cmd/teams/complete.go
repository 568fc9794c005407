package main

import (
	"context"
	"strings"
)

// complete returns what can stand in the place of the last word, which may be
// empty. The words are those after "teams".
func complete(ctx context.Context, words []string, values completer) []candidate {
	before, cur := words[:len(words)-1], words[len(words)-1]
	cl := splitArgs(before)
	inv := find(cl.head)
	if inv.stuck {
		return nil
	}
	if inv.entry == nil {
		if cl.dashes {
			return nil
		}
		return completeWords(inv, cur)
	}
	h, err := describe(inv.entry)
	if err != nil {
		return nil
	}
	c := completion{ctx: ctx, values: values, flags: append(h.Flags, h.Globals...)}
	if cl.dashes {
		if _, takes := inv.entry.New().(commandTaker); takes {
			return []candidate{{Value: ":files"}}
		}
		return c.argument(h.Arguments, c.positionals(inv.args)+len(cl.tail), cur)
	}
	if open := c.openFlag(inv.args); open != nil {
		return c.value(*open, "", cur)
	}
	if name, value, ok := strings.Cut(cur, "="); ok && strings.HasPrefix(name, "--") {
		for _, f := range c.flags {
			if "--"+f.Name == name {
				return c.value(f, name+"=", value)
			}
		}
		return nil
	}
	if strings.HasPrefix(cur, "-") {
		return c.flagNames(inv.args, cur)
	}
	out := c.argument(h.Arguments, c.positionals(inv.args), cur)
	if len(inv.args) == 0 || c.positionals(inv.args) == 0 {
		out = append(nextWords(inv.path, cur), out...)
	}
	return out
}

// completeWords completes a word of the command itself, or a global flag
// before it.
func completeWords(inv invocation, cur string) []candidate {
	help, err := describe(&helpEntry)
	if err != nil {
		return nil
	}
	c := completion{values: noCompleter{}, flags: help.Globals}
	if open := c.openFlag(inv.args); open != nil {
		return c.value(*open, "", cur)
	}
	if strings.HasPrefix(cur, "-") {
		return c.flagNames(inv.args, cur)
	}
	return nextWords(inv.path, cur)
}

// nextWords returns the words that can follow path and begin with prefix.
func nextWords(path, prefix string) (out []candidate) {
	for _, e := range children(path) {
		word, more, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(e.Path, path), " "), " ")
		if !strings.HasPrefix(word, prefix) || len(out) > 0 && out[len(out)-1].Value == word {
			continue
		}
		help := e.Summary
		if more != "" {
			help = ""
		}
		out = append(out, candidate{word, help})
	}
	return out
}

// completion is the state of completing the arguments of one command.
type completion struct {
	ctx    context.Context
	values completer
	flags  []valueHelp
}

// flagOf returns the flag that an argument is, and whether the next argument is
// its value.
func (c *completion) flagOf(arg string) (f *valueHelp, open bool) {
	if !isFlag(arg) {
		return nil, false
	}
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		long, _, attached := strings.Cut(long, "=")
		for i := range c.flags {
			if c.flags[i].Name == long {
				return &c.flags[i], !attached && c.flags[i].Value != ""
			}
		}
		return nil, false
	}
	for n, short := range arg[1:] {
		for i := range c.flags {
			if c.flags[i].Short == string(short) {
				f = &c.flags[i]
			}
		}
		if f == nil || f.Value != "" {
			return f, f != nil && n == len(arg)-2
		}
	}
	return f, false
}

// openFlag returns the flag whose value comes next, nil when there is none.
func (c *completion) openFlag(args []string) *valueHelp {
	for i := 0; i < len(args); i++ {
		if f, open := c.flagOf(args[i]); open {
			if i == len(args)-1 {
				return f
			}
			i++
		}
	}
	return nil
}

// positionals counts the arguments that are neither flags nor their values.
func (c *completion) positionals(args []string) (n int) {
	for i := 0; i < len(args); i++ {
		if _, open := c.flagOf(args[i]); open {
			i++
		} else if !isFlag(args[i]) {
			n++
		}
	}
	return n
}

// flagNames returns the flags that begin with prefix, without those given
// already that stand only once.
func (c *completion) flagNames(args []string, prefix string) (out []candidate) {
	given := make(map[string]bool)
	for _, a := range args {
		if f, _ := c.flagOf(a); f != nil && !f.Repeated {
			given[f.Name] = true
		}
	}
	for _, f := range c.flags {
		if name := "--" + f.Name; strings.HasPrefix(name, prefix) && !given[f.Name] {
			out = append(out, candidate{name, f.Help})
		}
	}
	return out
}

// argument returns the values of the n-th positional argument.
func (c *completion) argument(args []valueHelp, n int, cur string) []candidate {
	if len(args) == 0 {
		return nil
	}
	if n >= len(args) {
		if n = len(args) - 1; !args[n].Repeated {
			return nil
		}
	}
	return c.value(args[n], "", cur)
}

// value returns the values of a flag or argument that begin with cur; fixed
// stands before each of them in the word.
func (c *completion) value(v valueHelp, fixed, cur string) []candidate {
	switch v.kind {
	case "file", "text":
		return []candidate{{Value: ":files"}}
	case "dir":
		return []candidate{{Value: ":dirs"}}
	}
	if v.list {
		if i := strings.LastIndexByte(cur, ','); i >= 0 {
			fixed, cur = fixed+cur[:i+1], cur[i+1:]
		}
	}
	var list []candidate
	switch {
	case v.Choices != nil:
		for _, choice := range v.Choices {
			list = append(list, candidate{Value: choice})
		}
	case v.kind == "command":
		list = nextWords("", cur)
	case v.kind != "":
		list = c.values.Complete(c.ctx, v.kind, cur)
	}
	var out []candidate
	for _, it := range list {
		if strings.HasPrefix(it.Value, cur) {
			out = append(out, candidate{fixed + it.Value, it.Help})
		}
	}
	return out
}
