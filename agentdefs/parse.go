package agentdefs

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/adrg/frontmatter"

	"github.com/seed6990a682/teams/internal/fsx"
)

// What is read at most: of a file, and of its frontmatter. Both are far beyond
// what a definition needs, and keep a stray file from slowing every claim.
const (
	MaxSize  = 1 << 20
	maxBlock = 64 << 10
)

// The keys that are read.
const (
	keyName        = "name"
	keyDescription = "description"
	keyTools       = "tools"
	keyModel       = "model"
	keyVerify      = "verify"
	keyWorktree    = "worktree"
)

func isKey(s string) bool {
	switch s {
	case keyName, keyDescription, keyTools, keyModel, keyVerify, keyWorktree:
		return true
	}
	return false
}

// source is one file on its way to becoming an Agent.
type source struct {
	agent    Agent
	rank     int // place of its scope
	fallback string
	findings []Problem
	unused   bool // there is an error, or it is no definition
	parsed   bool // it is a definition, used or not

	lines map[string]int // of the keys that stand in it
	other []entry        // keys that are not ours
	cuts  []cut          // values that a comment ends
	body  int            // the line on which the prompt begins
}

// cut is a value of which YAML took the end for a comment.
type cut struct {
	key, comment string
	line         int
}

// Parse reads the definition that the file path holds; only the name of path
// matters, for the name of the agent. It returns nil when the file cannot be
// used or is no definition; the problems, in the order of their lines, then
// say why. Scope, GitManaged and Shadowed are for [Discover] to fill in.
func Parse(path string, data []byte) (*Agent, []Problem) {
	s := newSource(path)
	s.parse(data)
	sortProblems(s.findings)
	if s.unused {
		return nil, s.findings
	}
	return &s.agent, s.findings
}

func newSource(path string) *source {
	stem := strings.TrimSuffix(filepath.Base(path), suffix)
	stem = strings.TrimSuffix(stem, localSuffix)
	s := &source{agent: Agent{Path: path, Tools: []string{}, Shadowed: []string{}}, fallback: stem}
	if isReadme(path) {
		s.note("a README is no agent; for one, give the file another name")
	}
	return s
}

// isReadme reports whether path is that of a README.
func isReadme(path string) bool {
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	return strings.EqualFold(stem, "readme")
}

func (s *source) add(sev Severity, line int, format string, args ...any) {
	s.findings = append(s.findings, Problem{Path: s.agent.Path, Line: line, Message: fmt.Sprintf(format, args...), Severity: sev})
	s.unused = s.unused || sev != Warning
}

func (s *source) fail(line int, format string, args ...any) { s.add(Error, line, format, args...) }
func (s *source) warn(line int, format string, args ...any) { s.add(Warning, line, format, args...) }
func (s *source) note(format string, args ...any)           { s.add(Note, 0, format, args...) }

// parse fills in the agent.
func (s *source) parse(data []byte) {
	if s.unused {
		return // a README, whatever it holds
	}
	text, ok := s.text(data)
	if !ok {
		return
	}
	if strings.TrimSpace(text) == "" {
		s.fail(1, "the file is empty: it has no frontmatter and no body")
		return
	}
	block, body, ok := s.split(text)
	if !ok {
		return
	}
	entries := s.decode(block)
	s.assign(entries)
	s.agent.Prompt = prompt(body)
	if s.unused {
		return
	}
	if s.agent.Name == "" && s.agent.Description == "" {
		if len(entries) == 0 && s.agent.Prompt == "" {
			s.fail(1, "the file is empty: its frontmatter has no key, and there is no body")
			return
		}
		s.note("it has neither name nor description, so it is no agent")
		return
	}
	s.checkName()
}

