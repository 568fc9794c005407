package render

// Style is the look of one piece of text on a terminal with colours.
type Style uint8

// The styles. They carry no meaning that the text does not carry too.
const (
	Plain Style = iota
	Bold
	Dim
	Red
	Green
	Yellow
	Blue
	Cyan
)

const resetSGR = "\x1b[0m"

// sgr returns the escape sequence that switches the style on.
func (s Style) sgr() string {
	switch s {
	case Bold:
		return "\x1b[1m"
	case Dim:
		return "\x1b[2m"
	case Red:
		return "\x1b[31m"
	case Green:
		return "\x1b[32m"
	case Yellow:
		return "\x1b[33m"
	case Blue:
		return "\x1b[34m"
	case Cyan:
		return "\x1b[36m"
	}
	return ""
}

// Cell is text with a style: one field of a line.
type Cell struct {
	Text  string
	Style Style
}

// Styled returns text in a style.
func Styled(style Style, text string) Cell { return Cell{Text: text, Style: style} }

// Symbol returns the sign of a task's or a teammate's state, one cell wide, in
// the colour of that state. A state that is not known has the sign "·".
func Symbol(state string) Cell {
	switch state {
	case "completed", "passed", "succeeded", "done":
		return Cell{"✓", Green}
	case "failed", "timed_out", "killed", "could_not_start":
		return Cell{"✗", Red}
	case "cancelled", "abandoned", "stopped":
		return Cell{"✗", Dim}
	case "ready", "pending", "idle", "open":
		return Cell{"○", Plain}
	case "claimed", "in_progress", "working", "running":
		return Cell{"●", Cyan}
	case "submitted", "verifying", "starting":
		return Cell{"◐", Yellow}
	case "blocked", "waiting":
		return Cell{"…", Dim}
	}
	return Cell{"·", Dim}
}

// The signs of a result that is no state of anything.
const (
	Success = "✓"
	Failure = "✗"
)
