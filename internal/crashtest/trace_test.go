package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is a claim as strace shows it, with the calls of two threads mixed.
const recorded = `100 openat(AT_FDCWD</srv>, "/r/b/claims/.t_1.json.0123456789abcdef", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 7</r/b/claims/.t_1.json.0123456789abcdef>
100 write(7</r/b/claims/.t_1.json.0123456789abcdef>, "{\"a\":\"\\n\342\234\223\"}\n", 14) = 14
101 --- SIGURG {si_signo=SIGURG, si_code=SI_TKILL, si_pid=100, si_uid=0} ---
100 fsync(7</r/b/claims/.t_1.json.0123456789abcdef> <unfinished ...>
101 openat(AT_FDCWD</srv>, "b", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
100 <... fsync resumed>) = 0
100 linkat(AT_FDCWD</srv>, "/r/b/claims/.t_1.json.0123456789abcdef", AT_FDCWD</srv>, "/r/b/claims/t_1.json", 0) = 0
100 unlinkat(AT_FDCWD</srv>, "/r/b/claims/.t_1.json.0123456789abcdef", 0) = -1 EIO (Input/output error) (INJECTED)
100 openat(AT_FDCWD</srv>, "/r/b/claims", O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 8</r/b/claims>
100 fsync(8</r/b/claims>) = 0
100 write(1</out/stdout1>, "t_1\n", 4) = 4
101 renameat(AT_FDCWD</srv>, "/r/x", AT_FDCWD</srv>, "/r/y") = ?
101 +++ killed by SIGKILL +++
`

