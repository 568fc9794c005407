package agentdefs

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// What a file means, however it was written.
func TestParseMeaning(t *testing.T) {
	a := func(name, description string, tools ...string) Agent {
		if tools == nil {
			tools = []string{}
		}
		return Agent{Name: name, Description: description, Tools: tools, Prompt: "body"}
	}
	for _, c := range []struct {
		what, text string
		want       Agent
	}{
		{"plain", "---\nname: x\ndescription: use when\ntools: read, bash\n---\nbody\n", a("x", "use when", "read", "bash")},
		{"default name", "---\ndescription: d\n---\nbody\n", a("stem", "d")},
		{"name alone", "---\nname: x\n---\nbody\n", a("x", "")},
		{"BOM", "\ufeff---\nname: x\n---\nbody\n", a("x", "")},
		{"CRLF", "---\r\nname: x\r\ndescription: d\r\ntools:\r\n- a\r\n- b\r\n---\r\nbody\r\n", a("x", "d", "a", "b")},
		{"BOM and CRLF and colon", "\ufeff---\r\nname: x\r\ndescription: Use when: now\r\n---\r\nbody\r\n", a("x", "Use when: now")},
		{"no final newline", "---\nname: x\n---\nbody", a("x", "")},
		{"blank lines first", "\n \n---\nname: x\n---\n\n\nbody\n\n\n", a("x", "")},
		{"spaces behind the fences", "--- \nname: x\n---\t\nbody\n", a("x", "")},
		{"indented closing fence", "---\nname: x\n  ---\nbody\n", a("x", "")},
		{"Unicode", "---\nname: x\ndescription: Prüft „alles“ – 検査 🙂\n---\nbody\n", a("x", "Prüft „alles“ – 検査 🙂")},
		{"tabs behind the colon and at the end", "---\nname:\tx\t\ndescription:\td\n---\nbody\n", a("x", "d")},
		{"tabs before list items", "---\nname: x\ntools:\n\t- read\n\t- bash\n---\nbody\n", a("x", "", "read", "bash")},
		{"tabs behind the dashes", "---\nname: x\ntools:\n-\tread\n-\tbash\n---\nbody\n", a("x", "", "read", "bash")},
		{"flow list", "---\nname: x\ntools: [read, \"bash\", 'edit']\n---\nbody\n", a("x", "", "read", "bash", "edit")},
		{"flow list on lines", "---\nname: x\ntools: [\n  read,\n  bash,\n]\n---\nbody\n", a("x", "", "read", "bash")},
		{"block list", "---\nname: x\ntools:\n  - read\n  # not\n\n  - bash\n---\nbody\n", a("x", "", "read", "bash")},
		{"flush block list", "---\nname: x\ntools:\n- read\n- bash\n---\nbody\n", a("x", "", "read", "bash")},
		{"list in one text", "---\nname: x\ntools: \"read,bash , read\"\n---\nbody\n", a("x", "", "read", "bash")},
		{"empty list", "---\nname: x\ntools:\n---\nbody\n", a("x", "")},
		{"item with comma in YAML", "---\nname: x\ntools: [\"a,b\"]\n---\nbody\n", a("x", "", "a,b")},
		{"quotes", "---\nname: \"x\"\ndescription: 'it''s \"so\"'\n---\nbody\n", a("x", `it's "so"`)},
		{"literal block", "---\nname: x\ndescription: |\n  one\n  # two\n---\nbody\n", a("x", "one\n# two")},
		{"folded block", "---\nname: x\ndescription: >-\n  one\n  two\n---\nbody\n", a("x", "one two")},
		{"fence inside a block scalar", "---\nname: x\ndescription: |\n  one\n  ---\n  two\n---\nbody\n", a("x", "one\n---\ntwo")},
		{"dashes in a value", "---\nname: x\ndescription: a --- b ---- c\n---\nbody\n", a("x", "a --- b ---- c")},
		{"comment", "---\n# first\nname: x # the name\ndescription: a#b # gone\n---\nbody\n", a("x", "a#b")},
		{"continued", "---\nname: x\ndescription: one\n  two\n---\nbody\n", a("x", "one two")},
		{"alias", "---\nname: &n x\ndescription: *n\n---\nbody\n", a("x", "x")},
		{"flow mapping", "---\n{name: x, description: d}\n---\nbody\n", a("x", "d")},
		{"other keys", "---\nname: x\ncolor: red\nhooks:\n  a: {b: [c]}\n---\nbody\n", a("x", "")},
		{"texts that look otherwise", "---\nname: x\ndescription: 1.10\n---\nbody\n", a("x", "1.10")},
		{"a date", "---\nname: x\ndescription: 2026-01-02\n---\nbody\n", a("x", "2026-01-02")},
		{"null", "---\nname: x\ndescription: ~\n---\nbody\n", a("x", "")},
		{"colon", "---\nname: x\ndescription: Review: use when: changed\ntools: read\n---\nbody\n", a("x", "Review: use when: changed", "read")},
		{"colon and #", "---\nname: x\ndescription: see: #12 first\n---\nbody\n", a("x", "see: #12 first")},
		{"quote in the middle", "---\nname: x\ndescription: \"so\" it: is\n---\nbody\n", a("x", `"so" it: is`)},
		{"backtick", "---\nname: x\ndescription: `code` first\n---\nbody\n", a("x", "`code` first")},
		{"at", "---\nname: x\ndescription: @all\n---\nbody\n", a("x", "@all")},
		{"star", "---\nname: x\ndescription: *.go files\n---\nbody\n", a("x", "*.go files")},
		{"percent", "---\nname: x\ndescription: %d\n---\nbody\n", a("x", "%d")},
		{"open bracket", "---\nname: x\ndescription: [unclosed\ntools: [read, bash\n---\nbody\n", a("x", "[unclosed", "read", "bash")},
		{"colon in a continued line", "---\nname: x\ndescription: one\n  two: three\n---\nbody\n", a("x", "one two: three")},
		{"no space behind the colon", "---\nname:x\ntools:read,bash\n---\nbody\n", a("x", "", "read", "bash")},
		{"one key is wrong, the others are YAML", "---\nname: \"x\" # id\ndescription: a: b # c\ntools: [read, bash] # t\n---\nbody\n", a("x", "a: b # c", "read", "bash")},
		{"literal list", "---\nname: x\ntools:\n- read\n- a: b: c\n---\nbody\n", a("x", "", "read", "a: b: c")},
		{"block scalar beside a wrong key", "---\nname: x\nmodel: a: b\ndescription: |\n  one\n  two\n---\nbody\n", func() Agent { g := a("x", "one\ntwo"); g.Model = "a: b"; return g }()},
		{"stray line", "---\nname: x\nthis is prose\ndescription: d\n---\nbody\n", a("x", "d")},
		{"broken key of others", "---\nname: x\ncolor: [red\ndescription: d\n---\nbody\n", a("x", "d")},
		{"control character", "---\nname: x\ndescription: a\x1bb\n---\nbody\n", a("x", "a\x1bb")},
		{"line of a key only", "---\nname: x\ndescription:\n  next line\n---\nbody\n", a("x", "next line")},
		{"second document", "---\nname: x\n...\ndescription: d\n---\nbody\n", a("x", "d")},
	} {
		got, problems := Parse("/dir/stem.md", []byte(c.text))
		if got == nil {
			t.Errorf("%s: %s", c.what, dump(problems))
			continue
		}
		c.want.Path, c.want.Shadowed = "/dir/stem.md", []string{}
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v\n%s", c.what, *got, c.want, dump(problems))
		}
	}
}

