package fsboard

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// FuzzReady: whatever stands in the ready list, it is of no revision or its rows
// can be looked at and changed one by one; and a claim by it is never wrong.
func FuzzReady(f *testing.F) {
	b := busyBoard(f)
	s, err := b.load()
	if err != nil {
		f.Fatal(err)
	}
	rev := s.head.Revision
	f.Add(readFile(f, b.readyPath()))
	head := readyMagic + strings.TrimSpace(string(mustJSON(f, rev))) + "\n"
	f.Add([]byte(head))
	f.Add([]byte(head + "t_1\t0\t2\t0\t\t\t\tone\n"))
	f.Add([]byte(head + "t_1\t0\t2\n\n\t\t\t\t\t\t\t\nt_1"))
	f.Add([]byte(head + "t_9999999999999999999\t-1\tx\t9\trole\tann\ta,b\tsubject\ttabs\t\n"))
	f.Add([]byte("# revision -1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := readyRevision(data); n < -1 {
			t.Fatal(n)
		}
		list, ok := parseReady(bytes.Clone(data), rev)
		if ok {
			for row := range list.rows() {
				if c, ok := parseCandidate(row); ok && !ValidID(c.id) {
					t.Fatalf("%q is %+v", row, c)
				}
			}
			for _, line := range s.lines {
				task, err := s.at(0)
				if err != nil {
					t.Fatal(err)
				}
				from, to := list.row(taskID(line.num))
				if at, ok := list.place(task); from > to || to > len(list) || ok && at > len(list) {
					t.Fatalf("%d to %d, place %d, of %d bytes", from, to, at, len(list))
				}
			}
		}
		// A board with this list: what it offers is really there to be taken.
		if err := os.WriteFile(b.readyPath(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		b := again(t, b)
		offers, err := b.Offers("ann", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range offers.Tasks {
			if !ValidID(o.ID) {
				t.Fatalf("%+v is offered", o)
			}
		}
	})
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzArchive: a line is a task or is counted as torn, and the last one of an id
// counts.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(`{"rev":5,"at":1,"task":{"id":"t_1","status":"completed","subject":"a"}}`))
	f.Add([]byte(`{"rev":5,"task":{"id":"t_1"}}` + "\n" + `{"rev":6,"task":{"id":"t_1","status":"cancelled"}}` + "\n{\"rev\":"))
	f.Add([]byte("\x00\n\n{}\nnull\n" + `{"task":null}`))
	f.Add([]byte(`{"task":{"id":"t_01"}}`))
	b := busyBoard(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(b.archivePath(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		b := again(t, b)
		var last *Task
		n := 0
		torn, err := b.scanArchive(nil, func(l archiveLine) {
			n++
			if !ValidID(l.Task.ID) {
				t.Fatalf("%+v", l.Task)
			}
			last = l.Task
		})
		if err != nil {
			t.Fatal(err)
		}
		if n+torn > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%d tasks and %d torn lines in %q", n, torn, data)
		}
		if last == nil {
			return
		}
		found, err := b.archived(last.ID)
		if err != nil {
			t.Fatal(err)
		}
		// Members may be spelled in ways that a search by text does not find.
		if found != nil && !bytes.Equal(mustJSON(t, found), mustJSON(t, last)) {
			t.Fatalf("%q: the last %s is %s, not %s", data, last.ID, mustJSON(t, last), mustJSON(t, found))
		}
	})
}

// FuzzGateRun: what stands in a run file names a run, or is removed.
func FuzzGateRun(f *testing.F) {
	f.Add([]byte(`{"runId":"abc","number":3,"submission":"s","pid":5,"startTime":7,"bootId":"b","pidNamespace":"n","host":"h"}`))
	f.Add([]byte(`{"runId":7}`))
	f.Add([]byte(`{"number":1e300,"runId":"x"}`))
	f.Add([]byte("\x00\x00"))
	b := busyBoard(f)
	path := b.gateRunPath("t_1")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := b.readRun("t_1")
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			if exists(path) {
				t.Fatalf("%q names no run and stays", data)
			}
			return
		}
		_ = r.visible()
		one := mustJSON(t, r)
		if err := os.WriteFile(path, one, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := b.readRun("t_1")
		if err != nil || again == nil || !bytes.Equal(one, mustJSON(t, again)) {
			t.Fatalf("%q is not stable: %s and %+v, %v", data, one, again, err)
		}
	})
}
