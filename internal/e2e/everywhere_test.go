package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// fill adds n tasks in one go.
func (s *site) fill(n int) {
	s.t.Helper()
	var batch strings.Builder
	for i := range n {
		fmt.Fprintf(&batch, "{\"subject\":\"task %d\"}\n", i+1)
	}
	if r := s.runIn(batch.String(), "task", "add", "--batch", "-", "-q"); r.code != 0 {
		s.t.Fatal(r)
	}
}

// TestClosedStreams closes standard output in the middle and at the start, and
// standard input.
func TestClosedStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(3000)
	for _, line := range []string{
		"teams task list | head -1", "teams task list --json | head -c 10", "teams log | head -1", "teams export | head -1", "teams task graph | head -1",
		"teams --help | head -1", "teams completion bash | head -1",
	} {
		r := start(t, s.command("/bin/bash", "-c", line+`; exit "${PIPESTATUS[0]}"`)).wait()
		if r.code != 0 || r.err != "" || r.out == "" {
			t.Errorf("%s: %s", line, r)
		}
	}
	for _, line := range []string{"teams task list -q >&-", "teams --json log >&-", "teams claim --as ann >&-", "teams task show t_1 <&-", "teams claim --as bob <&-", "teams tick <&- >&- 2>&-"} {
		if r := s.sh(line); r.code != 0 || strings.Contains(r.err, "panic") {
			t.Errorf("%s: %s", line, r)
		}
	}
	if got := s.show("t_1"); got.ClaimedBy != "ann" {
		t.Errorf("a claim without output is none: %+v", got)
	}
	if r := s.sh("teams task add -d - later <&-"); r.code == 0 && s.show("t_3001").Description != "" {
		t.Errorf("%s", r)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if r := s.sh("teams task list >/dev/full"); r.code != 1 || !strings.Contains(r.err, "no space left") {
			t.Errorf("a full output: %s", r)
		}
		if r := s.sh("teams claim --as cid --json >/dev/full"); r.code != 1 {
			t.Errorf("a full output: %s", r)
		}
		if got := s.as("cid").ok("claim", "--mine", "-q"); got == "" {
			t.Error("a claim whose output was lost is not found again")
		}
	}
	s.healthy()
}

// TestClosedOutputKeepsMail prints mail to a closed standard output, which
// nobody can have got: it stays unread. What is thrown away on purpose counts.
func TestClosedOutputKeepsMail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.as("ann")
	ann.ok("join", "ann")
	id := s.send("ann", "secret")
	for _, line := range []string{
		"teams recv >&-", "teams recv -q >&-", "teams recv --json >&-", "teams recv --wait --timeout 5s >&-", "teams recv <&- >&-",
		"teams read " + id + " >&-", "teams read --raw " + id + " >&-", "teams follow >&-", "teams follow --json >&-",
	} {
		if r := ann.sh(line); r.code != 1 || strings.Count(r.err, "cannot write to standard output, it is closed") != 1 {
			t.Errorf("%s: %s", line, r)
		}
		if got := ann.ok("inbox", "-q"); got != id {
			t.Fatalf("%s took the mail: %q", line, got)
		}
	}
	if r := ann.sh("teams read --peek " + id + " >&-"); r.code != 0 {
		t.Errorf("a look marks nothing, so it may be lost: %s", r)
	}
	if r := ann.sh("teams recv >/dev/null"); r.code != 0 || ann.run("inbox", "-q").out != "" {
		t.Errorf("mail that is thrown away stays: %s", r)
	}
	asking := start(t, s.command("/bin/sh", "-c", "teams send ann 'well?' --expects-reply --wait --timeout 20s >&-"))
	ann.ok("recv", "--wait", "--timeout", "20s")
	ann.ok("reply", ann.ok("inbox", "--open", "-q"), "yes")
	if r := asking.wait(); r.code != 1 {
		t.Errorf("the reply to who has no output: %s", r)
	}
	if r := s.sh("teams recv >&-"); r.code != 1 {
		t.Errorf("the leader's: %s", r)
	}
	if got := s.recv(); len(got) != 1 || got[0].Body != "yes" {
		t.Errorf("the reply is lost: %v", got)
	}
}

// TestClosedOutputKeepsTerminal: what a terminal printed is read once, too.
func TestClosedOutputKeepsTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.ok("term", "open", "-q")
	defer s.run("term", "close", id)
	s.ok("term", "send", id, "echo o''ut")
	eventually(t, "the output", func() bool { return strings.Contains(s.run("term", "read", id).out, "out") })
	s.ok("term", "send", id, "echo mo''re")
	time.Sleep(300 * time.Millisecond)
	if r := s.sh("teams term read " + id + " >&-"); r.code != 1 || !strings.Contains(r.err, "it is closed") {
		t.Errorf("%s", r)
	}
	eventually(t, "the output again", func() bool { return strings.Contains(s.run("term", "read", id).out, "more") })
}

