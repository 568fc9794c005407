package verify

import (
	"context"
	"path/filepath"
	"testing"
)

// BenchmarkRun is the cost of a gate that does nothing.
func BenchmarkRun(b *testing.B) {
	g := Gate{Command: "exit 0", Dir: b.TempDir(), Log: filepath.Join(b.TempDir(), "log")}
	for b.Loop() {
		g.RunID = newRunID()
		if r, err := Run(context.Background(), g); err != nil || r.Verdict != Passed {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkEndRun is the cost of a look at all processes of the machine.
func BenchmarkEndRun(b *testing.B) {
	id := newRunID()
	for b.Loop() {
		if _, err := EndRun(id); err != nil {
			b.Fatal(err)
		}
	}
	if pids, err := processIDs(); err == nil {
		b.ReportMetric(float64(len(pids)), "processes")
	}
}

// BenchmarkOutput is the cost of taking output, hash included.
func BenchmarkOutput(b *testing.B) {
	o := newOutput(&memLog{room: 1 << 30}, defaultMaxLog)
	chunk := text(256 << 10)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		o.take(chunk)
	}
}
