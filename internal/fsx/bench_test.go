package fsx

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func BenchmarkPublish(b *testing.B) {
	dir := b.TempDir()
	data := []byte(strings.Repeat("x", 300))
	for i := 0; b.Loop(); i++ {
		if err := Publish(filepath.Join(dir, fmt.Sprint(i)), data); err != nil {
			b.Fatal(err)
		}
	}
}

func benchFile(b *testing.B, size int, f func(path string, data []byte) error) {
	path := filepath.Join(b.TempDir(), "file")
	data := []byte(strings.Repeat("x", size-1) + "\n")
	for b.Loop() {
		if err := f(path, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplace(b *testing.B)     { benchFile(b, 4096, Replace) }
func BenchmarkReplace1MiB(b *testing.B) { benchFile(b, 1<<20, Replace) }

func BenchmarkReplaceHint(b *testing.B) {
	benchFile(b, 4096, func(path string, data []byte) error { return ReplaceHint(path, [][]byte{data}) })
}

func BenchmarkAppend(b *testing.B) {
	benchFile(b, 200, func(path string, data []byte) error { return Append(path, data, false) })
}

func BenchmarkAppendSync(b *testing.B) {
	benchFile(b, 200, func(path string, data []byte) error { return Append(path, data, true) })
}

func BenchmarkReadFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "file")
	write(b, path, strings.Repeat("x", 4096))
	for b.Loop() {
		if _, err := ReadFile(path, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAcquire(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.lock")
	for b.Loop() {
		l, err := Acquire(b.Context(), path, time.Second)
		if err != nil {
			b.Fatal(err)
		}
		l.Unlock()
	}
}

func BenchmarkHeld(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.lock")
	write(b, path, "")
	for b.Loop() {
		if _, err := Held(path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLiveness(b *testing.B) {
	self, err := Self()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if self.Liveness() != Alive {
			b.Fatal("dead")
		}
	}
}

func BenchmarkSafeLine(b *testing.B) {
	s := strings.Repeat("plain text ", 10)
	for b.Loop() {
		SafeLine(s)
	}
}

func BenchmarkRandomID(b *testing.B) {
	for b.Loop() {
		RandomID()
	}
}
