package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What a command reads without a grammar is what the grammar would read.
func TestPlainIsWhatTheGrammarReads(t *testing.T) {
	lines := [][]string{
		{}, {"-q"}, {"one"}, {"one", "-xq"}, {"--as", "ann", "one"}, {"one", "two"}, {"one", "- two words"}, {"one", ""}, {"12"},
		{"one", "two", "three"}, {"--lock-timeout=1m", "--json", "one", "two\xff"}, {"one", "--root", "/r", "-"},
		{"--result", "done", "one"}, {"one", "--result=a b"}, {"--result=", "-q"}, {"one", "--result", "- a list"}, {"--result", "@f"},
		{"--result"}, {"--result", "--failed"}, {"--result=a", "--result=b"}, {"--result", "a", "--no-wait"}, {"--results=a"},
	}
	taken := map[string]int{}
	for _, entry := range registry {
		for _, line := range lines {
			plain, e := entry.New(), newEnv(nil, nil, nil)
			if !e.readPlain(entry, plain, line, commandLine{head: line}) {
				continue
			}
			taken[entry.Path]++
			read, byGrammar := entry.New(), newEnv(nil, nil, nil)
			if err := byGrammar.parse(entry, read, line, commandLine{head: line}); err != nil && check(entry, plain) == nil {
				t.Errorf("%s %q is read, the grammar says: %v", entry.Path, line, err)
			}
			if !reflect.DeepEqual(plain, read) || e.Globals != byGrammar.Globals {
				t.Errorf("%s %q: read %+v %+v, by the grammar %+v %+v", entry.Path, line, plain, e.Globals, read, byGrammar.Globals)
			}
		}
	}
	for _, path := range []string{"claim", "submit", "task add", "task list", "tick", "send", "version"} {
		if taken[path] < 2 {
			t.Errorf("%s reads %d of the lines itself", path, taken[path])
		}
	}
}

// What has a flag of its own, or what follows --, is left to the grammar.
func TestPlainLeavesTheRest(t *testing.T) {
	for _, line := range []string{"claim --wait", "claim t_1 --lease 5m", "claim -- t_1", "claim --session=", "tick x", "task add", "version x", "submit --nosuch"} {
		cl := splitArgs(strings.Fields(line))
		inv := find(cl.head)
		cmd := inv.entry.New()
		if newEnv(nil, nil, nil).readPlain(inv.entry, cmd, inv.args, cl) {
			t.Errorf("%s is read without a grammar", line)
		}
		if !reflect.DeepEqual(cmd, inv.entry.New()) {
			t.Errorf("%s: fields are set: %+v", line, cmd)
		}
	}
	if slices.ContainsFunc(registry, func(e *Entry) bool { _, ok := e.New().(plainReader); return ok && e.Bare }) {
		t.Error("a bare command reads words")
	}
}
