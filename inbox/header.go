package inbox

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

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

// fieldCount is the number of known keys.
const fieldCount = 18

// field returns the i-th known key, in the order of the file, and its value.
func (h *Header) field(i int) (key string, value *string) {
	switch i {
	case 0:
		return "id", &h.ID
	case 1:
		return "from", &h.From
	case 2:
		return "to", &h.To
	case 3:
		return "kind", &h.Kind
	case 4:
		return "event", &h.Event
	case 5:
		return "title", &h.Title
	case 6:
		return "sent", &h.Sent
	case 7:
		return "status", &h.Status
	case 8:
		return "thread", &h.Thread
	case 9:
		return "reply_to", &h.ReplyTo
	case 10:
		return "expects_reply", &h.ExpectsReply
	case 11:
		return "task", &h.Task
	case 12:
		return "key", &h.Key
	case 13:
		return "later", &h.Later
	case 14:
		return "spawn", &h.Spawn
	case 15:
		return "to_spawn", &h.ToSpawn
	case 16:
		return "hold", &h.Hold
	case 17:
		return "outcome", &h.Outcome
	}
	return "", nil
}

// index returns the place of a known key, -1 for any other.
func (h *Header) index(key string) int {
	for i := range fieldCount {
		if k, _ := h.field(i); k == key {
			return i
		}
	}
	return -1
}

// fence is the line that opens and closes a header.
const fence = "---"

// Encode returns the header as it stands in the file, both fences included.
// The values are JSON strings; bytes that are not UTF-8 become U+FFFD. An extra
// key that is a known one, or could not be read back, is a usage error.
func (h *Header) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(fence + "\n")
	var enc *json.Encoder
	line := func(key, value string) error {
		b.WriteString(key)
		b.WriteString(": ")
		if plainText(value) {
			b.WriteByte('"')
			b.WriteString(value)
			b.WriteString("\"\n")
			return nil
		}
		if enc == nil {
			enc = json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
		}
		return enc.Encode(value) // with the newline
	}
	for i := range fieldCount {
		key, value := h.field(i)
		if *value == "" {
			continue
		}
		if err := line(key, *value); err != nil {
			return nil, err
		}
	}
	for _, p := range h.Extra {
		if !plainKey(p.Key) || h.index(p.Key) >= 0 {
			return nil, errs.New(errs.Usage, "%q cannot be an extra key of a header", p.Key)
		}
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

// splitHeader reads the header at the start of a file and returns where the
// body begins. Without a whole header everything is body. Of a key that comes
// twice the first one counts. whole says that data is all of the file: only
// then does a line end with it.
func splitHeader(data []byte, whole bool) (h Header, body int) {
	rest, ok := nextFence(data)
	if !ok {
		return h, 0
	}
	var seen [fieldCount]bool
	for {
		row, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended && !whole || len(data)-len(after) > maxHeader {
			return Header{}, 0
		}
		row = bytes.TrimRight(row, "\r")
		if string(row) == fence {
			return h, len(data) - len(after)
		}
		key, value, colon := strings.Cut(string(row), ":")
		if !ended || !colon || !plainKey(key) {
			return Header{}, 0 // no header after all
		}
		value = headerValue(strings.TrimSpace(value))
		switch i := h.index(key); {
		case i < 0:
			h.Extra = append(h.Extra, Pair{key, value})
		case !seen[i]:
			seen[i] = true
			_, field := h.field(i)
			*field = value
		}
		rest = after
	}
}

// nextFence takes the opening fence off. Some editors put a byte order mark
// before it.
func nextFence(data []byte) (rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte(fence))
	if !ok {
		return nil, false
	}
	first, rest, ok := bytes.Cut(rest, []byte{'\n'})
	return rest, ok && len(bytes.TrimRight(first, "\r")) == 0
}

// headerValue reads a JSON string, or one in single quotes as YAML has them;
// what a person wrote without quotes is taken as it stands.
func headerValue(raw string) string {
	var s string
	n := len(raw)
	switch {
	case n >= 2 && raw[0] == '"' && raw[n-1] == '"' && plainText(raw[1:n-1]):
		return raw[1 : n-1]
	case n >= 2 && raw[0] == '"' && json.Unmarshal([]byte(raw), &s) == nil:
		return s
	case n >= 2 && raw[0] == '\'' && raw[n-1] == '\'':
		raw = strings.ReplaceAll(raw[1:n-1], "''", "'")
	}
	return strings.ToValidUTF8(raw, "\uFFFD")
}

// plainText reports whether s stands for itself in a JSON string: it is
// printable ASCII without quotes and backslashes.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// plainKey reports whether key can be one of a header: it begins with a letter
// or a digit, so that a line of dashes or a list is none.
func plainKey(key string) bool {
	if key == "" || len(key) > 64 || key[0] == '_' || key[0] == '-' || key[0] == '.' {
		return false
	}
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}
