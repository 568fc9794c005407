package meta

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// block is one fenced block of a document.
type block struct {
	line int    // of its first line of content, counted from 1
	end  int    // of its closing fence
	info string // what stands behind the opening fence
	text string // with its line breaks
}

// word reports whether the info string has a word.
func (b *block) word(w string) bool { return slices.Contains(strings.Fields(b.info), w) }

// blocks reads the fenced blocks of a document.
func blocks(t testing.TB, name string) []*block {
	t.Helper()
	var out []*block
	var open *block
	for i, row := range strings.Split(read(t, name), "\n") {
		info, fence := strings.CutPrefix(row, "```")
		switch {
		case open == nil && fence:
			open = &block{line: i + 2, info: strings.TrimSpace(info)}
		case open != nil && row == "```":
			open.end = i + 1
			out = append(out, open)
			open = nil
		case open != nil:
			open.text += row + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block does not end", name, open.line)
	}
	return out
}

// documents lists the Markdown files that are for readers.
func documents(t testing.TB) []string {
	var out []string
	for _, name := range files(t) {
		if path.Ext(name) == ".md" && !strings.Contains(name, "testdata/") {
			out = append(out, name)
		}
	}
	return out
}

// The blocks of the documents hold what they seem to:
//
//	```sh          command lines that a shell can read; those of teams exist
//	```sh test     the same, and they are run, one block after the other
//	```sh test B   as another shell, B, which lives as long as the document
//	```go test     a program that is built and run
//	```text output what the block before it prints
//
// Shells run with -e. In an output a line "..." stands for any number of lines.
func TestDocumentBlocks(t *testing.T) {
	kinds := []string{"sh", "go", "text", "json", "jsonl", "console", "markdown"}
	for _, name := range documents(t) {
		t.Run(path.Base(name), func(t *testing.T) {
			t.Parallel()
			var tested []*block
			for _, b := range blocks(t, name) {
				kind, _, _ := strings.Cut(b.info, " ")
				if !slices.Contains(kinds, kind) {
					t.Errorf("%s:%d: a block of unknown kind %q", name, b.line-1, b.info)
				}
				if kind == "sh" {
					checkShell(t, name, b)
				}
				if b.word("test") || b.word("output") {
					tested = append(tested, b)
				}
			}
			if len(tested) > 0 && !t.Failed() {
				runBlocks(t, name, tested)
			}
		})
	}
}

// checkShell checks that a shell can read the block, and that the commands of
// teams in it exist.
func checkShell(t *testing.T, name string, b *block) {
	t.Helper()
	cmd := exec.Command("sh", "-n")
	cmd.Stdin = strings.NewReader(b.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: a shell cannot read the block: %s", name, b.line, out)
	}
	for i, row := range strings.Split(b.text, "\n") {
		for _, part := range strings.Split(row, "teams ")[1:] {
			words := strings.Fields(strings.NewReplacer(")", " ", "|", " ", ";", " ", "\"", " ").Replace(part))
			var known bool
			for n := min(len(words), 3); n > 0 && !known; n-- {
				known = isCommand(t, strings.Join(words[:n], " "))
			}
			if len(words) > 0 && !known && looksLikeVerb(words[0]) && startsCommand(row, part) {
				t.Errorf("%s:%d: there is no command %q", name, b.line+i, "teams "+words[0])
			}
		}
	}
}

// looksLikeVerb reports whether a word is no flag, redirection or comment.
func looksLikeVerb(w string) bool { return w[0] >= 'a' && w[0] <= 'z' }

// startsCommand reports whether the "teams" before rest stands where a command
// does: at the start, or behind something that begins one.
func startsCommand(row, rest string) bool {
	before := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(row, rest), "teams "))
	if strings.Contains(before, "#") {
		return false // in a comment
	}
	if before == "" {
		return true
	}
	last := before[strings.LastIndexByte(before, ' ')+1:]
	return strings.HasSuffix(last, "$(") || strings.HasSuffix(last, "|") || strings.HasSuffix(last, ";") || strings.HasSuffix(last, "&") ||
		slices.Contains([]string{"do", "then", "if", "while", "until", "exec", "!"}, last)
}

// runBlocks runs the tested blocks of a document in their order, in a home of
// its own, and compares what they print.
func runBlocks(t *testing.T, name string, list []*block) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: the examples are not run")
	}
	home := t.TempDir()
	shells := map[string]*shell{}
	defer func() {
		for _, s := range shells {
			s.close(t)
		}
	}()
	norm := newNormalizer(home)
	printed, from := "", (*block)(nil)
	replace := map[*block]string{}
	for _, b := range list {
		var err error
		switch {
		case b.word("output"):
			if from == nil {
				t.Fatalf("%s:%d: an output of nothing", name, b.line)
			}
			got := norm.apply(printed)
			if matches(b.text, got) {
				continue
			}
			if *update {
				replace[b] = got
				continue
			}
			t.Errorf("%s:%d: the block of line %d prints\n%swhere the document says\n%s", name, b.line, from.line, got, b.text)
			continue
		case strings.HasPrefix(b.info, "go"):
			printed, err = runProgram(t, home, b.text)
		default:
			who := "main"
			if words := strings.Fields(b.info); len(words) > 2 {
				who = words[2]
			}
			s := shells[who]
			if s == nil {
				s = startShell(t, home)
				shells[who] = s
			}
			printed, err = s.run(b.text)
		}
		if err != nil {
			t.Fatalf("%s:%d: %v\n%s", name, b.line, err, printed)
		}
		from = b
	}
	if len(replace) > 0 {
		rewrite(t, name, replace)
	}
}

// runProgram builds and runs a Go program as part of this module.
func runProgram(t *testing.T, home, text string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		return string(out), fmt.Errorf("gofmt would change it (%v)", err)
	}
	bin := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", bin, file)
	build.Dir = top(t)
	if out, err := build.CombinedOutput(); err != nil {
		return string(out), err
	}
	cmd := exec.Command(bin)
	cmd.Dir, cmd.Env = home, docEnviron(t, home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// rewrite puts outputs into a document.
func rewrite(t *testing.T, name string, texts map[*block]string) {
	t.Helper()
	rows := strings.Split(read(t, name), "\n")
	var out []string
	for i := 0; i < len(rows); i++ {
		out = append(out, rows[i])
		for b, text := range texts {
			if b.line == i+2 {
				out = append(out, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
				i = b.end - 2
			}
		}
	}
	if err := os.WriteFile(filepath.Join(top(t), name), []byte(strings.Join(out, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is written anew", name)
}