// text makes plain text of the bytes of a file.
func (s *source) text(data []byte) (string, bool) {
	switch {
	case len(data) > MaxSize:
		s.fail(0, "the file is larger than %d bytes", MaxSize)
		return "", false
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		s.fail(1, "the file is UTF-16, it has to be saved as UTF-8")
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if i := bytes.IndexByte(data, 0); i >= 0 {
		s.fail(lineAt(data, i), "the file is binary, it holds a NUL byte")
		return "", false
	}
	if i := invalidAt(data); i >= 0 {
		s.fail(lineAt(data, i), "the file is not UTF-8 text, it holds the byte %#02x", data[i])
		return "", false
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), true
}

// lineAt is the line of the byte i.
func lineAt(data []byte, i int) int { return 1 + bytes.Count(data[:i], []byte{'\n'}) }

// invalidAt returns the index of the first byte that is not UTF-8, -1 when
// there is none.
func invalidAt(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// fence is the line above and below the frontmatter.
const fence = "---"

// block is the text between the fences.
type block struct {
	text string
	line int // the number of its first line
}

// split takes a file apart. A file that does not begin with a fence is all
// body.
func (s *source) split(text string) (b block, body string, ok bool) {
	lines := strings.Split(text, "\n")
	open := 0
	for open < len(lines) && strings.TrimSpace(lines[open]) == "" {
		open++
	}
	if strings.TrimSpace(lines[open]) != fence {
		s.body = open + 1
		return block{}, text, true
	}
	end := closingFence(lines, open+1)
	if end < 0 {
		s.fail(open+1, "the frontmatter that begins here is not closed, a line %s has to end it", fence)
		return block{}, "", false
	}
	b = block{text: strings.Join(lines[open+1:end], "\n"), line: open + 2}
	if len(b.text) > maxBlock {
		s.fail(open+1, "the frontmatter is larger than %d bytes", maxBlock)
		return block{}, "", false
	}
	body = strings.Join(lines[end+1:], "\n")
	s.body = end + 2
	for _, line := range lines[min(end+1, len(lines)):] {
		if strings.TrimSpace(line) != "" {
			break
		}
		s.body++
	}
	s.body = min(s.body, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
	return b, body, true
}

// closingFence returns the index of the line that closes the frontmatter, -1
// when there is none. An indented one counts, but not inside a block scalar.
func closingFence(lines []string, from int) int {
	scalar := -1 // indentation of the key that the block scalar belongs to
	for i := from; i < len(lines); i++ {
		line := lines[i]
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if scalar >= 0 && indent > scalar {
			continue
		}
		scalar = -1
		if trimmed == fence {
			return i
		}
		if opensScalar(trimmed) {
			scalar = indent
		}
	}
	return -1
}

// opensScalar reports whether a block scalar begins behind a line's key: "key:
// |", "key: >-", "- |2".
func opensScalar(line string) bool {
	if i := strings.Index(line, " #"); i >= 0 {
		line = line[:i]
	}
	line = strings.TrimSpace(line)
	i := strings.LastIndexAny(line, " \t")
	if i < 0 {
		return false
	}
	before, last := strings.TrimRight(line[:i], " \t"), line[i+1:]
	if last[0] != '|' && last[0] != '>' || strings.Trim(last[1:], "+-123456789") != "" {
		return false
	}
	return strings.HasSuffix(before, ":") || strings.HasSuffix(before, "-")
}

// decode reads the block with the frontmatter library. That one takes any line
// that trims to the fence for the closing one, also in a block scalar, so it is
// handed a fence that no line of the block looks like.
func (s *source) decode(b block) []entry {
	if b.line == 0 {
		return nil
	}
	mark := strings.Repeat("-", max(len(fence), longestRun(b.text, '-')+1))
	var entries []entry
	format := frontmatter.NewFormat(mark, mark, func(data []byte, v any) error {
		*v.(*[]entry) = s.entries(strings.TrimSuffix(string(data), "\n"), b.line)
		return nil
	})
	_, err := frontmatter.MustParse(strings.NewReader(mark+"\n"+b.text+"\n"+mark+"\n"), &entries, format)
	if err != nil {
		s.fail(b.line, "the frontmatter cannot be read: %v", err)
	}
	return entries
}

// longestRun is the length of the longest run of c in text.
func longestRun(text string, c byte) (longest int) {
	n := 0
	for i := 0; i < len(text); i++ {
		if n++; text[i] != c {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// prompt is a body without the blank lines around it.
func prompt(body string) string {
	body = strings.TrimRight(body, " \t\r\n")
	for {
		line, rest, more := strings.Cut(body, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return body
		}
		body = rest
	}
}

// checkName settles the name: the key, else the name of the file.
func (s *source) checkName() {
	line, from := s.lines[keyName], ""
	if s.agent.Name == "" {
		s.agent.Name = s.fallback
		line, from = max(line, 1), "the name of the file is that of the agent: "
	}
	if err := fsx.CheckHandle(s.agent.Name); err != nil {
		s.fail(line, "%s%v", from, err)
	}
	s.parsed = !s.unused
}
