package verify

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// memLog is a log in memory that is full after some bytes.
type memLog struct {
	bytes.Buffer
	room   int
	synced bool
	closed bool
}

func (m *memLog) Write(p []byte) (int, error) {
	n := min(len(p), m.room)
	m.Buffer.Write(p[:n])
	m.room -= n
	if n < len(p) {
		return n, unix.ENOSPC
	}
	return n, nil
}

func (m *memLog) Sync() error  { m.synced = true; return nil }
func (m *memLog) Close() error { m.closed = true; return nil }

// text returns n bytes that show where they come from.
func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.Bytes()[:n]
}

// wantLogText is what a log of at most limit bytes must be.
func wantLogText(all []byte, limit int) string {
	if len(all) <= limit {
		return string(all)
	}
	head, tail := all[:limit/2], all[len(all)-(limit-limit/2):]
	line := fmt.Sprintf("… %d bytes cut …\n", len(all)-limit)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		line = "\n" + line
	}
	return string(head) + line + string(tail)
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 7, 10, 100} {
		for size := range 3*limit + 20 {
			for _, chunk := range []int{1, 3, 64, 1000} {
				log := &memLog{room: 1 << 20}
				o := newOutput(log, int64(limit))
				all := text(size)
				for rest := all; len(rest) > 0; {
					n := min(chunk, len(rest))
					o.take(rest[:n])
					rest = rest[n:]
				}
				if err := o.finish(); err != nil || !log.synced || !log.closed {
					t.Fatalf("finish: %v, %+v", err, log)
				}
				if got, want := log.String(), wantLogText(all, limit); got != want {
					t.Fatalf("limit %d, size %d, chunk %d:\n%q, want\n%q", limit, size, chunk, got, want)
				}
				if o.bytes != int64(size) {
					t.Fatalf("counted %d of %d", o.bytes, size)
				}
			}
		}
	}
}

func TestOutputGoesOnWithoutItsLog(t *testing.T) {
	t.Parallel()
	good, full := newOutput(nil, 100), newOutput(&memLog{room: 30}, 100)
	all := text(5000)
	for rest := all; len(rest) > 0; rest = rest[10:] {
		good.take(rest[:10])
		full.take(rest[:10])
	}
	if err := full.finish(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("finish: %v", err)
	}
	if full.digest() != good.digest() || full.bytes != int64(len(all)) {
		t.Error("the output was not taken to its end")
	}
}