func TestParseOtherFields(t *testing.T) {
	const text = "---\nname: x\nmodel: provider/model\nverify: go test ./... && echo 'ok: all' | grep -c \"o\"\nworktree: true\n---\nbody"
	got, problems := Parse("x.md", []byte(text))
	if got == nil || len(problems) != 1 || problems[0].Line != 4 {
		t.Fatalf("%+v %s", got, dump(problems))
	}
	if got.Model != "provider/model" || got.Verify != `go test ./... && echo 'ok: all' | grep -c "o"` || !got.Worktree {
		t.Errorf("%+v", got)
	}
	for value, want := range map[string]bool{"true": true, "True": true, "yes": true, "on": true, "'true'": true, "false": false, "no": false, "": false, "~": false} {
		got, problems := Parse("x.md", []byte("---\nname: x\nworktree: "+value+"\n---\nbody"))
		if got == nil || got.Worktree != want {
			t.Errorf("worktree %q: %+v %s", value, got, dump(problems))
		}
	}
	got, _ = Parse("x.md", []byte("---\nname: x\nverify: |\n  npm test\n  npm run lint\n---\nbody"))
	if got == nil || got.Verify != "npm test\nnpm run lint" {
		t.Errorf("%+v", got)
	}
	// The gate is a command that YAML takes for something else.
	got, _ = Parse("x.md", []byte("---\nname: x\nverify: true\n---\nbody"))
	if got == nil || got.Verify != "true" {
		t.Errorf("%+v", got)
	}
}

