package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Every start pays for what is linked. cgo alone, which os/user and net bring,
// costs more than the rest of a start: the C library is loaded each time.
func TestStartLinksLittle(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for _, pkg := range strings.Fields(string(out)) {
		linked[pkg] = true
	}
	if !linked["os"] {
		t.Fatalf("go list says nothing of use: %s", out)
	}
	for _, heavy := range []string{
		"runtime/cgo", "os/user", "net", "net/http", "text/template", "html/template", "encoding/gob", "go/doc", "github.com/alecthomas/kong",
	} {
		if linked[heavy] {
			t.Errorf("package %s is linked (go mod why %s)", heavy, heavy)
		}
	}
}