// onTerminal runs teams at a terminal of its own and returns what appears. It
// may end with 124.
func (s *site) onTerminal(cols uint16, args ...string) string {
	s.t.Helper()
	cmd := s.command(teamsBin, args...)
	cmd.SysProcAttr = nil // it gets a session
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: cols})
	if err != nil {
		s.t.Fatal(err)
	}
	defer tty.Close()
	var out bytes.Buffer
	_, _ = out.ReadFrom(tty) // ends with EIO
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 124 {
		s.t.Errorf("teams %v at a terminal: %v\n%s", args, err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// cells is the width of text in which only the characters that the tests use
// are wide.
func cells(text string) (n int) {
	for _, r := range text {
		n++
		if r >= 0x1100 && r < 0xfe00 && r != '…' && (r < 0x2000 || r > 0x2fff) || r > 0x1f000 {
			n++
		}
	}
	return n
}

// strip takes colours off.
func strip(text string) string {
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			return text
		}
		j := strings.IndexByte(text[i:], 'm')
		if j < 0 {
			return text
		}
		text = text[:i] + text[i+j+1:]
	}
}

// TestTerminal looks at what appears on a terminal of 20 columns.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(60)
	s.add("a subject that is much longer than any line of this terminal is wide", "--priority", "0")
	s.add("漢字漢字漢字漢字漢字漢字漢字漢字漢字", "--priority", "0")
	s.add("emoji 🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀", "--tag", "averylongtagindeed")
	s.ok("claim", "--as", "somebody-with-a-long-name")
	color := s.with("TERM=xterm-256color")
	for _, args := range [][]string{{"task", "list"}, {"log"}, {"task", "graph"}, {"sessions"}, {"claim", "--as", "bob"}, {"task", "list", "--state", "claimed"}} {
		for line := range strings.SplitSeq(strip(color.onTerminal(20, args...)), "\n") {
			if cells(line) > 20 {
				t.Errorf("teams %s: %d cells: %q", strings.Join(args, " "), cells(line), line)
			}
		}
	}
	out := color.onTerminal(80, "task", "list")
	if n := strings.Count(out, "\n"); n != 51 || !strings.Contains(out, "showing 50 of 63") {
		t.Errorf("a long list on a terminal: %d lines\n%s", n, out)
	}
	if !strings.Contains(out, "\x1b[") {
		t.Error("no colour on a terminal that has it")
	}
	for _, env := range []string{"TERM=dumb", "NO_COLOR=1"} {
		plain := s.with("TERM=xterm", env)
		for _, args := range [][]string{{"task", "list"}, {"task", "show", "t_1"}, {"wait", "t_1", "--until", "claimed", "--timeout", "600ms"}} {
			out := plain.onTerminal(80, args...)
			if args[0] == "wait" && env == "NO_COLOR=1" {
				if !strings.Contains(out, "waiting, 0 of 1 settled") {
					t.Errorf("no live line on a terminal: %q", out)
				}
			} else if strings.Contains(out, "\x1b") || strings.Contains(out, "settled") {
				t.Errorf("%s: teams %v: %q", env, args, out)
			}
		}
	}
	// In a pipe nothing is cut or coloured, and lists are whole.
	piped := color.ok("task", "list")
	if strings.Contains(piped, "\x1b") || strings.Contains(piped, "…") || strings.Count(piped, "\n") != 62 {
		t.Errorf("in a pipe: %s", piped)
	}
}

// TestHostileText has control characters and bidi controls in everything that
// a task holds: harmless on a terminal, unchanged in JSON.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	evil := "\x1b]0;owned\x07\x1b[2J red\x1b[31m \u202egnp.exe\u2066 \u009b31m \x08\x08 tab\there"
	s.ok("task", "add", evil, "-d", evil+"\nsecond line\x1b[5m", "--verify", "printf '\\033[31mred\\033]0;x\\007\\n'; exit 1")
	s.ok("claim", "t_1", "--as", "ann")
	s.exits(1, "submit", "--as", "ann")
	s.ok("release", "t_1", "--as", "ann", "--reason", evil)
	s.ok("claim", "t_1", "--as", "ann")
	s.ok("submit", "--as", "ann", "--failed", "--result", evil)
	term := s.with("TERM=xterm", "NO_COLOR=1")
	for _, args := range [][]string{{"task", "list"}, {"task", "show", "t_1"}, {"task", "why", "t_1"}, {"log"}, {"task", "graph"}, {"task", "show", "t_1", "-x"}, {"verify", "--", "true"}} {
		for _, out := range []string{term.onTerminal(80, args...), s.run(args...).out} {
			if strings.ContainsAny(out, "\x1b\x07\x08\u009b\u202e\u2066\r") {
				t.Errorf("teams %v: raw: %q", args, out)
			}
		}
	}
	if r := s.run("verify", "t_1"); r.code != 1 || strings.Contains(r.out+r.err, "\x1b") {
		t.Errorf("the tail of a gate: %q", r)
	}
	if r := s.run("task", "show", evil); strings.ContainsAny(r.err, "\x1b\x07\u202e") {
		t.Errorf("an error: %q", r.err)
	}
	if got := s.show("t_1"); got.Subject != evil || got.Description != evil+"\nsecond line\x1b[5m" || !strings.Contains(got.ErrorMessage, "\x1b[2J") {
		t.Errorf("in JSON: %+v", got)
	}
	var line struct{ Subject string }
	if err := json.Unmarshal([]byte(s.ok("export")), &line); err != nil || line.Subject != evil {
		t.Errorf("exported: %q, %v", line.Subject, err)
	}
}

