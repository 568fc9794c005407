package inbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// impatient shortens the wait for a key, where it is known to be in vain.
func impatient(t testing.TB) {
	old := keyPatience
	keyPatience = 5 * time.Millisecond
	t.Cleanup(func() { keyPatience = old })
}

func noticed(b *Box) string { return filepath.Join(b.root, "noticed") }

// wantOnce checks that a key stands for exactly one message and is done.
func wantOnce(t testing.TB, b *Box, what string) {
	t.Helper()
	k, err := readKey(filepath.Join(noticed(b), "key"))
	if err != nil || !k.Done {
		t.Errorf("%s: key %+v %v", what, k, err)
	}
	list, problems, err := b.List(true)
	wantNone(t, problems)
	if err != nil || len(list) != 1 || list[0].ID != k.ID {
		t.Errorf("%s: %d messages, the key says %s: %v", what, len(list), k.ID, err)
	}
}

func TestPublishOnce(t *testing.T) {
	b := newBox(t)
	m := message("1", "harness", "hello")
	m.Thread = "1"
	id, first, err := b.PublishOnce(noticed(b), "key", m)
	if id != "1" || !first || err != nil {
		t.Errorf("%s %v %v", id, first, err)
	}
	m = message("2", "harness", "hello")
	id, first, err = b.PublishOnce(noticed(b), "key", m)
	if id != "1" || first || err != nil || m.ID != "2" {
		t.Errorf("again: %s %v %v", id, first, err)
	}
	wantOnce(t, b, "twice")
	// Read mail counts, and so does mail that is not there any more.
	receive(t, b, Receiving{})
	b.PublishOnce(noticed(b), "key", m)
	want(t, b, "", "1")
	os.Remove(b.file("1", true))
	b.PublishOnce(noticed(b), "key", m)
	want(t, b, "", "")
	if id, first, err = b.PublishOnce(noticed(b), "other", m); id != "2" || !first || err != nil {
		t.Errorf("another key: %s %v %v", id, first, err)
	}
}

