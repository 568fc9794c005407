package inbox

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func fullHeader() Header {
	return Header{
		ID: "20261130T130501.123456Z-alice-7f3a9c", From: "alice", To: "bob", Kind: KindReport, Event: "gate_failed",
		Title: "a: \"b\" # c <d> & 'e' \\ \t \u2028 \x1b[31m ü", Sent: "2026-11-30T13:05:01.123456Z", Status: StatusFailed,
		Thread: "t", ReplyTo: "r", ExpectsReply: "true", Task: "t_12", Key: "k", Later: "true", Spawn: "0f6c", ToSpawn: "a91b",
		Hold: "true", Outcome: "why\nnot\r\n---\n",
		Extra: []Pair{{"zebra", "1"}, {"Alpha", ""}, {"x.y-z_1", "---"}},
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	h := fullHeader()
	head, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(head), "\n"), "\n") {
		if line == fence && (i == 0 || i == fieldCount+len(h.Extra)+1) {
			continue
		}
		if _, value, ok := strings.Cut(line, ": "); !ok || value[0] != '"' || value[len(value)-1] != '"' {
			t.Errorf("line %d is %q: not a JSON string", i, line)
		}
	}
	got, body := splitHeader(append(head, "body"...), true)
	if body != len(head) || !reflect.DeepEqual(got, h) {
		t.Errorf("got %+v\nwant %+v", got, h)
	}
}

// TestEveryFieldHasItsKey finds a field that was added without a key.
func TestEveryFieldHasItsKey(t *testing.T) {
	var h Header
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name == "Extra" {
			continue
		}
		key, value := h.field(i)
		if value != v.Field(i).Addr().Interface().(*string) || key != v.Type().Field(i).Tag.Get("json") {
			t.Errorf("field %d is %q", i, key)
		}
	}
	if v.NumField() != fieldCount+1 {
		t.Errorf("%d fields, %d keys", v.NumField()-1, fieldCount)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, h := range []Header{
		{Extra: []Pair{{"from", "x"}}},
		{Extra: []Pair{{"", "x"}}},
		{Extra: []Pair{{"a: b\nfrom", "x"}}},
		{Extra: []Pair{{"--", "x"}}},
		{Extra: []Pair{{strings.Repeat("k", 65), "x"}}},
		{Title: strings.Repeat("x", maxHeader)},
	} {
		if _, err := h.Encode(); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%.80v: %v", h, err)
		}
	}
}

