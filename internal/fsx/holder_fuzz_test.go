package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// FuzzHolder: whatever stands in a lock file, it names a holder or none, and who
// locks it next is the one it names.
func FuzzHolder(f *testing.F) {
	for _, text := range []string{
		`{"pid":5,"host":"h","command":"teams claim","since":"2026-11-30T13:05:01Z"}` + "\n", `{"pid":-1}`, `{"pid":"5"}`, "\x00\x00", "", "\n{}\n", `{"pid":5,"since":"x"}`,
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "x.lock")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := ReadHolder(path)
		switch code := errs.CodeOf(err); {
		case err == nil && h.PID <= 0, err != nil && code != errs.NotFound && code != errs.Corrupt, errors.Is(err, os.ErrNotExist):
			t.Fatalf("%q: %+v, %v", data, h, err)
		}
		_ = h.String()
		lock, ok, err := TryAcquire(path)
		if err != nil || !ok {
			t.Fatalf("%q cannot be locked: %v", data, err)
		}
		defer lock.Unlock()
		if h, err := ReadHolder(path); err != nil || h.PID != os.Getpid() {
			t.Fatalf("%q: locked, it names %+v, %v", data, h, err)
		}
	})
}