// TestOnceTakenUp: whoever finds a key that is not done sends its own text
// under the id of the key.
func TestOnceTakenUp(t *testing.T) {
	b := newBox(t)
	if err := errors.Join(os.Mkdir(noticed(b), 0o700), os.WriteFile(filepath.Join(noticed(b), "key"), []byte(`{"id":"1","done":false}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	m := message("2", "harness", "hello")
	m.Thread = "2"
	id, first, err := b.PublishOnce(noticed(b), "key", m)
	if id != "1" || first || err != nil {
		t.Errorf("%s %v %v", id, first, err)
	}
	wantOnce(t, b, "taken up")
	if got, err := b.Get("1"); err != nil || string(got.Body) != "hello" || got.Thread != "1" {
		t.Errorf("%v %v", got, err)
	}
}

// TestOnceReadMeanwhile: a message that was read before its key was done is not
// sent again.
func TestOnceReadMeanwhile(t *testing.T) {
	b := newBox(t)
	put(t, b, true, "1")
	if err := errors.Join(os.Mkdir(noticed(b), 0o700), os.WriteFile(filepath.Join(noticed(b), "key"), []byte(`{"id":"1","done":false}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if id, first, err := b.PublishOnce(noticed(b), "key", message("2", "harness", "hello")); id != "1" || first || err != nil {
		t.Errorf("%s %v %v", id, first, err)
	}
	wantOnce(t, b, "read")
	want(t, b, "", "1")
}

func TestOnceCorruptKey(t *testing.T) {
	b := newBox(t)
	if err := os.Mkdir(noticed(b), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(noticed(b), "key")
	for _, content := range []string{"", "{", "\x00\x00", `{"id":""}`, `{"id":"../x"}`, "[]", strings.Repeat(" ", 5000)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.PublishOnce(noticed(b), "key", message("1", "harness", "x"))
		if errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), path) {
			t.Errorf("%.20q: %v", content, err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("%.20q was overwritten: %.40q %v", content, data, err)
		}
	}
	want(t, b, "", "")
}

// TestOnceHeld: the key of a message that somebody else is about to publish is
// waited for, not told of as sent.
func TestOnceHeld(t *testing.T) {
	impatient(t)
	b := newBox(t)
	path := filepath.Join(noticed(b), "key")
	if err := errors.Join(os.Mkdir(noticed(b), 0o700), os.WriteFile(path, []byte(`{"id":"1","done":false}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	lock, ok, err := fsx.LockFile(path)
	if !ok || err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.PublishOnce(noticed(b), "key", message("2", "harness", "x")); errs.CodeOf(err) != errs.Busy {
		t.Errorf("held: %v", err)
	}
	lock.Unlock()
	if id, first, err := b.PublishOnce(noticed(b), "key", message("2", "harness", "x")); id != "1" || first || err != nil {
		t.Errorf("free: %s %v %v", id, first, err)
	}
	wantOnce(t, b, "held")
}

// TestOnceWithoutCur: an outbox has no read messages.
func TestOnceWithoutCur(t *testing.T) {
	b := newBox(t)
	if err := os.RemoveAll(b.sub(true)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if id, _, err := b.PublishOnce(noticed(b), "key", message("1", "ann", "x")); id != "1" || err != nil {
			t.Errorf("%s %v", id, err)
		}
	}
	if ids, err := b.NewIDs(); len(ids) != 1 || err != nil {
		t.Errorf("%q %v", ids, err)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.PublishOnce(noticed(b), "other", message("1", "ann", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a mailbox: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(noticed(b), "other")); err == nil {
		t.Error("a key was made")
	}
}

// TestOnceKilled kills one process at each step, while and after which eight
// others try.
func TestOnceKilled(t *testing.T) {
	steps := 0
	for n := 1; ; n++ {
		b := newBox(t)
		_, ok := killed(t, b, n, "once", "0")
		if n%4 == 1 || *long {
			var peers []*peer
			for range 8 {
				peers = append(peers, start(t, "once", b.root, "key", "1"))
			}
			for _, p := range peers {
				p.finish(t)
			}
		} else if _, _, err := b.PublishOnce(noticed(b), "key", message("1", "harness", "x")); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
		wantOnce(t, b, "killed")
		if !ok {
			break
		}
		steps = n
	}
	if steps < 10 {
		t.Errorf("there were %d steps only", steps)
	}
}

// TestOnceRace: of eight processes one makes the key, and all know its id.
func TestOnceRace(t *testing.T) {
	rounds := 5
	if *long {
		rounds = 100
	}
	for range rounds {
		b := newBox(t)
		var peers []*peer
		for i := range 8 {
			peers = append(peers, start(t, "once", b.root, "key", string(rune('a'+i))))
		}
		firsts := 0
		ids := map[string]bool{}
		for _, p := range peers {
			for _, line := range p.finish(t) {
				id, first, _ := strings.Cut(line, " ")
				ids[id] = true
				if first == "true" {
					firsts++
				}
			}
		}
		if firsts != 1 || len(ids) != 1 {
			t.Errorf("%d made the key, ids %v", firsts, ids)
		}
		wantOnce(t, b, "race")
	}
}

// TestOnceInterleaved runs a second one at every step of the first.
func TestOnceInterleaved(t *testing.T) {
	impatient(t)
	for n := 1; ; n++ {
		b := newBox(t)
		var firsts int
		once := func(id string) {
			// The inner one finds the lock held by the outer one, which waits for it.
			_, first, err := b.PublishOnce(noticed(b), "key", message(id, "harness", "x"))
			if err != nil && errs.CodeOf(err) != errs.Busy {
				t.Errorf("step %d: %v", n, err)
			}
			if first {
				firsts++
			}
		}
		more := step(n, func() { once("1") }, func() { once("2") })
		if firsts != 1 {
			t.Errorf("step %d: %d made the key", n, firsts)
		}
		wantOnce(t, b, "interleaved")
		if !more {
			break
		}
	}
}