// TestByHand reads files as people and other programs write them.
func TestByHand(t *testing.T) {
	title := strings.Repeat("t", 5000)
	for _, c := range []struct {
		name, file, body string
		want             Header // but for id, kind and thread, unless they differ
	}{
		{"body alone", "hello\nthere", "hello\nthere", Header{From: Unknown, Title: "hello"}},
		{"empty", "", "", Header{From: Unknown}},
		{"newline", "\n", "\n", Header{From: Unknown}},
		{"unquoted", "---\nfrom: bob\nto: ann\ntitle: a: b # c\nlater: true\n---\nhi\n", "hi\n", Header{From: "bob", To: "ann", Title: "a: b # c", Later: "true"}},
		{"single quotes", "---\nfrom: 'bob'\ntitle: 'it''s'\n---\nhi", "hi", Header{From: "bob", Title: "it's"}},
		{"bad JSON", "---\ntitle: \"a\" b\n---\n", "", Header{From: Unknown, Title: "\"a\" b"}},
		{"CRLF", "---\r\nfrom: \"bob\"\r\n---\r\nhi\r\n", "hi\r\n", Header{From: "bob", Title: "hi"}},
		{"byte order mark", "\uFEFF---\nfrom: bob\n---\nhi", "hi", Header{From: "bob", Title: "hi"}},
		{"mark and body", "\uFEFFhi", "\uFEFFhi", Header{From: Unknown, Title: "\uFEFFhi"}},
		{"no space", "---\nfrom:bob\n---\nhi", "hi", Header{From: "bob", Title: "hi"}},
		{"unknown keys in order", "---\nzeta: 1\nfrom: bob\nAlpha: \"2\"\nzeta: 3\n---\n", "", Header{From: "bob", Extra: []Pair{{"zeta", "1"}, {"Alpha", "2"}, {"zeta", "3"}}}},
		{"twice", "---\nfrom: bob\nfrom: eve\n---\nx", "x", Header{From: "bob", Title: "x"}},
		{"twice, first empty", "---\nfrom: \"\"\nfrom: eve\n---\nx", "x", Header{From: Unknown, Title: "x"}},
		{"id is the name", "---\nid: other\n---\nx", "x", Header{From: Unknown, Title: "x"}},
		{"empty header", "---\n---\nx", "x", Header{From: Unknown, Title: "x"}},
		{"fences alone", "---\n---\n", "", Header{From: Unknown}},
		{"no newline at the end", "---\nfrom: bob\n---", "", Header{From: "bob"}},
		{"one fence", "---\n", "---\n", Header{From: Unknown, Title: "---"}},
		{"one fence, no newline", "---", "---", Header{From: Unknown, Title: "---"}},
		{"three fences", "---\n---\n---\n", "---\n", Header{From: Unknown, Title: "---"}},
		{"never closed", "---\nfrom: bob\nhi\n", "---\nfrom: bob\nhi\n", Header{From: Unknown, Title: "---"}},
		{"never closed, all keys", "---\nfrom: bob\n", "---\nfrom: bob\n", Header{From: Unknown, Title: "---"}},
		{"long fence", "----\nfrom: bob\n---\n", "----\nfrom: bob\n---\n", Header{From: Unknown, Title: "----"}},
		{"fence with more", "---x\nfrom: bob\n---\n", "---x\nfrom: bob\n---\n", Header{From: Unknown, Title: "---x"}},
		{"list", "---\n- from: bob\n---\nx", "---\n- from: bob\n---\nx", Header{From: Unknown, Title: "---"}},
		{"dashes as key", "---\n---: bob\n---\nx", "---\n---: bob\n---\nx", Header{From: Unknown, Title: "---"}},
		{"rule in Markdown", "---\n\ntext\n\n---\n", "---\n\ntext\n\n---\n", Header{From: Unknown, Title: "---"}},
		{"two headers", "---\nfrom: bob\n---\n---\nfrom: eve\n---\nx", "---\nfrom: eve\n---\nx", Header{From: "bob", Title: "---"}},
		{"not UTF-8", "---\nfrom: b\xffb\n---\nx\xff", "x\xff", Header{From: "b\uFFFDb", Title: "x\uFFFD"}},
		{"large", "---\nnote: " + title + "\nfrom: bob\n---\nhi\nho", "hi\nho", Header{From: "bob", Title: "hi", Extra: []Pair{{"note", title}}}},
		{"too large", "---\nnote: " + strings.Repeat("n", maxHeader) + "\n---\nhi", "---\nnote: " + strings.Repeat("n", maxHeader) + "\n---\nhi", Header{From: Unknown, Title: "---"}},
		{"late title", "\n" + strings.Repeat(" \n", 4000) + "at last\nx", "\n" + strings.Repeat(" \n", 4000) + "at last\nx", Header{From: Unknown, Title: "at last"}},
	} {
		b := newBox(t)
		drop(t, b, "m.md", c.file)
		c.want.ID, c.want.Thread = "m", "m"
		c.want.Kind = KindMessage
		m, err := b.Get("m")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(m.Body) != c.body || m.Size != int64(len(c.body)) {
			t.Errorf("%s: body is %.80q, %d bytes", c.name, m.Body, m.Size)
		}
		if !reflect.DeepEqual(m.Header, c.want) {
			t.Errorf("%s: got  %.300v\nwant %.300v", c.name, m.Header, c.want)
		}
		p, err := b.Peek("m", false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		m.Body = nil
		if !reflect.DeepEqual(p, m) {
			t.Errorf("%s: Peek has %.300v\nGet has %.300v", c.name, p, m)
		}
	}
}

// TestPeekBorder moves every part of a header over the end of what is read
// first: Peek and Get have to agree.
func TestPeekBorder(t *testing.T) {
	b := newBox(t)
	for _, tail := range []string{"---\nbody\n", "---\n---\nbody", "---x\n---\nbody", "---: x\n---\nbody", "---", "title: \"late\"\n---\nbody", "x: y\r\n---\r\nbody\r\n"} {
		for shift := range len(tail) + 4 {
			pad := usualHeader - len("---\nfrom: bob\nnote: \n") - len(tail) + shift - 2
			path := drop(t, b, "m.md", "---\nfrom: bob\nnote: "+strings.Repeat("n", pad)+"\n"+tail)
			m, err := b.Get("m")
			if err != nil {
				t.Fatal(err)
			}
			p, err := b.Peek("m", false)
			if err != nil {
				t.Fatal(err)
			}
			m.Body = nil
			if !reflect.DeepEqual(p, m) {
				info, _ := os.Stat(path)
				t.Fatalf("%q with %d bytes: Peek has %.300v\nGet has %.300v", tail, info.Size(), p, m)
			}
		}
	}
}

// TestHeaderLimit: the largest header that can be written is read back, by Peek
// too.
func TestHeaderLimit(t *testing.T) {
	b := newBox(t)
	m := message("m", "bob", "hi")
	head, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.Extra = []Pair{{"pad", strings.Repeat("p", maxHeader-len(head)-len("pad: \"\"\n"))}}
	if err := b.Publish(m); err != nil {
		t.Fatal(err)
	}
	for _, get := range []func() (*Message, error){
		func() (*Message, error) { return b.Get("m") },
		func() (*Message, error) { return b.Peek("m", false) },
	} {
		got, err := get()
		if err != nil || got.From != "bob" || len(got.Extra) != 1 || got.Size != 2 {
			t.Errorf("%.200v %v", got, err)
		}
	}
	m.ID, m.Extra[0].Value = "m2", m.Extra[0].Value+"p"
	if err := b.Publish(m); errs.CodeOf(err) != errs.Usage {
		t.Errorf("one byte more: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(b.Dir(), "new", "m2.md")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"", ""},
		{" \n\t\r\n", ""},
		{"\n\n  one \t two  \nthree", "one two"},
		{"a\rb", "a b"},
		{"\x1b[31mred\x07", "[31mred"},
		{"\x1b \x00\nnext", "next"},
		{"c1 \u009b31m", "c1 31m"},
		{"\xff\xfe", "\uFFFD"},
		{strings.Repeat("ü", 120), strings.Repeat("ü", 120)},
		{strings.Repeat("ü", 121), strings.Repeat("ü", 119) + "…"},
		{strings.Repeat("\n", titleFrom) + "x", ""},
	} {
		if got := Title([]byte(c.body)); got != c.want {
			t.Errorf("%.40q: %q", c.body, got)
		}
	}
}

func TestTerminal(t *testing.T) {
	for status, want := range map[string]bool{"": false, StatusInProgress: false, StatusCompleted: true, StatusFailed: true} {
		if h := (Header{Status: status}); h.Terminal() != want {
			t.Errorf("%q: %v", status, !want)
		}
	}
}
