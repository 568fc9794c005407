package pi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestRepairSession(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"01a2","timestamp":"2026-01-01T00:00:00Z","cwd":"/some/where"}` + "\n"
	const entry = `{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":[]}}` + "\n"
	big := `{"type":"message","message":{"text":"` + strings.Repeat("x", 300000)
	for _, test := range []struct {
		name, before, after string
		want                Repair
	}{
		{"whole", head + entry, head + entry, Repair{Cwd: "/some/where", Entries: 2}},
		{"empty", "", "", Repair{}},
		{"torn", head + entry + `{"type":"mess`, head + entry, Repair{Cwd: "/some/where", Entries: 2, Cut: 13}},
		{"big", head + big, head, Repair{Cwd: "/some/where", Entries: 1, Cut: int64(len(big))}},
		{"no line feed", head + strings.TrimSuffix(entry, "\n"), head + entry, Repair{Cwd: "/some/where", Entries: 2, Completed: true}},
		{"zeros", head + "\x00\x00\x00", head, Repair{Cwd: "/some/where", Entries: 1, Cut: 3}},
		{"head torn", head[:20], "", Repair{Cut: 20}},
		{"head alone", strings.TrimSuffix(head, "\n"), head, Repair{Cwd: "/some/where", Entries: 1, Completed: true}},
		{"no session", entry + entry, "-", Repair{Cut: int64(2 * len(entry))}},
		{"two values", head + `{"a":1}{"b":2}`, head, Repair{Cwd: "/some/where", Entries: 1, Cut: 14}},
	} {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".torn-1", []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := RepairSession(path)
		if test.want.Cut > 0 {
			if got.Kept != path+".torn-2" {
				t.Errorf("%s: kept in %q", test.name, got.Kept)
			} else if kept := read(t, got.Kept); int64(len(kept)) != test.want.Cut || !strings.HasSuffix(test.before, kept) {
				t.Errorf("%s: kept %.50q", test.name, kept)
			}
			got.Kept = ""
		}
		if got != test.want || err != nil {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
		after, err := os.ReadFile(path)
		if test.after == "-" {
			if !os.IsNotExist(err) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if string(after) != test.after {
			t.Errorf("%s: is %.200q", test.name, after)
		}
		if again, err := RepairSession(path); err != nil || again.Cut != 0 || again.Completed || again.Entries != test.want.Entries {
			t.Errorf("%s: again %+v, %v", test.name, again, err)
		}
	}
	dir := t.TempDir()
	if got, err := RepairSession(filepath.Join(dir, "none")); got != (Repair{}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "x"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := RepairSession(link); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("link: %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := RepairSession(fifo); errs.CodeOf(err) != errs.Corrupt {
		t.Errorf("fifo: %v", err)
	}
}

func TestCopySession(t *testing.T) {
	const rest = `{"type":"message","cwd":"/old","message":{}}` + "\n\x00not json\n" + `{"torn`
	for _, test := range []struct{ head, want string }{
		{`{"type":"session","version":3,"id":"01a2","cwd":"/old","parentSession":"/x"}`, `{"type":"session","version":3,"id":"01a2","cwd":"/new \"dir","parentSession":"/x"}`},
		{`{"cwd":"/older", "id":"a" , "type":"session", "cwd" : null }`, `{"cwd":"/new \"dir", "id":"a" , "type":"session", "cwd" : "/new \"dir" }`},
		{`{"type":"session","id":"a"}`, `{"type":"session","id":"a","cwd":"/new \"dir"}`},
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "old"), filepath.Join(dir, "new")
		before := test.head + "\n" + rest + strings.Repeat("x", 200000)
		if err := os.WriteFile(from, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CopySession(from, to, `/new "dir`); err != nil {
			t.Errorf("%s: %v", test.head, err)
			continue
		}
		if got := read(t, to); got != test.want+before[len(test.head):] {
			t.Errorf("%s: is %.200q", test.head, got)
		}
		if read(t, from) != before {
			t.Errorf("%s: the original has changed", test.head)
		}
		if err := CopySession(from, to, "/other"); !errors.Is(err, os.ErrExist) {
			t.Errorf("again: %v", err)
		}
	}
	dir := t.TempDir()
	for _, bad := range []string{"", "[]", `{"type":"session"`, "words"} {
		from, to := filepath.Join(dir, "bad"), filepath.Join(dir, "none")
		if err := os.WriteFile(from, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CopySession(from, to, "/new"); errs.CodeOf(err) != errs.Corrupt {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := os.Lstat(to); !os.IsNotExist(err) {
			t.Errorf("%q: there is a copy, %v", bad, err)
		}
	}
}

func TestActivityLine(t *testing.T) {
	for _, test := range []struct {
		a    Activity
		want string
	}{
		{Activity{Kind: ToolStarted, Tool: "bash", Text: "go test\n\t./..."}, "bash: go test ./..."},
		{Activity{Kind: ToolStarted, Tool: "task_list"}, "task_list"},
		{Activity{Kind: Thinking, Text: "  **Looking** at   `main.go`"}, "Looking at main.go"},
		{Activity{Kind: Text, Text: "## - [x] *done* with snake_case and 2 * 3"}, "done with snake_case and 2 * 3"},
		{Activity{Kind: Text, Text: "***"}, "Working..."},
		{Activity{Kind: RunStarted}, "Working..."},
		{Activity{}, "Working..."},
	} {
		if got := test.a.Line(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.a, got, test.want)
		}
	}
	var l lastLine
	for _, step := range []struct{ piece, want string }{
		{"fir", "fir"}, {"st\n", "first"}, {"\n  \n", "first"}, {"... [truncated 5 lines]", "first"}, {"\n…[truncated\nse", "se"}, {"cond\n\n", "second"},
		{strings.Repeat("ü", 300), strings.Repeat("ü", 200)}, {"tail", strings.Repeat("ü", 200)}, {"\nend", "end"},
	} {
		if got := l.add(step.piece); got != step.want {
			t.Errorf("after %q: %q, want %q", step.piece, got, step.want)
		}
	}
}
