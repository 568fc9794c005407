package pi

import (
	"strings"
	"time"
	"unicode"
)

// State is what a pi does.
type State int

// Idle also means that nothing follows by itself: no retry, no compaction and
// no queued message.
const (
	Idle State = iota
	Working
	Ended
)

// String returns idle, working or ended.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Working:
		return "working"
	}
	return "ended"
}

// Usage is what model calls used: tokens, cost in the currency of pi's price
// list, and the number of calls. Pi does not tell what its compactions use.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Total      int64   `json:"totalTokens"`
	Cost       float64 `json:"cost"`
	Turns      int64   `json:"turns"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.Total += v.Total
	u.Cost += v.Cost
	u.Turns += v.Turns
}

// RunEnd says how a run ended: "stop", "length", "toolUse", "error", "aborted",
// and the words of an error.
type RunEnd struct {
	Reason string
	Error  string
}

// Failed tells whether the model could not be asked, or its answer failed.
func (r RunEnd) Failed() bool { return r.Reason == "error" }

// ActivityKind is a kind of Activity.
type ActivityKind string

// The kinds of activity.
const (
	RunStarted     ActivityKind = "run_start"
	RunEnded       ActivityKind = "run_end"    // Text: stop reason, and the error
	ToolStarted    ActivityKind = "tool_start" // Text: the argument that matters
	ToolEnded      ActivityKind = "tool_end"
	Thinking       ActivityKind = "thinking" // Text: its last line that is not blank
	Text           ActivityKind = "text"     // Text: its last line that is not blank
	Delivered      ActivityKind = "delivered"
	Nudged         ActivityKind = "nudge" // a prompt of ours made pi run its queue
	Retry          ActivityKind = "retry"
	Compaction     ActivityKind = "compaction"
	ExtensionError ActivityKind = "extension_error"
	Noise          ActivityKind = "noise" // a line that is no event
)

// Activity is one thing that pi did. Its texts come from the model and from
// tools: they are cut, but not made safe for a terminal.
type Activity struct {
	Kind    ActivityKind `json:"kind"`
	Time    time.Time    `json:"time"`
	Tool    string       `json:"tool,omitempty"`
	CallID  string       `json:"callId,omitempty"`
	Text    string       `json:"text,omitempty"`
	IsError bool         `json:"isError,omitempty"`
	Dropped int          `json:"dropped,omitempty"` // how many before it were dropped, since nobody took them in time
}

// Line is the activity as one line for a roster: a running tool with its
// argument, or a line of thinking or text without its Markdown marks, white
// space folded. Anything else is "Working...".
func (a Activity) Line() string {
	text := fold(a.Text)
	switch a.Kind {
	case ToolStarted:
		if text == "" {
			return a.Tool
		}
		return a.Tool + ": " + text
	case Thinking, Text:
		if text = plain(text); text != "" {
			return text
		}
	}
	return "Working..."
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// plain takes the marks of Markdown off a folded line.
func plain(s string) string {
	for {
		before := s
		s = strings.TrimLeft(s, "#> ")
		for _, mark := range []string{"- ", "* ", "+ ", "[ ] ", "[x] "} {
			s = strings.TrimPrefix(s, mark)
		}
		if s == before {
			break
		}
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && wordy(r) }) {
		return "" // a rule, or marks alone
	}
	s = strings.ReplaceAll(s, "**", "")
	s = strings.ReplaceAll(s, "__", "")
	s = strings.ReplaceAll(s, "`", "")
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		// A lone * or _ is a mark only at the edge of a word.
		if r == '*' || r == '_' {
			left := i > 0 && wordy(rs[i-1])
			right := i+1 < len(rs) && wordy(rs[i+1])
			if left != right {
				continue
			}
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// lastLine keeps the last line of a text that comes in pieces.
type lastLine struct {
	line string // being written
	last string // last whole one that counts
	long bool   // more than maxHead bytes came for line
}

// add takes a piece and returns the last line that is not blank.
func (t *lastLine) add(piece string) string {
	for {
		head, rest, found := strings.Cut(piece, "\n")
		if n := maxHead - len(t.line); n > 0 && !t.long {
			if len(head) > n {
				head, t.long = cut(head[:n]), true
			}
			t.line += head
		}
		if !found {
			break
		}
		if counts(t.line) {
			t.last = t.line
		}
		t.line, t.long, piece = "", false, rest
	}
	if counts(t.line) {
		return t.line
	}
	return t.last
}

// counts tells whether a line says anything: one that only tells of a cut does
// not.
func counts(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "... [truncated") && !strings.HasPrefix(line, "…[truncated")
}

// important returns the argument of a tool that says most.
func important(args []arg) string {
	for _, name := range []string{"command", "path", "file_path", "pattern", "query", "url", "name", "id", "subject", "to"} {
		for _, a := range args {
			if a.name == name {
				return a.value
			}
		}
	}
	if len(args) > 0 {
		return args[0].value
	}
	return ""
}
