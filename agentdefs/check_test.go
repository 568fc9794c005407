package agentdefs

import (
	"strings"
	"testing"
)

const fullBody = "You are x. Do not touch other files. Every finding has evidence. Your last message carries the status completed.\n"

// Each warning, by its line, and nothing else.
func TestCheckWarnings(t *testing.T) {
	for _, c := range []struct {
		what, text string
		line       int // 0: no warning at all
		words      []string
	}{
		{"nothing", "---\nname: x\ndescription: d\ntools: read, edit\n---\n" + fullBody, 0, nil},
		{"description cut", "---\nname: x\ndescription: fix issue #12 # first\n---\n" + fullBody, 3, []string{"description ends before \"#12 # first\"", "quote"}},
		{"verify cut", "---\nname: x\ndescription: d\nverify: npm test # optional gate\n---\n" + fullBody, 4, []string{"verify ends before \"# optional gate\""}},
		{"verify cut whole", "---\nname: x\ndescription: d\nverify: # later\n---\n" + fullBody, 4, []string{"verify ends before \"# later\""}},
		{"verify cut by a tab", "---\nname: x\ndescription: d\nverify: make\t# now\n---\n" + fullBody, 4, []string{"verify ends"}},
		{"continued description cut", "---\nname: x\ndescription: one\n  two # three\n---\n" + fullBody, 4, []string{"description ends before \"# three\""}},
		{"cut beside a key that is no YAML", "---\nname: x\ndescription: d # e\nmodel: a: b\n---\n" + fullBody, 3, []string{"description ends"}},
		{"quoted with a comment", "---\nname: x\ndescription: \"d # e\" # note\nverify: 'a # b' # c\n---\n" + fullBody, 0, nil},
		{"block scalar", "---\nname: x\ndescription: | # note\n  d # e\n---\n" + fullBody, 0, nil},
		{"# without a space", "---\nname: x\ndescription: c#d#\n---\n" + fullBody, 0, nil},
		{"comments between keys", "---\nname: x # c\n# a\ndescription: d\n# verify: make # x\n  # more\nverify: make\n---\n" + fullBody, 0, nil},
		{"comment before the value", "---\nname: x\ndescription: # note\n  d\n---\n" + fullBody, 0, nil},
		{"tools may have comments", "---\nname: x\ndescription: d\ntools: read # only\nmodel: a/b # c\n---\n" + fullBody, 0, nil},
		{"no description", "---\nname: x\n---\n" + fullBody, 1, []string{"no description"}},
		{"empty description", "---\nname: x\ndescription:\n---\n" + fullBody, 3, []string{"no description"}},
		{"no body", "---\nname: x\ndescription: d\n---\n", 4, []string{"body is empty"}},
		{"no boundary", "---\nname: x\ndescription: d\n---\n\nYou are x. Give evidence. Set the terminal status.\n", 6, []string{"no boundary"}},
		{"no evidence", "---\nname: x\ndescription: d\n---\nYou are x. Don’t touch y. Set the terminal status.\n", 5, []string{"no evidence"}},
		{"no terminal report", "---\nname: x\ndescription: d\n---\nYou are x. Never touch y. Give evidence.\n", 5, []string{"no terminal report"}},
		{"read-only description", "---\nname: x\ndescription: Read-only review\ntools:\n  - read\n  - write\n---\n" + fullBody, 4, []string{"description says read-only", "write"}},
		{"read-only body", "---\nname: x\ndescription: d\ntools: Edit, Write\n---\nThis role is read only. " + fullBody, 4, []string{"body says read-only", "Edit and Write"}},
		{"read-only with bash", "---\nname: x\ndescription: Read-only review\ntools: read, bash\n---\n" + fullBody, 0, nil},
		{"tools without commas", "---\nname: x\ndescription: d\ntools: read bash\n---\n" + fullBody, 4, []string{"space in its name"}},
		{"tools with patterns", "---\nname: x\ndescription: d\ntools: Bash(git diff:*), read\n---\n" + fullBody, 0, nil},
		{"misspelt key", "---\nname: x\ndescription: d\ndesciption: e\n---\n" + fullBody, 4, []string{`"desciption" is ignored; is description meant?`}},
		{"key in capitals", "---\nname: x\ndescription: d\nTools: read\n---\n" + fullBody, 4, []string{"is tools meant?"}},
		{"keys of others", "---\nname: x\ndescription: d\ncolor: red\nhooks: {}\nmodels2: a\n---\n" + fullBody, 0, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr := newTree(t)
			path := tr.write(Project, "x.md", c.text)
			s := tr.discover()
			if !s.Has("x") {
				t.Fatal(dump(s.Check()))
			}
			var list []Problem
			for _, p := range s.Check() {
				if !strings.Contains(p.Message, "it is taken as it stands") {
					list = append(list, p)
				}
			}
			switch {
			case c.line == 0 && len(list) > 0:
				t.Error(dump(list))
			case c.line > 0 && (len(list) != 1 || !has(list, Warning, path, c.line, c.words...)):
				t.Errorf("want %d %q\n%s", c.line, c.words, dump(list))
			}
		})
	}
}

// The example of the frontmatter in which every value has a comment: it parses
// as YAML has it, and the gate that was cut is told.
func TestCheckCommentedExample(t *testing.T) {
	tr := newTree(t)
	path := tr.write(Project, "isolated-security-auditor.md", `---
name: isolated-security-auditor
description: Read-only security reviewer in an isolated worktree
tools: read,bash
model: provider/model # optional
verify: npm test # optional
worktree: true # optional
---
Review the assigned scope. Do not edit files.
`)
	s := tr.discover()
	a, err := s.Resolve("isolated-security-auditor")
	if err != nil || a.Model != "provider/model" || a.Verify != "npm test" || !a.Worktree || len(a.Tools) != 2 {
		t.Fatalf("%+v %v", a, err)
	}
	if !has(s.Check(), Warning, path, 6, "verify ends before \"# optional\"") {
		t.Error(dump(s.Check()))
	}
}

// Shadowed files are checked as well, and all of it is in order.
func TestCheckAll(t *testing.T) {
	tr := newTree(t)
	shadowed := tr.write(User, "x.md", "---\nname: x\ndescription: d # e\n---\n"+fullBody)
	tr.write(Project, "x.md", good("x", "d"))
	broken := tr.write(Project, "y.md", "---\nname: y\nname: y\n---\n")
	s := tr.discover()
	list := s.Check()
	if !has(list, Warning, shadowed, 3, "description ends") || !has(list, Error, broken, 3, "twice") {
		t.Error(dump(list))
	}
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.Path > b.Path || a.Path == b.Path && a.Line > b.Line {
			t.Errorf("out of order:\n%s", dump(list))
		}
	}
	if again := s.Check(); dump(again) != dump(list) {
		t.Errorf("two looks differ:\n%s\n%s", dump(list), dump(again))
	}
}
