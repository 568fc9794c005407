package fsboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// busyBoard is a board with several revisions of several events.
func busyBoard(t testing.TB) *Board {
	t.Helper()
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 3)
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	mustClaim(t, b, "t_2", "bob")
	if _, err := b.Edit(ctx, "t_3", Edit{Priority: ptr(1)}); err != nil {
		t.Fatal(err)
	}
	addN(t, b, 2)
	return b
}

func TestHistoryLine(t *testing.T) {
	clk := fakeClock(t)
	b := openTest(t, Options{})
	addN(t, b, 1)
	mustClaim(t, b, "t_1", "ann")
	rows := strings.Split(strings.TrimSpace(string(readFile(t, b.historyPath()))), "\n")
	var e map[string]any
	if err := json.Unmarshal([]byte(rows[1]), &e); err != nil {
		t.Fatal(err)
	}
	task := wantState(t, b, "t_1", StateClaimed)
	for key, want := range map[string]any{
		"rev": 2.0, "n": 1.0, "of": 1.0, "at": float64(clk.wall.UnixMilli()), "time": stamp(clk.wall.UnixMilli()), "event": "claimed", "task": "t_1",
		"worker": "ann", "spawnId": "ann-1", "token": task.Claim.Token,
	} {
		if e[key] != want {
			t.Errorf("%s is %v, want %v", key, e[key], want)
		}
	}
	stored, err := task.encode()
	if err != nil {
		t.Fatal(err)
	}
	var raw struct{ Record json.RawMessage }
	if err := json.Unmarshal([]byte(rows[1]), &raw); err != nil || !bytes.Equal(raw.Record, stored) {
		t.Errorf("the record is %s, %v", raw.Record, err)
	}
	if last := lastLine(readFile(t, b.Path())); strings.Contains(last, "record") || !strings.Contains(last, `"event":"claimed"`) {
		t.Errorf("the snapshot's last line is %s", last)
	}
}

func lastLine(data []byte) string {
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	return rows[len(rows)-1]
}

