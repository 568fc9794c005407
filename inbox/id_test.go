package inbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestIDs(t *testing.T) {
	at := time.Date(2026, 11, 30, 14, 5, 1, 123456789, time.FixedZone("", 3600))
	id := NewID(at, "al-ice")
	if !strings.HasPrefix(id, "20261130T130501.123456Z-al-ice-") || len(id) != len("20261130T130501.123456Z-al-ice-7f3a9c") {
		t.Errorf("id %q", id)
	}
	if CheckID(id) != nil || IDSender(id) != "al-ice" {
		t.Errorf("sender %q, %v", IDSender(id), CheckID(id))
	}
	if got, ok := IDTime(id); !ok || !got.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("time %v %v", got, ok)
	}
	for _, id := range []string{"", "x", "hello-world", "20261130T130501.123456Z"} {
		if _, ok := IDTime(id); ok {
			t.Errorf("%q has a time", id)
		}
		if s := IDSender(id); s != "" {
			t.Errorf("%q has the sender %q", id, s)
		}
	}
	long := strings.Repeat("x", maxID)
	for _, id := range []string{id, long} {
		if fresh := FreshID(id); CheckID(fresh) != nil || fresh == id {
			t.Errorf("fresh %q", fresh)
		}
	}
	h := Header{ID: id}
	if !h.Time().Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("time by id %v", h.Time())
	}
	h.Sent = "2026-11-30T13:05:02.5Z"
	if h.Time().UnixMilli() != at.Truncate(time.Second).UnixMilli()+1500 {
		t.Errorf("time by header %v", h.Time())
	}
	h.Sent, h.ID = "yesterday", "hello"
	if !h.Time().IsZero() {
		t.Errorf("time %v", h.Time())
	}
}

// TestNextIDIncreases: ids of one sender increase in the order in which they
// were given out, whatever the clock does.
func TestNextIDIncreases(t *testing.T) {
	dir := t.TempDir()
	base := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	last := ""
	for i, step := range []time.Duration{0, 0, time.Nanosecond, 24 * time.Hour, -24 * time.Hour, 0, time.Hour, 48 * time.Hour, -time.Hour} {
		restore := fsx.SetNow(func() time.Time { return base.Add(step) })
		id, at, err := NextID(context.Background(), dir, "ann")
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			t.Errorf("step %d: %s after %s", i, id, last)
		}
		if got, ok := IDTime(id); !ok || !got.Equal(at) {
			t.Errorf("step %d: %v, id %s", i, at, id)
		}
		last = id
	}
}

func TestNextIDOfManyProcesses(t *testing.T) {
	dir := t.TempDir()
	n := 100
	if *long {
		n = 2000
	}
	var peers []*peer
	for range 8 {
		peers = append(peers, start(t, "ids", dir, dir, "ann", strconv.Itoa(n)))
	}
	var all []string
	for _, p := range peers {
		ids := p.finish(t)
		if !slices.IsSorted(ids) || len(ids) != n {
			t.Errorf("one process got %d ids, in order: %v", len(ids), slices.IsSorted(ids))
		}
		all = append(all, ids...)
	}
	// No two have one time: it is the time that gives the order.
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i][:len(idTime)] == all[i-1][:len(idTime)] {
			t.Errorf("%s and %s", all[i-1], all[i])
		}
	}
}

func TestNextIDFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "last-id")
	next := func() (string, error) {
		id, _, err := NextID(context.Background(), dir, "ann")
		return id, err
	}
	// A power cut may leave it empty or torn: the clock will do.
	for _, content := range []string{"", "\n", "2026", "\x00\x00\x00"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := next(); err != nil || CheckID(id) != nil {
			t.Errorf("%q: %s %v", content, id, err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Symlink("elsewhere", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := next(); !errors.Is(err, fsx.ErrIrregular) || !strings.Contains(err.Error(), path) {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the link was followed")
	}
	for _, from := range []string{"", "../x", "a b"} {
		if _, _, err := NextID(context.Background(), dir, from); errs.CodeOf(err) != errs.Usage {
			t.Errorf("sender %q: %v", from, err)
		}
	}
}

func TestNextIDFaults(t *testing.T) {
	b := newBox(t)
	last := ""
	for n := 1; ; n++ {
		var err error
		call := failing(n, syscall.EIO, func() { err = operation(b, "nextid", "") })
		if call == "" {
			break
		}
		if err == nil && !strings.HasPrefix(call, "unlink") {
			t.Errorf("%s failed: no error", call)
		}
		if err != nil && !strings.Contains(err.Error(), b.root) {
			t.Errorf("%s: %v names no path", call, err)
		}
		id, _, err := NextID(context.Background(), b.root, "ann")
		if err != nil || id <= last {
			t.Errorf("after %s: %s %v", call, id, err)
		}
		last = id
		if _, ok := killed(t, b, n, "nextid", ""); !ok {
			t.Errorf("%s: not killed", call)
		}
		if id, _, err = NextID(context.Background(), b.root, "ann"); err != nil || id <= last {
			t.Errorf("killed before %s: %s %v", call, id, err)
		}
		last = id
	}
}