// TestHome runs without a usable home or root.
func TestHome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bare := func(env ...string) *site { return s.with(append([]string{"TEAMS_ROOT="}, env...)...) }
	for _, c := range []struct {
		name string
		s    *site
		path string
	}{
		{"no HOME", bare("HOME="), "~/.pi/agent"},
		{"relative HOME", bare("HOME=relative"), "relative"},
		{"relative root", s.with("TEAMS_ROOT=some/where"), "some/where"},
		{"relative Pi root", bare("PI_CODING_AGENT_DIR=./agent"), "./agent"},
		{"a file as root", s.with("TEAMS_ROOT=/dev/null"), "/dev/null"},
	} {
		for _, args := range [][]string{{"task", "add", "x"}, {"claim", "--as", "ann"}, {"join", "ann"}} {
			r := c.s.run(args...)
			if r.code != 1 || !strings.Contains(r.err, c.path) {
				t.Errorf("%s: teams %v: %s", c.name, args, r)
			}
		}
		for _, args := range [][]string{{"version"}, {"--help"}, {"help", "claim"}, {"completion", "bash"}, {"claim", "--help"}} {
			if r := c.s.run(args...); r.code != 0 || r.out == "" || r.err != "" {
				t.Errorf("%s: teams %v: %s", c.name, args, r)
			}
		}
	}
	if exists(filepath.Join(s.project, "relative")) || exists(filepath.Join(s.project, "some")) {
		t.Error("something was created")
	}
	// The default is below the home; an empty variable counts as unset.
	home := bare("PI_CODING_AGENT_DIR=")
	home.ok("task", "add", "x")
	if !exists(filepath.Join(s.base, "home", ".pi", "agent", "tasks")) {
		t.Error("not below ~/.pi/agent")
	}
	// ~/.pi marks no project.
	r := home.at(filepath.Join(s.base, "home")).ok("where", "--json")
	if !strings.Contains(r, `"project":"cwd"`) {
		t.Errorf("where in the home: %s", r)
	}
}

// TestUmask makes a whole session under umasks that would open everything, or
// too little.
func TestUmask(t *testing.T) {
	t.Parallel()
	for _, mask := range []string{"000", "077", "022", "027"} {
		s := newSite(t)
		line := "umask " + mask + ` && teams task add x --verify true -q && teams claim --as ann -q && teams submit --as ann && teams task add y -q && teams claim --as bob -q --lease 1h && teams tick && teams work --once --as w1 -- true; teams gc --older-than 1ns && teams task add z -q`
		if r := s.sh(line); r.code != 0 {
			t.Fatal(r)
		}
		n := 0
		err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			n++
			if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
				t.Errorf("umask %s: %s has mode %04o", mask, path, info.Mode().Perm())
			}
			return nil
		})
		if err != nil || n < 30 {
			t.Fatal(n, err)
		}
		s.healthy()
	}
}

// TestModesMended opens a session to others by hand; doctor tells and mends.
func TestModesMended(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("task", "add", "x")
	if err := os.Chmod(s.board("board.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.team(), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := s.run("doctor"); strings.Count(r.out, "open_mode") != 2 {
		t.Errorf("%s", r)
	}
	s.ok("doctor", "--fix")
	s.healthy()
}

// TestOtherUser acts on a root that belongs to somebody else.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	s := newSite(t)
	s.ok("task", "add", "x")
	for dir := s.base; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	other := *s
	other.uid = 65534
	for _, args := range [][]string{{"task", "list"}, {"task", "add", "y"}, {"claim", "--as", "ann"}, {"join", "ann"}, {"tick"}, {"sessions"}, {"doctor"}} {
		if r := other.run(args...); r.code != 1 || !strings.Contains(r.err+r.out, s.root) || !strings.Contains(r.err+r.out, "permission denied") {
			t.Errorf("teams %v: %s", args, r)
		}
	}
	// A root that may be read and not written: looking works, writing tells why.
	s.giveTo(65534)
	for _, dir := range []string{s.board(), s.board("claims"), s.board("submissions"), s.board("gates"), s.board("rejected"), s.team(), filepath.Dir(s.board()), s.root} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"task", "list"}, {"task", "show", "t_1"}, {"log"}, {"export"}, {"task", "why", "t_1"}, {"sessions"}, {"where"}} {
		if r := other.run(args...); r.code != 0 {
			t.Errorf("read-only: teams %v: %s", args, r)
		}
	}
	before := tree(t, s.root)
	for _, args := range [][]string{{"task", "add", "y"}, {"claim", "--as", "ann"}, {"join", "ann"}, {"task", "edit", "t_1", "--priority", "0"}} {
		if r := other.run(args...); r.code != 1 || !strings.Contains(r.err, s.root) || !strings.Contains(r.err, "permission denied") {
			t.Errorf("read-only: teams %v: %s", args, r)
		}
	}
	sameTree(t, "read-only", before, tree(t, s.root))
}