// TestHistoryIsSettled: whatever the file lacks of the present revision, a
// reader sees it, and the next writer appends it before it commits.
func TestHistoryIsSettled(t *testing.T) {
	ctx := context.Background()
	want := eventNames(history(t, busyBoard(t)))
	for name, damage := range map[string]func(rows []string) string{
		"both missing": func(rows []string) string { return join(rows[:len(rows)-2]) },
		"one missing":  func(rows []string) string { return join(rows[:len(rows)-1]) },
		"torn":         func(rows []string) string { return join(rows[:len(rows)-1]) + rows[len(rows)-1][:40] },
		"torn number":  func(rows []string) string { return join(rows[:len(rows)-1]) + `{"rev":7` },
		"no newline":   func(rows []string) string { return strings.TrimSuffix(join(rows), "\n") },
		"NULs":         func(rows []string) string { return join(rows[:len(rows)-2]) + strings.Repeat("\x00", 5000) },
		"garbage line": func(rows []string) string { return join(rows[:len(rows)-2]) + "what is this\n" },
		"long garbage": func(rows []string) string {
			return join(rows[:len(rows)-2]) + strings.Repeat("x", 20_000) + "\n"
		},
	} {
		b := busyBoard(t)
		rows := strings.SplitAfter(string(readFile(t, b.historyPath())), "\n")
		rows = rows[:len(rows)-1]
		writeFile(t, b.historyPath(), []byte(damage(rows)))
		b = again(t, b)
		events, _, err := b.History(HistoryFilter{})
		if err != nil || eventNames(events) != want {
			t.Errorf("%s: readers see %s, %v", name, eventNames(events), err)
		}
		before := readFile(t, b.historyPath())
		if b.History(HistoryFilter{}); !bytes.Equal(before, readFile(t, b.historyPath())) {
			t.Errorf("%s: a reader wrote", name)
		}
		settled := false
		restore := fsx.SetFault(func(op fsx.Op, path string) error {
			switch {
			case path == b.historyPath() && op == fsx.OpFsync:
				settled = true
			case path == b.Path() && op == fsx.OpRename && !settled:
				t.Errorf("%s: it commits before history is on disk", name)
			}
			return nil
		})
		if _, err := b.Cancel(ctx, "t_5", "", false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		restore()
		events, torn, err := again(t, b).History(HistoryFilter{})
		if err != nil || eventNames(events) != want+", cancelled t_5" {
			t.Errorf("%s: then %s, %v", name, eventNames(events), err)
		}
		if bad := name == "torn" || name == "torn number" || name == "NULs" || strings.Contains(name, "garbage"); (torn > 0) != bad {
			t.Errorf("%s: %d torn lines", name, torn)
		}
		wantReplay(t, again(t, b))
	}
}

func join(rows []string) string { return strings.Join(rows, "") }

// TestHistoryOfTheFuture: events that are not committed are not shown, and a
// snapshot that is older than its history is not written over.
func TestHistoryOfTheFuture(t *testing.T) {
	ctx := context.Background()
	b := busyBoard(t)
	backup := readFile(t, b.Path())
	want := eventNames(history(t, b))
	if _, err := b.Cancel(ctx, "t_5", "", false); err != nil {
		t.Fatal(err)
	}
	writeFile(t, b.Path(), backup)
	b = again(t, b)
	if got := eventNames(history(t, b)); got != want {
		t.Errorf("readers see %s", got)
	}
	_, err := b.Cancel(ctx, "t_4", "", false)
	wantCode(t, err, errs.Corrupt)
	if !bytes.Equal(readFile(t, b.Path()), backup) {
		t.Error("the old snapshot was changed")
	}
	r, err := b.Repair(ctx)
	if err != nil || !r.Needed || r.Tasks != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantState(t, b, "t_5", StateCancelled) // history is newer
	wantSound(t, b)
}

func TestHistoryFilter(t *testing.T) {
	b := busyBoard(t)
	all := history(t, b)
	for _, c := range []struct {
		f    HistoryFilter
		want string
	}{
		{HistoryFilter{Task: "t_1"}, "added t_1, claimed t_1, completed t_1"},
		{HistoryFilter{After: 4}, "edited t_3, added t_4, added t_5"},
		{HistoryFilter{Since: all[len(all)-1].At + 1}, ""},
		{HistoryFilter{Task: "t_9"}, ""},
	} {
		events, _, err := b.History(c.f)
		if err != nil {
			t.Fatal(err)
		}
		wantEvents(t, events, c.want)
	}
	for i, e := range all {
		if e.Rev == 0 || e.N < 1 || e.N > e.Of || i > 0 && (e.Rev < all[i-1].Rev || e.Rev == all[i-1].Rev && e.N != all[i-1].N+1) {
			t.Errorf("event %d is %d of %d of revision %d", i, e.N, e.Of, e.Rev)
		}
	}
}

// TestHistoryUnwritable: a history that cannot be written holds no claim up
// that is committed, and no commit is made on top of it.
func TestHistoryUnwritable(t *testing.T) {
	ctx := context.Background()
	b := busyBoard(t)
	full := errors.New("disk full")
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if path == b.historyPath() && op == fsx.OpWrite {
			return full
		}
		return nil
	})
	defer restore()
	if _, err := b.Cancel(ctx, "t_5", "", false); err != nil {
		t.Fatal(err) // committed: the snapshot holds the event
	}
	rev := b.mustRevision(t)
	_, err := b.Cancel(ctx, "t_4", "", false)
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	wantPath(t, b, err)
	if b.mustRevision(t) != rev {
		t.Error("a commit was made over an event that is nowhere else")
	}
	restore()
	if _, err := b.Cancel(ctx, "t_4", "", false); err != nil {
		t.Fatal(err)
	}
	if got := eventNames(history(t, b)); !strings.HasSuffix(got, "cancelled t_5, cancelled t_4") {
		t.Error(got)
	}
	if err := os.Remove(b.historyPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.historyPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := again(t, b).History(HistoryFilter{}); err == nil {
		t.Error("a directory is a history")
	}
	if _, err := b.Cancel(ctx, "t_3", "", false); err == nil {
		t.Error("a commit without a history")
	}
}
