package team

import (
	"os"
	"testing"
)

func BenchmarkResolveAndWorker(b *testing.B) {
	wd, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	in := Input{Getenv: fakeEnv{EnvRoot: b.TempDir(), EnvName: "ann"}.get, Cwd: wd}
	for b.Loop() {
		p, err := Resolve(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Open(p).Worker(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	t := Open(Place{Root: b.TempDir(), Session: "s", Project: "/p", Name: "ann"})
	id, err := t.Worker(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		t.Lookup("ann", id.SpawnID)
	}
}
