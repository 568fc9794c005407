package herdr

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// FuzzRecord: the record of a run or of a lease is read or is corrupt, and is
// written so that it reads the same again, with what is not known.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"id":"build-1","name":"build","status":"working","phase":"a","done":1,"total":5,"startedAt":1,"theirs":{"a":[1.0,null]}}`))
	f.Add([]byte(`{"spawnId":"x","session":"s","name":"ann","owner":{"pid":5,"startTime":7},"socket":"/x","pane":"p1","createdAt":5}`))
	f.Add([]byte(`{"id":5}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"a":"\ud800","b":1e999}`))
	f.Add([]byte(`{"status":"unheard","id":"../x"}`))
	dir := f.TempDir()
	path := filepath.Join(dir, "record.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, make := range []func() any{func() any { return new(Run) }, func() any { return new(Lease) }} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			one := make()
			extra, err := readRecord(path, one)
			if err != nil {
				if errs.CodeOf(err) != errs.Corrupt || !strings.Contains(err.Error(), path) {
					t.Fatal(err)
				}
				continue
			}
			first, err := encodeRecord(one, extra)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, first, 0o600); err != nil {
				t.Fatal(err)
			}
			two := make()
			if extra, err = readRecord(path, two); err != nil {
				t.Fatalf("what it wrote cannot be read: %v", err)
			}
			second, err := encodeRecord(two, extra)
			if err != nil || !bytes.Equal(first, second) {
				t.Fatalf("%q is not stable: %v\n%s\n%s", data, err, first, second)
			}
		}
	})
}

// FuzzEvents: whatever comes behind a subscription is an event or ends it.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{
		`{"event":"pane_exited","data":{"pane_id":"p1","final_status":"done"}}`, `{"event":"pane.agent_status_changed","data":{"pane_id":1}}`,
		`{"id":"x","error":{"code":"events_lost","message":"m"}}`, `{"event":7}`, `{"data":null}`, "{}\n{}\n[", "\xff\n", `{"event":"a_b_c","data":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Skip()
		}
		go func() {
			_, _ = w.Write(data)
			w.Close()
		}()
		e := &Events{&stream{c: New("/x"), ctx: context.Background(), f: r, id: "x", method: "events.subscribe"}}
		defer e.Close()
		for range bytes.Count(data, []byte("\n")) + 2 {
			if _, err := e.Next(); err != nil {
				return
			}
		}
		t.Fatal("it does not end")
	})
}
