package agentdefs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// entry is one key of the frontmatter.
type entry struct {
	key   string
	line  int        // of the file
	value *yaml.Node // literal ones are made to look quoted
	raw   []string   // the lines of the file from the key to the next
}

// errNoMapping says that a block is YAML, but no keys with values.
var errNoMapping = errors.New("it is no list of keys with values")

// entries reads the block, whose first line is that of the file.
func (s *source) entries(text string, line int) []entry {
	lines := strings.Split(text, "\n")
	list, err := mapping(text, line)
	if err != nil {
		return s.loose(lines, line, err)
	}
	for i := range list {
		end := len(lines)
		if i+1 < len(list) {
			end = list[i+1].line - line
		}
		if at := list[i].line - line; at >= 0 && at < end && end <= len(lines) {
			list[i].raw = lines[at:end]
		}
	}
	return list
}

// mapping reads text as strict YAML: one document, which holds keys and values
// or nothing.
func mapping(text string, line int) ([]entry, error) {
	root, err := document(text)
	if err != nil || root == nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, errNoMapping
	}
	var list []entry
	for i := 0; i+1 < len(root.Content); i += 2 {
		k := root.Content[i]
		if k.Kind == yaml.ScalarNode {
			list = append(list, entry{key: k.Value, line: k.Line + line - 1, value: root.Content[i+1]})
		}
	}
	return list, nil
}

// document parses text with yaml; nil means that it holds nothing.
func document(text string) (root *yaml.Node, err error) {
	defer func() {
		// A defect of the parser must not become one of its caller.
		if v := recover(); v != nil {
			root, err = nil, fmt.Errorf("it cannot be parsed: %v", v)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := dec.Decode(new(yaml.Node)); {
	case err == nil:
		return nil, errors.New("it is more than one document")
	case err != io.EOF:
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	root = doc.Content[0]
	if isNull(root) {
		return nil, nil
	}
	return root, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// chunk is a key with the lines that belong to it.
type chunk struct {
	key   string
	rest  string // behind the colon
	line  int
	lines []string
}

// loose reads a block that is no YAML: each key by itself with its list lines,
// and as literal text what is no YAML even so. Only our own keys are looked at.
func (s *source) loose(lines []string, first int, reason error) []entry {
	chunks, found := s.chunks(lines, first)
	if !found {
		s.fail(first, "the frontmatter holds no key: %s", yamlReason(reason))
		return nil
	}
	var list []entry
	for _, c := range chunks {
		e := entry{key: c.key, line: c.line, raw: c.lines, value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}}
		if !isKey(c.key) {
			list = append(list, e)
			continue
		}
		value, err := c.parse(c.lines)
		if err != nil {
			// Tabs are no indentation in YAML; they are meant as such.
			value, _ = c.parse(withoutTabs(c.lines))
		}
		if value == nil {
			value = c.literal()
			s.warn(c.line, "%s is not YAML (%s), it is taken as it stands; quote it", c.key, yamlReason(err))
		}
		e.value = value
		list = append(list, e)
	}
	return list
}

// chunks cuts the block at its top-level keys.
func (s *source) chunks(lines []string, first int) (list []chunk, found bool) {
	for i, line := range lines {
		if key, rest, ok := topLevelKey(line); ok {
			list = append(list, chunk{key: key, rest: rest, line: first + i, lines: []string{line}})
			continue
		}
		blank := strings.TrimSpace(line) == "" || line[0] == '#'
		belongs := blank || strings.IndexByte(" \t-]}", line[0]) >= 0
		switch {
		case belongs && len(list) > 0:
			last := &list[len(list)-1]
			last.lines = append(last.lines, line)
		case !blank:
			s.warn(first+i, "the line is neither a key nor part of a value, it is ignored")
		}
	}
	return list, len(list) > 0
}

// topLevelKey takes a line apart that begins with a key. For our own keys the
// white space behind the colon may be missing.
func topLevelKey(line string) (key, rest string, ok bool) {
	key, rest, ok = strings.Cut(line, ":")
	key = strings.TrimRight(key, " \t")
	if n := len(key); n > 2 && (key[0] == '"' || key[0] == '\'') && key[n-1] == key[0] {
		key = key[1 : n-1]
	}
	if !ok || key == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' && !isKey(key) {
		return "", "", false
	}
	for i := 0; i < len(key); i++ {
		c := key[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.' && (c < '0' || c > '9')) {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(rest), true
}

// parse reads the key by itself.
func (c *chunk) parse(lines []string) (*yaml.Node, error) {
	list, err := mapping(strings.Join(lines, "\n"), c.line)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || list[0].key != c.key {
		return nil, errNoMapping
	}
	return list[0].value, nil
}

// withoutTabs puts two spaces in the place of each tab that indents or stands
// behind the sign of a list item, and drops those at the ends of lines.
func withoutTabs(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t-")
		indent := strings.ReplaceAll(line[:len(line)-len(text)], "\t", "  ")
		out[i] = indent + strings.TrimRight(text, " \t")
	}
	return out
}

// literal takes the text of a key as it stands: a list when list lines follow,
// the text of a block scalar, else one text of all its lines.
func (c *chunk) literal() *yaml.Node {
	more := c.lines[1:]
	if opensScalar("x: " + c.rest) {
		return literalText(dedent(more))
	}
	var texts []string
	if c.rest != "" {
		texts = append(texts, c.rest)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, line := range more {
		text := strings.TrimSpace(line)
		if text == "" || line[0] == '#' {
			continue
		}
		if item, ok := strings.CutPrefix(text, "-"); ok && c.rest == "" {
			list.Content = append(list.Content, literalText(strings.TrimSpace(item)))
		}
		texts = append(texts, text)
	}
	if n := len(list.Content); n > 0 && n == len(texts) {
		return list
	}
	return literalText(strings.Join(texts, " "))
}

// literalText is a text that nothing more is read into.
func literalText(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

// dedent takes away the indentation of the first line with text.
func dedent(lines []string) string {
	indent := -1
	out := make([]string, len(lines))
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t")
		if indent < 0 && text != "" {
			indent = len(line) - len(text)
		}
		out[i] = line[min(max(indent, 0), len(line)-len(text)):]
	}
	return strings.Join(out, "\n")
}

// yamlReason is what yaml says without its own name and line, which counts from
// somewhere else.
func yamlReason(err error) string {
	if err == nil {
		return "unknown reason"
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if _, reason, ok := strings.Cut(rest, ": "); ok {
			text = reason
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ")
}
