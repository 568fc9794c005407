package inbox

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// FuzzHeader: no file makes the parser panic or disagree with itself, and what
// is written is read back with every byte of the body.
func FuzzHeader(f *testing.F) {
	f.Add("", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, values, key, value string, body []byte) {
		var h Header
		for i, v := range strings.SplitN(values, "|", fieldCount) {
			_, field := h.field(i)
			*field = v
		}
		if key != "" {
			h.Extra = []Pair{{key, value}, {key + "2", value}}
		}
		head, err := h.Encode()
		if err == nil {
			got, n := splitHeader(append(bytes.Clone(head), body...), true)
			if n != len(head) || !reflect.DeepEqual(got, valid(h)) {
				t.Errorf("wrote %+v\nread  %+v, %d of %d bytes", h, got, n, len(head))
			}
			// All but the end of the file: the same header or none.
			if got, n := splitHeader(head, false); n != len(head) || !reflect.DeepEqual(got, valid(h)) {
				t.Errorf("without a body: %+v", got)
			}
			if _, n := splitHeader(head[:len(head)-1], false); n != 0 {
				t.Errorf("a header that is cut off was taken for one: %q", head)
			}
		} else if len(key) > 0 && plainKey(key) && plainKey(key+"2") && h.index(key) < 0 && h.index(key+"2") < 0 && len(values)+2*len(value) < maxHeader/6 {
			t.Errorf("refused: %v", err)
		}
		// The body as a file of its own.
		own, n := splitHeader(body, true)
		if n < 0 || n > len(body) {
			t.Fatalf("the body begins at %d of %d", n, len(body))
		}
		if again, err := own.Encode(); err == nil && n > 0 {
			if got, m := splitHeader(again, true); m != len(again) || !reflect.DeepEqual(got, own) {
				t.Errorf("read %+v\nagain %+v", own, got)
			}
		}
		title := Title(body)
		if strings.ContainsAny(title, "\n\r\x1b\x00") || len([]rune(title)) > maxTitle {
			t.Errorf("title %q", title)
		}
	})
}

// valid is h as JSON keeps it.
func valid(h Header) Header {
	text := func(s string) string { return string([]rune(s)) }
	for i := range fieldCount {
		_, field := h.field(i)
		*field = text(*field)
	}
	extra := h.Extra
	h.Extra = nil
	for _, p := range extra {
		h.Extra = append(h.Extra, Pair{p.Key, text(p.Value)})
	}
	return h
}