// A log is bounded, and its first half is there while the gate runs.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	g := newGate(t, "cat data; until [ -e go ]; do sleep 0.01; done; cat data; printf end")
	g.MaxLog = 10000
	data := text(9000)
	if err := os.WriteFile(filepath.Join(g.Dir, "data"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	early := make(chan bool, 1)
	go func() {
		deadline := time.Now().Add(10 * time.Second)
		for time.Now().Before(deadline) {
			if got, _ := os.ReadFile(g.Log); len(got) == 5000 {
				early <- true
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		close(early)
		_ = os.WriteFile(filepath.Join(g.Dir, "go"), nil, 0o600)
	}()
	r := run(t, g)
	if !<-early {
		t.Error("the first half came late")
	}
	all := append(append(append([]byte{}, data...), data...), "end"...)
	if got, want := readLog(t, g.Log), wantLogText(all, 10000); got != want {
		t.Errorf("log of %d bytes, want %d", len(got), len(want))
	}
	if r.OutputBytes != int64(len(all)) {
		t.Errorf("got %+v", r)
	}
}

// One gigabyte is read at the speed of the hash, in little memory.
func TestHugeOutput(t *testing.T) {
	size := int64(1 << 30)
	if raceEnabled && !*long {
		size = 256 << 20
	}
	g := newGate(t, fmt.Sprintf("head -c %d /dev/zero; echo end; exit 3", size))
	begin := time.Now()
	answer := runHelper(t, helperCmd(t, "run", gateEnv(t, g)))
	idle := runHelper(t, helperCmd(t, "run", gateEnv(t, newGate(t, "true"))))
	r := answer.Receipt
	t.Logf("%d MiB in %d ms (%v with the process); resident at most %d KiB, %d KiB with no output",
		size>>20, r.DurationMs, time.Since(begin).Round(time.Millisecond), answer.PeakKB, idle.PeakKB)
	if answer.Err != "" || r.Verdict != Failed || r.ExitCode != 3 || r.OutputBytes != size+4 || r.Reason != "" {
		t.Errorf("got %+v", answer)
	}
	log := readLog(t, g.Log)
	line := fmt.Sprintf("\n… %d bytes cut …\n", size+4-defaultMaxLog)
	if len(log) != defaultMaxLog+len(line) || log[defaultMaxLog/2:defaultMaxLog/2+len(line)] != line || !strings.HasSuffix(log, "\x00end\n") {
		t.Errorf("log of %d bytes", len(log))
	}
	if grown := answer.PeakKB - idle.PeakKB; grown > 30<<10 {
		t.Errorf("grew by %d KiB", grown)
	}
}

// A full disk costs the log and nothing else.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGate(t, "head -c 30000000 /dev/zero; exit 3")
	g.Log = filepath.Join(dir, "gate.log")
	cmd := helperCmd(t, "full-disk", gateEnv(t, g), "VERIFY_TEST_MOUNT="+dir)
	ownMounts(cmd)
	r := runHelper(t, cmd).Receipt
	if r.Verdict != Failed || r.ExitCode != 3 || r.OutputBytes != 30000000 || !strings.Contains(r.Reason, "no space left") {
		t.Errorf("got %+v", r)
	}
}

// A log that cannot be had costs the log and nothing else.
func TestNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing": "none/gate.log", "link": "link", "dangling": "dangling", "fifo": "fifo", "directory": "."} {
		path = filepath.Join(dir, path)
		switch name {
		case "link":
			_ = os.Symlink(target, path)
		case "dangling":
			_ = os.Symlink(filepath.Join(dir, "new"), path)
		case "fifo":
			if err := unix.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g := newGate(t, "echo out; exit 3")
		g.Log = path
		r := run(t, g)
		if r.Verdict != Failed || r.Log != "" || !strings.HasPrefix(r.Reason, "no log: ") || r.OutputBytes != 4 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if got := readLog(t, target); got != "precious" {
		t.Errorf("the target of the link: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the link was followed")
	}
}

func TestOldLog(t *testing.T) {
	t.Parallel()
	g := newGate(t, "echo new")
	if err := os.WriteFile(g.Log, []byte("a long old text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, g)
	if got := readLog(t, g.Log); got != "new\n" {
		t.Errorf("log %q", got)
	}
	if info, _ := os.Stat(g.Log); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int64
		want string
	}{
		{"", 10, ""},
		{"one\ntwo\n", 100, "one\ntwo\n"},
		{"one\ntwo\n", 8, "one\ntwo\n"},
		{"one\ntwo\n", 7, "two\n"},
		{"one\ntwo\n", 5, "two\n"},
		{"one\ntwo\n", 4, "two\n"},
		{"one\ntwo\n", 3, "wo\n"},
		{"one\ntwo", 4, "two"},
		{"one\ntwo", 3, "two"},
		{"one\ntwo", 2, "wo"},
		{"one\ntwo\n", 0, ""},
		{"one\ntwo\n", -1, ""},
		{"\n\n\n", 2, "\n\n"},
		{"a\n\nb\n", 3, "\nb\n"},
		{"xxäö", 3, "ö"},
		{"xxäö\n", 4, "ö\n"},
		{"xx\xff\xfe\xfd\xfc", 3, "\xfe\xfd\xfc"},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Tail(path, tt.n)
		if err != nil || got != tt.want {
			t.Errorf("Tail(%q, %d) = %q, %v, want %q", tt.text, tt.n, got, err, tt.want)
		}
	}
	dir := t.TempDir()
	if _, err := Tail(filepath.Join(dir, "none"), 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
	if _, err := Tail(dir, 10); err == nil {
		t.Error("a directory was read")
	}
	_ = os.Symlink("/etc/passwd", filepath.Join(dir, "link"))
	if _, err := Tail(filepath.Join(dir, "link"), 10); err == nil {
		t.Error("a link was followed")
	}
}
