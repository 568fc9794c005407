package inbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

// MaxBody is the largest body, in bytes.
const MaxBody = 10 << 20

// maxFile bounds what is read as a message: a body and its header.
const maxFile = MaxBody + maxHeader

// maxHeader bounds a header.
const maxHeader = 64 << 10

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

// Header is what stands above a message's body. The order of the fields is
// that of the file; empty ones are left out.
type Header struct {
	ID           string `json:"id"`
	From         string `json:"from"`
	To           string `json:"to"`
	Kind         string `json:"kind"`
	Event        string `json:"event"` // of a notice
	Title        string `json:"title"`
	Sent         string `json:"sent"`   // RFC 3339, UTC, microseconds
	Status       string `json:"status"` // of a report
	Thread       string `json:"thread"` // id of the first message of the conversation
	ReplyTo      string `json:"reply_to"`
	ExpectsReply string `json:"expects_reply"` // the deadline, RFC 3339
	Task         string `json:"task"`
	Key          string `json:"key"`   // idempotency key of the sender
	Later        string `json:"later"` // "true": not before the end of the reader's run
	Spawn        string `json:"spawn"` // the sender's life
	ToSpawn      string `json:"to_spawn"`
	Hold         string `json:"hold"`    // "true": for whoever has the name next
	Outcome      string `json:"outcome"` // why a message came back or was rejected

	Extra []Pair `json:"-"` // keys that are not known, in the order of the file
}

// Pair is one line of a header.
type Pair struct{ Key, Value string }

// Message is a header, a body, and where it lies.
type Message struct {
	Header
	Body []byte
	Read bool  // it lies in cur/
	Size int64 // of the body, in bytes; set also when the body was not read
}

// fields lists the header's fields in their order.
func (h *Header) fields() []struct {
	key   string
	value *string
} {
	return []struct {
		key   string
		value *string
	}{
		{"id", &h.ID}, {"from", &h.From}, {"to", &h.To}, {"kind", &h.Kind}, {"event", &h.Event}, {"title", &h.Title}, {"sent", &h.Sent},
		{"status", &h.Status}, {"thread", &h.Thread}, {"reply_to", &h.ReplyTo}, {"expects_reply", &h.ExpectsReply}, {"task", &h.Task},
		{"key", &h.Key}, {"later", &h.Later}, {"spawn", &h.Spawn}, {"to_spawn", &h.ToSpawn}, {"hold", &h.Hold}, {"outcome", &h.Outcome},
	}
}

// fence is the line that opens and closes a header.
const fence = "---"

// Encode returns the header as it stands in the file, both fences included.
func (h *Header) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(fence + "\n")
	line := func(key, value string) error {
		enc, err := jsonString(value)
		if err != nil {
			return err
		}
		b.WriteString(key + ": " + enc + "\n")
		return nil
	}
	for _, f := range h.fields() {
		if *f.value == "" {
			continue
		}
		if err := line(f.key, *f.value); err != nil {
			return nil, err
		}
	}
	for _, p := range h.Extra {
		if err := line(p.Key, p.Value); err != nil {
			return nil, err
		}
	}
	b.WriteString(fence + "\n")
	if b.Len() > maxHeader {
		return nil, errs.New(errs.Usage, "the header has %d bytes, at most %d are allowed", b.Len(), maxHeader)
	}
	return b.Bytes(), nil
}

// jsonString is one JSON string on one line.
func jsonString(s string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// splitHeader reads the header at the start of a file and returns where the
// body begins. Without a whole header everything is body.
func splitHeader(data []byte) (h Header, body int) {
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return h, 0
	}
	first, rest, ok := bytes.Cut(rest, []byte{'\n'})
	if !ok || len(bytes.TrimRight(first, "\r")) > 0 {
		return h, 0
	}
	known := map[string]*string{}
	for _, f := range h.fields() {
		known[f.key] = f.value
	}
	for {
		row, after, ok := bytes.Cut(rest, []byte{'\n'})
		row = bytes.TrimRight(row, "\r")
		if string(row) == fence {
			return h, len(data) - len(after)
		}
		key, value, colon := strings.Cut(string(row), ":")
		if !ok || !colon || !plainKey(key) || len(data)-len(after) > maxHeader {
			return Header{}, 0 // no header after all
		}
		value = headerValue(strings.TrimSpace(value))
		if field := known[key]; field != nil {
			*field = value
		} else {
			h.Extra = append(h.Extra, Pair{key, value})
		}
		rest = after
	}
}

// headerValue reads a JSON string; what a person wrote without quotes is taken
// as it stands.
func headerValue(raw string) string {
	var s string
	if strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return strings.ToValidUTF8(raw, "\uFFFD")
}

func plainKey(key string) bool {
	if key == "" || len(key) > 64 {
		return false
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
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

// Title makes a title of a body: its first line that is not blank, white space
// folded, cut.
func Title(body []byte) string {
	for row := range bytes.SplitSeq(body[:min(len(body), maxHeader)], []byte{'\n'}) {
		words := strings.Fields(strings.ToValidUTF8(string(row), "\uFFFD"))
		title := strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, strings.Join(words, " "))
		if title == "" {
			continue
		}
		if utf8.RuneCountInString(title) > maxTitle {
			runes := []rune(title)
			title = string(runes[:maxTitle-1]) + "…"
		}
		return title
	}
	return ""
}

// Terminal reports whether a report ends an assignment.
func (h *Header) Terminal() bool { return h.Status == StatusCompleted || h.Status == StatusFailed }
