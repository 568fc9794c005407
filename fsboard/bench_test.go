package fsboard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// largeBoard adds n tasks with some text in them.
func largeBoard(tb testing.TB, n int) Options {
	tb.Helper()
	o := Options{Dir: filepath.Join(tb.TempDir(), "tasks", "app-1"), Project: "/srv/app", Session: "app-1"}
	b, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tasks := make([]NewTask, n)
	for i := range tasks {
		tasks[i] = NewTask{Subject: fmt.Sprintf("Task number %d of a large board", i+1), Description: "Do what the subject says, then say what was done."}
		if i > 0 && i%3 == 0 {
			tasks[i].DependsOn = []string{taskID(int64(i))}
		}
	}
	if _, err := b.Add(context.Background(), tasks...); err != nil {
		tb.Fatal(err)
	}
	return o
}

// BenchmarkClaimNext is a claim and its release, each by a Board that knows
// nothing yet, as in a process of its own.
func BenchmarkClaimNext(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := largeBoard(b, n)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				board, err := Open(o)
				if err != nil {
					b.Fatal(err)
				}
				v, err := board.Claim(ctx, ClaimRequest{Worker: "ann", SpawnID: "ann-1"})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if _, err := board.Release(ctx, ReleaseRequest{ID: v.ID}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkFold folds one marker of a named claim.
func BenchmarkFold(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := largeBoard(b, n)
			o.HarnessLive = func() bool { return true }
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				board, err := Open(o)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := board.Claim(ctx, ClaimRequest{ID: "t_1", Worker: "ann", SpawnID: "ann-1"}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := board.Fold(ctx, false); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if _, err := board.Release(ctx, ReleaseRequest{ID: "t_1"}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	o := largeBoard(b, 10_000)
	data, err := os.ReadFile(filepath.Join(o.Dir, "board.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}
