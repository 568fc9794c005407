package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Every start pays for what is linked. os/user comes with kong; README and CI
// build with CGO_ENABLED=0, so that it does not bring the C library with it.
func TestStartLinksLittle(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
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
		"runtime/cgo", "net", "net/http", "text/template", "html/template", "encoding/gob", "go/parser",
		// The packages below a console of theirs do 0.3 ms of work at every start.
		"charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi",
	} {
		if linked[heavy] {
			t.Errorf("package %s is linked (go mod why %s)", heavy, heavy)
		}
	}
}
