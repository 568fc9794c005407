package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// renderDir has one file for each operation: the arguments and the input of
// teams render, and what it shows.
var renderDir = filepath.Join("..", "..", "testdata", "golden", "render")

// renderForms are the forms in which each input is shown: for a pipe, and for
// a narrow place.
var renderForms = []struct {
	name  string
	flags []string
}{
	{"rows", nil},
	{"expanded", []string{"-x"}},
	{"rows, 24 cells", []string{"--width", "24"}},
	{"expanded, 24 cells", []string{"-x", "--width", "24"}},
}

// goldenParts reads a file of parts, each headed by "-- name --".
func goldenParts(text string) (names []string, parts map[string]string) {
	parts = map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		head, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		if head, closed := strings.CutSuffix(head, " --"); ok && closed {
			name = head
			names = append(names, name)
			continue
		}
		parts[name] += line
	}
	return names, parts
}

// TestRenderGolden shows every input in every form. A form of which a file has
// no part must print what the file has as "rows".
func TestRenderGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(renderDir, "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	s := newSite(t).with("TZ=UTC")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, parts := goldenParts(string(data))
			var flags []string
			for line := range strings.Lines(parts["args"]) {
				flags = append(flags, strings.TrimSuffix(line, "\n"))
			}
			written := "-- input --\n" + parts["input"]
			if parts["args"] != "" {
				written = "-- args --\n" + parts["args"] + written
			}
			for _, form := range renderForms {
				args := append(append([]string{"render"}, flags...), form.flags...)
				cmd := s.command(teamsBin, args...)
				cmd.Stdin = strings.NewReader(parts["input"])
				r := start(t, cmd).wait()
				if r.code != 0 || r.err != "" {
					t.Fatalf("%s: %s", form.name, r)
				}
				written += "-- " + form.name + " --\n" + r.out
				if !*update && r.out != parts[form.name] {
					t.Errorf("%s:\n%s\nwant\n%s", form.name, r.out, parts[form.name])
				}
			}
			if *update && written != string(data) {
				write(t, file, written)
			}
		})
	}
}
