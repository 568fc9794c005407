package agentdefs

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Whatever a file holds: no panic, an agent that keeps the rules or a reason
// why there is none, and the same for the same bytes.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good("x", "d")))
	for _, text := range []string{
		"", "---", "---\n---", "---\nname: x\n---\nbody", "\ufeff---\r\nname: x\r\n---\r\nb", "---\nname: x\ndescription: a: b # c\ntools: [a, b\n---\n",
		"---\nname: x\ntools:\n\t- a\n-\tb\n---\n", "---\nname: x\ndescription: |\n  a\n  ---\n  b\n---\nc", "---\nname: &a x\ndescription: *a\n---\n",
		"---\nname: x\nname: y\n---\n", "---\nname: x\nverify: 'a # b' # c\nworktree: yes\n---\n", "---\n? a\n: b\n---\n", "---\n{name: x}\n---\n",
		"---\nname: x\n...\ndescription: d\n---\n", "---\nname: x\nverify: \"\\0\"\n---\n", "---\nname:x\n- y\n]\n---\n", "---\nname: !!int x\n---\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, problems := Parse("stem.md", data)
		again, _ := Parse("stem.md", data)
		if (a == nil) != (again == nil) {
			t.Fatal("two answers for one file")
		}
		for i, p := range problems {
			if p.Message == "" || p.Path != "stem.md" || p.Line < 0 || p.Line > 2+strings.Count(string(data), "\n") {
				t.Fatalf("%+v", p)
			}
			if i > 0 && problems[i-1].Line > p.Line {
				t.Fatalf("out of order\n%s", dump(problems))
			}
		}
		if a == nil {
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity != Warning }) {
				t.Fatal("no agent, and no reason")
			}
			return
		}
		if fsx.CheckHandle(a.Name) != nil || a.Tools == nil || slices.Contains(a.Tools, "") {
			t.Fatalf("%+v", a)
		}
		total := len(a.Prompt)
		for _, s := range append(a.Tools, a.Description, a.Model, a.Verify, a.Prompt) {
			if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
				t.Fatalf("%q", s)
			}
			total += len(s)
		}
		if total > 5*MaxSize {
			t.Fatalf("%d bytes of %d", total, len(data))
		}
		src := newSource("stem.md")
		src.parse(data)
		src.check()
	})
}

// What a draft says, the file that is made of it says.
func FuzzRoundTrip(f *testing.F) {
	f.Add("x", "d; use when: \"it\" is #1", "read,bash", "a/b", "go test ./... # all", true, uint8(1))
	f.Add("y", "two\nlines\n\n  and a third", "", "", "a\n\tb\n", false, uint8(2))
	f.Add("z", "--- \u2028 \ufeff 'x'", "Bash(git diff:*),x y", "null", "true", false, uint8(3))
	f.Add("w", "- a\n- b", "~", "1.0", "|\n x", true, uint8(0))
	f.Fuzz(func(t *testing.T, name, description, tools, model, verify string, worktree bool, shape uint8) {
		d := Draft{
			Name: name, Shape: Shapes()[int(shape)%4], Description: description, Tools: strings.Split(tools, ","), Model: model, Verify: verify, Worktree: worktree,
		}
		text, err := d.Text()
		if err != nil {
			if fsx.CheckHandle(name) == nil && printable(description, tools, model, verify) && len(text) < maxBlock/8 && !strings.ContainsAny(tools, "\n\"'[]") {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		// Text has compared the fields; a second look goes over the same path.
		a, problems := Parse(name+".md", text)
		if a == nil || len(problems) > 0 || a.Name != name || a.Worktree != worktree || a.Verify != strings.TrimSpace(verify) {
			t.Fatalf("%+v %s\n%s", a, dump(problems), text)
		}
	})
}

// printable reports whether text is what people type.
func printable(texts ...string) bool {
	text := strings.Join(texts, " ")
	for _, r := range text {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa1 || r == utf8.RuneError || r >= 0xfffe || r == 0xfeff || r == 0x2028 || r == 0x2029) {
			return false
		}
	}
	return len(text) < 1000
}
