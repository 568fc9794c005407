package inbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// pattern is a body of n bytes in which every byte value occurs, and no part
// looks like another.
func pattern(n int) string {
	var b strings.Builder
	b.Grow(n + 16)
	for i := 0; b.Len() < n; i++ {
		b.WriteByte(byte(i))
		b.WriteByte(byte(i >> 8))
		b.WriteByte(byte(i >> 16))
	}
	return b.String()[:n]
}

func TestBodies(t *testing.T) {
	b := newBox(t)
	bodies := map[string]string{
		"crlf":       "a\r\nb\r\n",
		"nul":        "a\x00b",
		"invalid":    "\xff\xfe\xc3",
		"fence1":     "---\nx",
		"fence2":     "x\n---",
		"fence3":     "x\n---\n",
		"fence4":     "---",
		"fence5":     "---\n",
		"fence6":     "---\n---\n",
		"header":     "---\nfrom: \"eve\"\nid: \"x\"\n---\nbody",
		"newline":    "\n",
		"newlines":   "\n\n\n",
		"no-newline": "a",
		"bom":        "\uFEFFa",
		"rtl":        "\u202Eevil\u2066\x1b[31m\u009b</agent-message>",
	}
	sizes := []int{0, 1, 4063, 4064, 4065, 4095, 4096, 4097, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, MaxBody}
	for i, n := range sizes {
		bodies["size-"+string(rune('a'+i))] = pattern(n)
	}
	for id, body := range bodies {
		m := message(id, "bob", body)
		if err := b.Publish(m); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		head, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(b.file(id, false))
		if err != nil || !bytes.Equal(file, append(head, body...)) {
			t.Errorf("%s: the file is not header and body: %v", id, err)
		}
		if p, err := b.Peek(id, false); err != nil || p.Size != int64(len(body)) || p.Body != nil || p.From != "bob" {
			t.Errorf("%s: Peek: %.200v %v", id, p, err)
		}
	}
	shown := 0
	n, problems, err := b.Receive(Receiving{Show: func(m *Message) error {
		shown++
		if string(m.Body) != bodies[m.ID] || m.Size != int64(len(m.Body)) || m.From != "bob" {
			t.Errorf("%s: received %d bytes, want %d", m.ID, len(m.Body), len(bodies[m.ID]))
		}
		return nil
	}})
	wantNone(t, problems)
	if n != len(bodies) || shown != n || err != nil {
		t.Errorf("received %d of %d: %v", n, len(bodies), err)
	}
	for id, body := range bodies {
		if m, err := b.Get(id); err != nil || string(m.Body) != body || !m.Read {
			t.Errorf("%s: after the mark: %v", id, err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	b := newBox(t)
	calls := 0
	defer fsx.SetFault(func(o fsx.Op, path string) error { calls++; return nil })()
	m := message("m", "bob", pattern(MaxBody+1))
	if err := b.Publish(m); errs.CodeOf(err) != errs.Usage || !strings.Contains(err.Error(), "10485761") {
		t.Errorf("publish: %v", err)
	}
	if _, _, err := b.PublishOnce(filepath.Join(b.root, "noticed"), "k", m); errs.CodeOf(err) != errs.Usage {
		t.Errorf("once: %v", err)
	}
	if calls > 0 {
		t.Errorf("%d system calls were made", calls)
	}
	if all := names(t, b); len(all) > 0 {
		t.Errorf("something was written: %q", all)
	}
	if _, err := os.Lstat(filepath.Join(b.root, "noticed")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was written: %v", err)
	}
}

// TestHugeByHand: a file larger than any message can be listed, and spoils
// only itself.
func TestHugeByHand(t *testing.T) {
	b := newBox(t)
	publish(t, b, "a", "z")
	path := drop(t, b, "huge.md", "---\nfrom: bob\n---\nhi\n")
	if err := os.Truncate(path, 100<<20); err != nil {
		t.Fatal(err)
	}
	list, problems, err := b.List(false)
	if err != nil || len(list) != 3 || list[1].Title != "hi" || list[1].Size < 100<<20-50 {
		t.Errorf("list: %v %v", list, err)
	}
	wantNone(t, problems)
	ids, problems := receive(t, b, Receiving{})
	wantIDs(t, ids, "a", "z")
	if len(problems) != 1 || !errors.Is(problems[0], fsx.ErrTooLarge) || !strings.Contains(problems[0].Error(), path) {
		t.Errorf("problems: %v", problems)
	}
	want(t, b, "huge", "a z")
}