// The body is kept, but for the blank lines around it.
func TestParsePrompt(t *testing.T) {
	for body, want := range map[string]string{
		"":                          "",
		"\n\n  \n":                  "",
		"\n\n    code\n\ntext \n\n": "    code\n\ntext",
		"a\r\nb\r\n":                "a\nb",
		"a\n---\nb\n---\n":          "a\n---\nb\n---",
		"{\n\"a\": 1\n}\n\nrest":    "{\n\"a\": 1\n}\n\nrest",
		"+++\na\n+++\n":             "+++\na\n+++",
		"\ttab\n":                   "\ttab",
	} {
		got, problems := Parse("x.md", []byte("---\nname: x\n---\n"+body))
		if got == nil || got.Prompt != want {
			t.Errorf("%q: %+v %s", body, got, dump(problems))
		}
	}
	// No other kind of frontmatter is looked for.
	for _, text := range []string{"{\n\"name\": \"x\"\n}\n\nbody", "+++\nname = \"x\"\n+++\nbody", ";;;\n{}\n;;;\n", "---toml\nname = 1\n---\n"} {
		got, problems := Parse("x.md", []byte(text))
		if got != nil || len(problems) != 1 || problems[0].Severity != Note {
			t.Errorf("%q: %+v %s", text, got, dump(problems))
		}
	}
}

// What cannot be used, with the line and the reason.
func TestParseErrors(t *testing.T) {
	long := strings.Repeat("x", 33)
	for _, c := range []struct {
		what, file, text string
		line             int
		word             string
	}{
		{"empty", "x.md", "", 1, "empty"},
		{"blank", "x.md", "\ufeff \r\n\t\n", 1, "empty"},
		{"empty frontmatter", "x.md", "---\n---\n", 1, "empty"},
		{"comments alone", "x.md", "---\n# a\n---\n\n", 1, "empty"},
		{"binary", "x.md", "---\nname: x\n---\nbo\x00dy", 4, "NUL"},
		{"not UTF-8", "x.md", "---\nname: x\n---\n\nf\xfcr", 5, "0xfc"},
		{"UTF-16", "x.md", "\xff\xfe-\x00-\x00", 1, "UTF-16"},
		{"too large", "x.md", "---\nname: x\n---\n" + strings.Repeat("a", MaxSize), 0, "larger"},
		{"frontmatter too large", "x.md", "---\nname: x\ndescription: " + strings.Repeat("a", maxBlock) + "\n---\n", 1, "frontmatter is larger"},
		{"unclosed", "x.md", "---\nname: x\n\nYou are x.\n", 1, "not closed"},
		{"unclosed, alone", "x.md", "\n---", 2, "not closed"},
		{"unclosed by a fence in a block scalar", "x.md", "---\nname: x\ndescription: |\n  a\n  ---\n", 1, "not closed"},
		{"no key", "x.md", "---\njust prose\n---\nbody", 2, "no key"},
		{"a list", "x.md", "---\n- name: x\n---\nbody", 2, "no key"},
		{"name twice", "x.md", "---\nname: x\ntools: a\nname: x\n---\nbody", 4, `"name" stands twice, first in line 2`},
		{"other key twice", "x.md", "---\nname: x\ncolor: a\ncolor: a\n---\nbody", 4, "twice"},
		{"twice in a block that is no YAML", "x.md", "---\nname: x\ndescription: a: b\nname: y\n---\nbody", 4, "twice"},
		{"twice, quoted", "x.md", "---\nname: x\n\"name\": y\n---\nbody", 3, "twice"},
		{"capital name", "x.md", "---\n\nname: Reviewer\n---\nbody", 3, "no valid name"},
		{"reserved name", "x.md", "---\nname: leader\n---\nbody", 2, "reserved"},
		{"path as name", "x.md", "---\nname: ../x\n---\nbody", 2, "no valid name"},
		{"long name", "x.md", "---\nname: " + long + "\n---\nbody", 2, "no valid name"},
		{"number as name", "x.md", "---\nname: 7\n---\nbody", 2, "no valid name"},
		{"emoji as name", "x.md", "---\nname: 🙂\n---\nbody", 2, "no valid name"},
		{"NUL in the name", "x.md", "---\nname: \"a\\0b\"\n---\nbody", 2, "NUL"},
		{"name of the file", "My Agent.md", "---\ndescription: d\n---\nbody", 1, "name of the file"},
		{"name is a list", "x.md", "---\nname: [x]\n---\nbody", 2, "must be a text, it is a list"},
		{"description is a mapping", "x.md", "---\nname: x\ndescription: {a: b}\n---\nbody", 3, "must be a text, it is a mapping"},
		{"tools are a mapping", "x.md", "---\nname: x\ntools: {read: true}\n---\nbody", 3, "must be a list"},
		{"tools of tools", "x.md", "---\nname: x\ntools: [[read]]\n---\nbody", 3, "has an item"},
		{"tools as keys", "x.md", "---\nname: x\ntools:\n  read: true\n---\nbody", 3, "must be a list"},
		{"worktree is no truth", "x.md", "---\nname: x\nworktree: maybe\n---\nbody", 3, `must be true or false and not "maybe"`},
		{"worktree is a list", "x.md", "---\nname: x\nworktree: [true]\n---\nbody", 3, "must be true or false"},
		{"unknown type", "x.md", "---\nname: x\nverify: !cmd make\n---\nbody", 3, "unknown type !cmd"},
		{"binary type", "x.md", "---\nname: x\nverify: !!binary aGk=\n---\nbody", 3, "unknown type !!binary"},
		{"NUL in the gate", "x.md", "---\nname: x\nverify: \"a\\0b\"\n---\nbody", 3, "NUL"},
		{"CRLF counts as one line", "x.md", "---\r\nname: x\r\nworktree: 7\r\n---\r\nbody", 3, "worktree"},
	} {
		got, problems := Parse("/dir/"+c.file, []byte(c.text))
		if got != nil || !has(problems, Error, "/dir/"+c.file, c.line, c.word) {
			t.Errorf("%s: %+v\n%s", c.what, got, dump(problems))
		}
	}
}

