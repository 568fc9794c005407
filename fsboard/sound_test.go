package fsboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// wantSound checks what holds for every board at rest: it parses, the check
// finds no error, no marker of a leader is left, and history replayed gives the
// snapshot.
func wantSound(t tester, b *Board) {
	t.Helper()
	b = again(t, b)
	findings, err := b.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Severity == SeverityError {
			t.Errorf("finding %s: %s: %s", f.Code, f.Path, f.Message)
		}
	}
	for _, dir := range []string{"claims", "submissions"} {
		all, _, err := b.markers(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.marker != nil && f.marker.Worker == Leader {
				t.Errorf("a leader's marker is left: %s", f.path)
			}
		}
	}
	wantReplay(t, b)
	wantPromises(t, b)
}

// wantReplay compares the snapshot with the records of its history.
func wantReplay(t tester, b *Board) {
	t.Helper()
	s, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return
	}
	records := map[string][]byte{}
	rev, n := int64(0), 0
	if _, err := b.scanHistory(func(e *Event) {
		if e.Rev < rev || e.Rev == rev && e.N <= n || e.Rev > s.head.Revision {
			return
		}
		rev, n = e.Rev, e.N
		switch {
		case e.Event == EventArchived:
			delete(records, e.Task)
		case e.Record != nil:
			records[e.Task] = e.Record
		}
	}); err != nil {
		t.Fatal(err)
	}
	own, err := s.ownEvents()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range own {
		if e.Rev < rev || e.Rev == rev && e.N <= n {
			continue
		}
		if i, there := s.find(number(e.Task)); there {
			records[e.Task] = s.lines[i].raw[bytes.IndexByte(s.lines[i].raw, ':')+1:]
		} else {
			delete(records, e.Task)
		}
	}
	for i := range s.lines {
		id := taskID(s.lines[i].num)
		task, err := s.at(i)
		if err != nil {
			t.Fatal(err)
		}
		want, err := task.encode()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(records[id], want) {
			t.Errorf("history has another %s than the snapshot:\n%s\n%s", id, records[id], want)
		}
		delete(records, id)
	}
	for id := range records {
		t.Errorf("history has %s, the snapshot has not", id)
	}
}

// wantPromises follows the claims through the history: a task is held by one
// claim at a time, which is granted while the task can be claimed, ends at most
// once under each, and nothing happens in the name of a claim that is over.
func wantPromises(t tester, b *Board) {
	t.Helper()
	holder := map[string]string{} // token by task
	granted := map[string]bool{}  // task and epoch
	tasks := map[string]*Task{}   // as they were
	for _, e := range history(t, b) {
		at := func(format string, args ...any) {
			t.Helper()
			t.Errorf("revision %d.%d, %s of %s: "+format, append([]any{e.Rev, e.N, e.Event, e.Task}, args...)...)
		}
		var task *Task
		if e.Record != nil {
			task = new(Task)
			if err := json.Unmarshal(e.Record, task); err != nil {
				at("%v", err)
			}
		}
		switch e.Event {
		case EventRepaired:
			delete(holder, e.Task)
			if task != nil && task.Claim != nil {
				holder[e.Task] = task.Claim.Token
			}
		case EventClaimed:
			if h := holder[e.Task]; h != "" {
				at("it is held under %s", h)
			}
			key := fmt.Sprint(e.Task, " ", e.Epoch)
			if granted[key] {
				at("epoch %d was granted before", e.Epoch)
			}
			granted[key] = true
			holder[e.Task] = e.Token
			if e.Worker == Leader {
				at("a leader's marker was granted")
			}
			if was := tasks[e.Task]; was != nil && e.Reason != "adopted" {
				if was.Assignee != "" && was.Assignee != e.Worker {
					at("it is %s's", was.Assignee)
				}
				for _, d := range was.DependsOn {
					if dep := tasks[d]; dep != nil && dep.Status != Completed {
						at("it waits for %s", d)
					}
				}
			}
		case EventCompleted, EventFailed, EventReleased:
			if holder[e.Task] != e.Token {
				at("its token %s is not that of the holder, %s", e.Token, holder[e.Task])
			}
			delete(holder, e.Task)
		case EventGateFailed, EventRenewed:
			if holder[e.Task] != e.Token {
				at("its token %s is not that of the holder, %s", e.Token, holder[e.Task])
			}
		case EventCancelled:
			delete(holder, e.Task)
		}
		if task != nil {
			tasks[e.Task] = task
		}
	}
}

// wantPath checks that an error names a path of the board.
func wantPath(t testing.TB, b *Board, err error) {
	t.Helper()
	var pe *fs.PathError
	var e *errs.Error
	if errors.As(err, &pe) && strings.HasPrefix(pe.Path, b.o.Dir) || errors.As(err, &e) && strings.HasPrefix(e.Path, b.o.Dir) {
		return
	}
	if !strings.Contains(err.Error(), b.o.Dir) {
		t.Errorf("the error names no path of the board: %v", err)
	}
}
