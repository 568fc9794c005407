package inbox

import (
	"bytes"
	"strings"
	"time"
	"unicode"
)

// Kinds of messages.
const (
	KindMessage = "message"
	KindReport  = "report" // of a teammate to the leader
	KindNotice  = "notice" // of the harness
)

// Statuses of a report.
const (
	StatusInProgress = "in_progress"
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
)

// Unknown is the sender of a message that names none.
const Unknown = "unknown"

// Message is a header, a body, and where it lies.
type Message struct {
	Header
	Body []byte
	Read bool  // it lies in cur/
	Size int64 // of the body, in bytes; set also when the body was not read
}

// complete fills in what a hand-written file leaves out. The id is always that
// of the file's name.
func (h *Header) complete(id string, body []byte) {
	h.ID = id
	if h.From == "" {
		h.From = Unknown
	}
	if h.Kind == "" {
		h.Kind = KindMessage
	}
	if h.Title == "" {
		h.Title = Title(body)
	}
	if h.Thread == "" {
		h.Thread = id
	}
}

// Time returns when the message was sent: by its header, else by its id, else
// zero.
func (h *Header) Time() time.Time {
	if t, err := time.Parse(time.RFC3339Nano, h.Sent); err == nil {
		return t
	}
	t, _ := IDTime(h.ID)
	return t
}

// maxTitle is the length of a title in runes.
const maxTitle = 120

// titleFrom is how much of a body a title is looked for in, in bytes.
const titleFrom = 64 << 10

// Title makes a title of a body: its first line that is not blank, white space
// folded, without control characters, cut at 120 runes with "…". It is "" when
// the first 64 KiB are blank.
func Title(body []byte) string {
	for row := range bytes.SplitSeq(body[:min(len(body), titleFrom)], []byte{'\n'}) {
		text := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(string(row), "\uFFFD"))
		title := strings.Join(strings.Fields(text), " ")
		if title == "" {
			continue
		}
		if runes := []rune(title); len(runes) > maxTitle {
			title = string(runes[:maxTitle-1]) + "…"
		}
		return title
	}
	return ""
}

// Terminal reports whether a report ends an assignment.
func (h *Header) Terminal() bool { return h.Status == StatusCompleted || h.Status == StatusFailed }
