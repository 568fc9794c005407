package fsboard

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// encoded is a snapshot's file content.
func encoded(t testing.TB, s *snapshot) []byte {
	t.Helper()
	parts, _, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(parts, nil)
}

// FuzzSnapshot: no content makes the parser panic, and what it takes it writes
// so that it reads the same again.
func FuzzSnapshot(f *testing.F) {
	whole := readFile(f, busyBoard(f).Path())
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"tasks":{"t_1":{"id":"t_1","status":"pending","subject":"a"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSnapshot(bytes.Clone(data))
		if err != nil {
			return
		}
		bad := false
		for i := range s.lines {
			if _, err := s.at(i); err != nil {
				bad = true // found when somebody needs the task
			} else if i > 0 && s.lines[i].num <= s.lines[i-1].num {
				t.Fatal("the lines are not in order")
			}
		}
		if _, err := s.ownEvents(); err != nil {
			bad = true
		}
		s.head.Format = Format
		one := encoded(t, s)
		s, err = parseSnapshot(bytes.Clone(one))
		if err != nil {
			t.Fatalf("what it wrote does not parse: %v\n%q\n%q", err, data, one)
		}
		if two := encoded(t, s); !bytes.Equal(one, two) {
			t.Fatalf("it is not stable:\n%q\n%q", one, two)
		}
		if bad {
			return
		}
		if !json.Valid(one) {
			t.Fatalf("it is no JSON: %q", one)
		}
		// Every task, decoded and written anew, is the same.
		for i := range s.lines {
			task, err := s.at(i)
			if err != nil {
				t.Fatal(err)
			}
			s.put(task)
		}
		three := encoded(t, s)
		again, err := parseSnapshot(bytes.Clone(three))
		if err != nil {
			t.Fatalf("written anew it does not parse: %v\n%q", err, three)
		}
		for i := range again.lines {
			task, err := again.at(i)
			if err != nil {
				t.Fatal(err)
			}
			again.put(task)
		}
		if four := encoded(t, again); !bytes.Equal(three, four) {
			t.Fatalf("written anew it is not stable:\n%q\n%q", three, four)
		}
		if list, err := again.candidates(); err != nil {
			t.Fatal(err)
		} else if data := append([]byte("# revision 7\n"), list...); len(list) > 0 {
			if got, ok := parseReady(data, 7); !ok || !bytes.Equal(got, list) {
				t.Fatalf("its ready list is not readable: %q", data)
			}
			for row := range list.rows() {
				if _, ok := parseCandidate(row); !ok {
					t.Fatalf("a row of its ready list is not readable: %q", row)
				}
			}
		}
	})
}

// FuzzMarker: any file in a marker directory is a marker, waits, or is refused.
func FuzzMarker(f *testing.F) {
	f.Add([]byte(`{"taskId":"t_1","worker":"ann","spawnId":"s","status":"completed","timestamp":5,"epoch":0,"token":"x","leaseMs":5}`))
	f.Add([]byte(`{"taskId":"t_1","worker":"ann","leaseMs":99999999999999999,"epoch":-1}`))
	f.Add([]byte(`{"taskId":"t_1"`))
	dir := fastDir(f)
	path := filepath.Join(dir, "t_1.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := readMarker(path, "t_1")
		if err != nil {
			if _, ok := err.(*markerProblem); !ok {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if m.TaskID != "t_1" || m.Worker == "" || m.Token == "" || m.Submission == "" || m.LeaseMs < 0 || m.LeaseMs > maxLeaseMs {
			t.Fatalf("%q is %+v", data, m)
		}
		if c := m.claim(1, bootPoint{}); c.ClaimedAt != 1 && c.ClaimedAt != m.Timestamp || (c.LeaseMs > 0) != (c.LeaseUntil > 0) {
			t.Fatalf("%q is the claim %+v", data, c)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		one := *m
		if err := publishMarker(path, m); err != nil {
			t.Fatal(err)
		}
		two, err := readMarker(path, "t_1")
		if err != nil {
			t.Fatalf("what it wrote is no marker: %v", err)
		}
		one.modTime, one.foreign, two.foreign = two.modTime, false, false
		a, _ := json.Marshal(one)
		b, _ := json.Marshal(*two)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q is not stable:\n%s\n%s", data, a, b)
		}
	})
}

// FuzzHistory: whatever stands in the file, the events that are whole are read,
// the last one is found, and the next writer goes on behind it.
func FuzzHistory(f *testing.F) {
	f.Add(readFile(f, busyBoard(f).historyPath()))
	f.Add([]byte("{\"rev\":1,\"n\":1,\"of\":1,\"event\":\"added\"}\n{\"rev\":1,\"n\":"))
	f.Add([]byte("\x00\x00\n\n{}\n"))
	b := busyBoard(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		b := again(t, b)
		if err := os.WriteFile(b.historyPath(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		rev, n, err := b.lastEvent()
		if err != nil {
			t.Fatal(err)
		}
		events, torn, err := b.History(HistoryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if torn > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%d torn of %q", torn, data)
		}
		if !slices.IsSortedFunc(events, func(a, b Event) int {
			if a.Rev != b.Rev {
				return int(a.Rev - b.Rev)
			}
			return a.N - b.N
		}) {
			t.Fatalf("not in order: %+v", events)
		}
		s, err := b.load()
		if err != nil {
			t.Fatal(err)
		}
		if rev > s.head.Revision {
			return // refused as newer than the snapshot
		}
		if err := b.settle(s); err != nil {
			t.Fatal(err)
		}
		after := readFile(t, b.historyPath())
		if !bytes.HasPrefix(after, data) {
			t.Fatal("what was there is gone")
		}
		rev2, n2, err := b.lastEvent()
		if err != nil || rev2 != s.head.Revision || rev2 == rev && n2 < n {
			t.Fatalf("the last event is %d.%d, then %d.%d of %d, %v", rev, n, rev2, n2, s.head.Revision, err)
		}
		if err := b.settle(s); err != nil || !bytes.Equal(after, readFile(t, b.historyPath())) {
			t.Fatalf("settling is not done once: %v", err)
		}
	})
}

// FuzzExport: a line that an import takes is exported as it will be taken again.
func FuzzExport(f *testing.F) {
	for row := range strings.SplitSeq(export(f, storyBoard(f)), "\n") {
		f.Add(row)
	}
	f.Add(`{"id":"t_3","status":"claimed","claimedBy":"x","claim":{"a":1},"subject":"é","zz":{"a":[1.0,null]},"gate":{},"epoch":7}`)
	f.Fuzz(func(t *testing.T, row string) {
		in, err := readExport(strings.NewReader(row))
		if err != nil {
			return
		}
		var out []byte
		for _, task := range in {
			line, err := task.portable()
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, line...), '\n')
		}
		second, err := readExport(bytes.NewReader(out))
		if err != nil {
			t.Fatalf("%q is exported as %q: %v", row, out, err)
		}
		var again []byte
		for _, task := range second {
			line, err := task.portable()
			if err != nil {
				t.Fatal(err)
			}
			again = append(append(again, line...), '\n')
		}
		if !bytes.Equal(out, again) {
			t.Fatalf("it is not stable:\n%q\n%q", out, again)
		}
	})
}