// What is no agent says why, and is no error.
func TestParseNotes(t *testing.T) {
	for _, c := range [][2]string{
		{"README.md", good("x", "d")}, {"readme.md", "\x00"}, {"Readme.local.md", ""},
		{"notes.md", "# Notes\n\nabout things\n"}, {"Meeting Notes.md", "text"},
		{"x.md", "---\ntools: read\n---\nbody"}, {"x.md", "---\nname:\ndescription: ''\n---\nbody"}, {"x.md", "---\n---\nbody"},
	} {
		got, problems := Parse(c[0], []byte(c[1]))
		if got != nil || len(problems) != 1 || problems[0].Severity != Note || problems[0].Message == "" {
			t.Errorf("%s %q: %+v %s", c[0], c[1], got, dump(problems))
		}
	}
}

// What is taken literally is told, by its line; the rest is not.
func TestParseWarnings(t *testing.T) {
	const text = "---\nname: x # the name\n\ndescription: Review: all # c\nstray line\ntools: [read\nmodel: \"a\" # b\n---\nbody"
	got, problems := Parse("x.md", []byte(text))
	if got == nil || got.Description != "Review: all # c" || got.Model != "a" || got.Name != "x" {
		t.Fatalf("%+v %s", got, dump(problems))
	}
	want := [][2]any{{4, "description is not YAML"}, {5, "neither a key nor part"}, {6, "tools is not YAML"}}
	for i, w := range want {
		if i >= len(problems) || !has(problems[i:i+1], Warning, "x.md", w[0].(int), w[1].(string)) {
			t.Errorf("%v: %s", w, dump(problems))
		}
	}
	if len(problems) != len(want) {
		t.Error(dump(problems))
	}
}

// What is hostile is slow nowhere.
func TestParseBounded(t *testing.T) {
	room := maxBlock / 4
	for _, unit := range []string{"[", "{a: ", "- ", "? ", "-", "# a\n", "a: b # c\n", "- #a\n", "[a]: b\n", "\"", "&a ", "!!a ", "a\n", "  - a\n", "a: |\n", "\t", ":", "a: *b\n", "x: [\n"} {
		block := strings.Repeat(unit, room/len(unit))
		start := time.Now()
		Parse("x.md", []byte("---\nname: x\n"+block+"\n---\nbody"))
		Parse("x.md", []byte("---\nname: x\ndescription: a: b\n"+block+"\n---\nbody"))
		Parse("x.md", []byte(block))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}