func parse(t *testing.T, text string) []Call {
	t.Helper()
	calls, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestParse(t *testing.T) {
	t.Parallel()
	calls := parse(t, recorded)
	var got []string
	for i := range calls {
		c := &calls[i]
		got = append(got, fmt.Sprintf("%d %s %s %d %s ok=%v injected=%v", c.TID, c.Kind(), c.Path(), c.Ret, c.Err, c.OK(), c.Injected))
	}
	want := []string{
		"100 open /r/b/claims/.t_1.json.0123456789abcdef 7  ok=true injected=false",
		"100 write /r/b/claims/.t_1.json.0123456789abcdef 14  ok=true injected=false",
		"101 open /srv/b -1 ENOENT ok=false injected=false",
		"100 fsync /r/b/claims/.t_1.json.0123456789abcdef 0  ok=true injected=false",
		"100 link /r/b/claims/t_1.json 0  ok=true injected=false",
		"100 unlink /r/b/claims/.t_1.json.0123456789abcdef -1 EIO ok=false injected=true",
		"100 open /r/b/claims 8  ok=true injected=false",
		"100 fsync /r/b/claims 0  ok=true injected=false",
		"100 write /out/stdout1 4  ok=true injected=false",
		"101 rename /r/y -1  ok=false injected=false",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	if data := string(calls[1].Data()); data != "{\"a\":\"\\n\u2713\"}\n" {
		t.Errorf("data %q", data)
	}
	if from := calls[4].From(); from != "/r/b/claims/.t_1.json.0123456789abcdef" {
		t.Errorf("from %q", from)
	}
	if f := calls[3]; f.Begin != 4 || f.End != 6 {
		t.Errorf("fsync from line %d to %d", f.Begin, f.End)
	}
}

// snapshotTrace is the write of a snapshot and the removal of a marker.
const snapshotTrace = `1 openat(AT_FDCWD</>, "/r/b/.board.json12345678901", O_RDWR|O_CREAT|O_EXCL, 0600) = 5</r/b/.board.json12345678901>
1 write(5</r/b/.board.json12345678901>, "new!", 4) = 4
1 fsync(5</r/b/.board.json12345678901>) = 0
1 openat(AT_FDCWD</>, "/r/b/history.jsonl", O_RDONLY) = 6</r/b/history.jsonl>
1 fsync(6</r/b/history.jsonl>) = 0
1 renameat(AT_FDCWD</>, "/r/b/.board.json12345678901", AT_FDCWD</>, "/r/b/board.json") = 0
1 openat(AT_FDCWD</>, "/r/b", O_RDONLY|O_DIRECTORY) = 6</r/b>
1 fsync(6</r/b>) = 0
1 unlinkat(AT_FDCWD</>, "/r/b/claims/t_1.json", 0) = 0
1 write(1</out/stdout1>, "told", 4) = 4
`

// TestDisorder takes one call after the other out of a good order.
func TestDisorder(t *testing.T) {
	t.Parallel()
	check := func(text string) []string {
		calls := parse(t, text)
		at := len(calls)
		for i := range calls {
			if strings.HasPrefix(calls[i].Path(), "/out/") {
				at = i
			}
		}
		return Disorder(calls, "/r", "/r/b", at, true)
	}
	if bad := check(snapshotTrace); len(bad) > 0 {
		t.Errorf("a good order: %q", bad)
	}
	rows := strings.SplitAfter(strings.TrimSuffix(snapshotTrace, "\n"), "\n")
	for i, want := range map[int]string{2: "not fsynced before", 4: "history was not fsynced", 5: "no snapshot was durable", 7: "not fsynced before the answer"} {
		less := append(append([]string{}, rows[:i]...), rows[i+1:]...)
		if bad := strings.Join(check(strings.Join(less, "")), "\n"); !strings.Contains(bad, want) {
			t.Errorf("without %q: %q, want %q", rows[i], bad, want)
		}
	}
	place := strings.Replace(snapshotTrace, "write(5</r/b/.board.json12345678901>", "write(5</r/b/board.json>", 1)
	if bad := strings.Join(check(place), "\n"); !strings.Contains(bad, "in place") {
		t.Errorf("written in place: %q", bad)
	}
}

// TestCuts: a power cut leaves every mixture of what was not synced, and
// nothing else.
func TestCuts(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "r")
	for _, dir := range []string{"", "b", "b/claims"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]string{"b/board.json": "old!", "b/history.jsonl": "h", "b/claims/t_1.json": "m"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := NewDisk(root)
	if err != nil {
		t.Fatal(err)
	}
	calls := parse(t, strings.ReplaceAll(snapshotTrace, "/r/b", root+"/b"))
	if err := d.Play(calls); err != nil {
		t.Fatal(err)
	}
	const temp = "b/.board.json12345678901"
	left := func(at int) map[string]bool {
		out := map[string]bool{}
		for c := range d.Cuts(at, 1000) {
			file := func(path string) string {
				if data, there := c.Tree[path]; there {
					return string(data)
				}
				return "-"
			}
			out[file("b/board.json")+" "+file(temp)+" "+file("b/claims/t_1.json")] = true
		}
		return out
	}
	for _, c := range []struct {
		at   int
		want []string
	}{
		{0, []string{"old! - m"}},
		{1, []string{"old! - m", "old!  m"}},
		{2, []string{"old! - m", "old!  m", "old! new! m", "old! ne m", "old! \x00\x00\x00\x00 m"}},
		{3, []string{"old! - m", "old! new! m"}}, // its data is durable, its name is not
		{6, []string{"old! - m", "old! new! m", "new! - m"}},
		{8, []string{"new! - m"}},
		{9, []string{"new! - m", "new! - -"}},
	} {
		got := left(c.at)
		for _, state := range c.want {
			if !got[state] {
				t.Errorf("before call %d: %q is missing", c.at, state)
			}
			delete(got, state)
		}
		if len(got) > 0 {
			t.Errorf("before call %d: %v can never be", c.at, got)
		}
	}
	if got := d.Least(len(calls)); string(got["b/board.json"]) != "new!" || string(got["b/claims/t_1.json"]) != "m" {
		t.Errorf("the least is %q", got)
	}
}
