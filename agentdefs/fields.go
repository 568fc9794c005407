package agentdefs

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// assign puts the values of the frontmatter into the agent. No key may stand
// twice: which one is meant cannot be told.
func (s *source) assign(entries []entry) {
	s.lines = make(map[string]int, len(entries))
	for _, e := range entries {
		if first, twice := s.lines[e.key]; twice {
			s.fail(e.line, "the key %q stands twice, first in line %d", e.key, first)
			continue
		}
		s.lines[e.key] = e.line
		if err := s.set(e); err != nil {
			s.fail(e.line, "%s %v", e.key, err)
		}
	}
}

func (s *source) set(e entry) (err error) {
	a := &s.agent
	switch e.key {
	case keyName:
		a.Name, err = text(e.value)
	case keyDescription:
		a.Description, err = text(e.value)
		s.noteCut(e)
	case keyModel:
		a.Model, err = text(e.value)
	case keyVerify:
		a.Verify, err = text(e.value)
		s.noteCut(e)
	case keyTools:
		a.Tools, err = tools(e.value)
	case keyWorktree:
		a.Worktree, err = truth(e.value)
	default:
		s.other = append(s.other, e)
	}
	return err
}

// text is the value of a key that holds a text. Numbers, booleans and dates
// are texts as they stand in the file.
func text(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		return "", fmt.Errorf("must be a text, it is a mapping")
	case yaml.SequenceNode:
		return "", fmt.Errorf("must be a text, it is a list")
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return "", nil
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
	default:
		return "", fmt.Errorf("is of the unknown type %s", tag)
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		return "", fmt.Errorf("holds a NUL character")
	}
	return strings.TrimSpace(n.Value), nil
}

// tools is a list in one text with commas, or a YAML list of either form.
func tools(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	var items []string
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			t, err := text(item)
			if err != nil {
				return []string{}, fmt.Errorf("has an item that %v", err)
			}
			items = append(items, t)
		}
	} else {
		t, err := text(n)
		switch {
		case n.Kind == yaml.MappingNode:
			return []string{}, fmt.Errorf("must be a list, or a text with commas, it is a mapping")
		case err != nil:
			return []string{}, err
		}
		// What YAML refused may have brackets and quotes of its own.
		t = strings.TrimSuffix(strings.TrimPrefix(t, "["), "]")
		items = strings.Split(t, ",")
	}
	out := []string{}
	seen := map[string]bool{}
	for _, item := range items {
		if item = unquote(strings.TrimSpace(item)); item != "" && !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out, nil
}

// unquote takes off a pair of quotes.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// truth is true or false, or one of the words that YAML once had for them.
func truth(n *yaml.Node) (bool, error) {
	t, err := text(n)
	if err != nil {
		return false, fmt.Errorf("must be true or false, its value %v", err)
	}
	switch word := strings.ToLower(t); {
	case slices.Contains([]string{"true", "yes", "on"}, word):
		return true, nil
	case slices.Contains([]string{"", "false", "no", "off"}, word):
		return false, nil
	}
	return false, fmt.Errorf("must be true or false and not %q", t)
}

// noteCut remembers where a comment ends an unquoted value. YAML means it so;
// who wrote "fix #12 first" did not.
func (s *source) noteCut(e entry) {
	if e.value.Kind != yaml.ScalarNode || e.value.Style&^yaml.TaggedStyle != 0 {
		return // quoted, a block, literal, a list
	}
	for i, line := range e.raw {
		if i == 0 {
			_, line, _ = strings.Cut(line, ":")
		}
		at := commentAt(line)
		switch {
		case at < 0:
		case strings.TrimSpace(line[:at]) == "" && (i > 0 || e.value.Value != ""):
			return // a comment between the keys, or before a value on the next line
		default:
			s.cuts = append(s.cuts, cut{e.key, strings.TrimSpace(line[at:]), e.line + i})
			return
		}
	}
}

// commentAt returns the index of the # that begins a comment in a line of an
// unquoted value, -1 when there is none.
func commentAt(line string) int {
	if strings.HasPrefix(line, "#") {
		return 0
	}
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}
