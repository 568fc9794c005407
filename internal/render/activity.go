package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxActivity is how many bytes of an activity are looked at. No line is as
// long.
const maxActivity = 4096

// defaultActivity is what a teammate does that says nothing.
const defaultActivity = "Working..."

// Activity is what is known about what a teammate does now.
type Activity struct {
	Tool     string // the tool it runs, "" for none
	Thinking string // what it has thought so far in this turn
	Text     string // what it has said so far in this turn
}

// String is the activity in one line: the running tool, else the last line of
// the thinking that says something, else that of the text, else "Working...".
// It is harmless, but keeps marks of Markdown.
func (a Activity) String() string {
	if s := safeFold(a.Tool); s != "" {
		return s
	}
	for _, s := range []string{a.Thinking, a.Text} {
		if line := lastLine(s); line != "" {
			return line
		}
	}
	return defaultActivity
}

// lastLine is the last line that says something, folded. Lines that only say
// that something was cut are skipped.
func lastLine(s string) string {
	for s != "" {
		line := s
		if i := strings.LastIndexByte(s, '\n'); i >= 0 {
			s, line = s[:i], s[i+1:]
		} else {
			s = ""
		}
		line = safeFold(line)
		if line != "" && !strings.HasPrefix(line, "... [truncated") && !strings.HasPrefix(line, "…[truncated") {
			return line
		}
	}
	return ""
}

// safeFold is Fold for a terminal.
func safeFold(s string) string { return Fold(strictLine(Fold(s))) }

// Spins reports whether a teammate in this state has a spinning row: only those
// that start or work have.
func Spins(status string) bool { return status == "starting" || status == "working" }

// Spinner is the picture of a frame, one cell wide. Frames follow each other
// about ten times a second and begin anew.
func Spinner(frame int) string {
	frames := [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	n := len(frames)
	return frames[(frame%n+n)%n]
}

// ActivityRow is the row of a teammate that works, in at most max(10,
// columns-1) cells: " ⠋ ann · bash: go test". The name takes at most 40% of
// what the fixed part leaves, and the activity the rest; each takes at least
// one cell.
func ActivityRow(spinner, name, activity string, columns int) string {
	line := max(10, columns-1)
	spinner, name = safeFold(spinner), safeFold(name)
	room := max(2, line-Width(" "+spinner+" "+separator))
	nameCells := max(1, min(Width(name), room*2/5))
	return Truncate(" "+spinner+" "+Truncate(name, nameCells)+separator+
		Truncate(PlainMarkdown(activity), max(1, room-nameCells)), line)
}

// ActivityLabel is a teammate's activity behind its spinner, cut to cells; at 0
// cells it is the spinner alone, and a negative number does not cut.
func ActivityLabel(spinner, activity string, cells int) string {
	spinner = safeFold(spinner)
	switch {
	case cells == 0:
		return spinner
	case cells < 0:
		return spinner + " " + PlainMarkdown(activity)
	}
	return spinner + " " + Truncate(PlainMarkdown(activity), cells)
}

// StartedLine is what a spawn says once: "[coder] started · @ann · fix the
// parser". Without a task the last part is missing.
func StartedLine(agent, name, task string) string {
	s := "[" + safeFold(agent) + "] started" + separator + "@" + safeFold(name)
	if task = safeFold(task); task != "" {
		s += separator + Truncate(task, argCells)
	}
	return s
}

// PlainMarkdown takes the marks of Markdown out of a text and folds it into one
// harmless line: headings, lists, quotes, emphasis, code and links lose their
// marks and keep their words.
func PlainMarkdown(s string) string {
	if len(s) > maxActivity {
		s = strings.ToValidUTF8(s[:maxActivity], "")
	}
	var words []string
	for line := range strings.Lines(s) {
		if line = inline(block(strings.TrimSpace(line))); line != "" {
			words = append(words, line)
		}
	}
	return safeFold(strings.Join(words, " "))
}

// block takes off what makes a line a heading, an item, a quote, a fence or a
// rule.
func block(line string) string {
	for {
		before := line
		if rest := strings.TrimLeft(line, "#"); rest != line && len(line)-len(rest) <= 6 && (rest == "" || rest[0] == ' ') {
			line = strings.TrimRight(strings.TrimSpace(rest), "# ")
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, ">"))
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			line = strings.TrimSpace(strings.TrimLeft(line, "`~"))
		}
		for _, mark := range []string{"- ", "* ", "+ "} {
			if rest, ok := strings.CutPrefix(line, mark); ok && !isRule(line) {
				line = strings.TrimSpace(rest)
				for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
					line = strings.TrimPrefix(line, box)
				}
			}
		}
		if line == before {
			return line
		}
	}
}

// isRule reports whether a line is a rule, three or more of one mark.
func isRule(line string) bool {
	bare := strings.ReplaceAll(line, " ", "")
	return len(bare) >= 3 && strings.Trim(bare, bare[:1]) == "" && strings.Contains("-*_", bare[:1])
}

// inline takes off the marks inside a line. What stands in backquotes stays as
// it is.
func inline(s string) string {
	if isRule(s) {
		return "---"
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		switch c := s[i]; {
		case c == '\\' && len(rest) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!~>|", rest[1]) >= 0:
			b.WriteByte(rest[1])
			i += 2
		case c == '`':
			n := len(rest) - len(strings.TrimLeft(rest, "`"))
			if code, _, ok := strings.Cut(rest[n:], rest[:n]); ok {
				b.WriteString(code)
				i += n + len(code) + n
			} else {
				b.WriteString(rest[:n])
				i += n
			}
		case c == '[' || c == '!' && strings.HasPrefix(rest, "!["):
			if words, size := link(rest); size > 0 {
				b.WriteString(inline(words))
				i += size
			} else {
				b.WriteByte(c)
				i++
			}
		case c == '*' || c == '_' || c == '~':
			n := len(rest) - len(strings.TrimLeft(rest, string(c)))
			if !emphasis(s, i, n, c) {
				b.WriteString(rest[:n])
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// link reads [words](target) or ![words](target) at the start of s.
func link(s string) (words string, size int) {
	start := strings.IndexByte(s, '[') + 1
	end := strings.Index(s, "](")
	if end < start {
		return "", 0
	}
	stop := strings.IndexByte(s[end:], ')')
	if stop < 0 {
		return "", 0
	}
	return s[start:end], end + stop + 1
}

// emphasis reports whether a run of n marks at i stresses words: it touches one
// on one side, has a partner, and is no part of a name such as some_name or of
// a sum.
func emphasis(s string, i, n int, c byte) bool {
	if n > 3 || c == '~' && n != 2 {
		return false
	}
	before, after := ' ', ' ' // as if at the ends
	if i > 0 {
		before, _ = utf8.DecodeLastRuneInString(s[:i])
	}
	if i+n < len(s) {
		after, _ = utf8.DecodeRuneInString(s[i+n:])
	}
	if unicode.IsSpace(before) == unicode.IsSpace(after) && unicode.IsSpace(after) {
		return false
	}
	if c == '_' && isWord(before) && isWord(after) {
		return false
	}
	mark := s[i : i+n]
	opens := !unicode.IsSpace(after) && strings.Contains(s[i+n:], mark)
	closes := !unicode.IsSpace(before) && strings.Contains(s[:i], mark)
	return opens || closes
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
