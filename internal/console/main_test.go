package console

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the time of all tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) int64 { return now.Add(-d).UnixMilli() }

// tester is a model with a source and acts that note what they are asked.
type tester struct {
	*testing.T
	m      *model
	did    []string
	fail   error // what the next act returns
	quit   bool
	detail string
}

func (x *tester) Look(context.Context) (*Snapshot, error) {
	return nil, errs.New(errs.Failure, "no look")
}
func (x *tester) Wait(context.Context) error { return nil }
func (x *tester) Detail(_ context.Context, p Page, id string) (string, error) {
	if x.detail == "" {
		return "", errs.New(errs.NotFound, "there is no %s", id)
	}
	return p.title() + " " + id + "\n" + x.detail, nil
}

func (x *tester) note(words ...string) (string, error) {
	x.did = append(x.did, strings.Join(words, " "))
	err := x.fail
	x.fail = nil
	return "✓ " + words[0], err
}

// newTester returns a model that has looked. Its context is over, so that
// nothing waits.
func newTester(t *testing.T, width, height int, snap *Snapshot, color bool) *tester {
	t.Helper()
	x := &tester{T: t, detail: "the whole of it"}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	one := func(name string) func(context.Context, string) (string, error) {
		return func(_ context.Context, id string) (string, error) { return x.note(name, id) }
	}
	acts := Acts{
		Claim: func(_ context.Context, id, as string) (string, error) { return x.note("claim", id, as) },
		Send: func(_ context.Context, to, replyTo, text string) (string, error) {
			return x.note("send", to, replyTo, text)
		},
		Shutdown: func(_ context.Context, name string, now bool) (string, error) {
			if now {
				return x.note("shutdown", name, "now")
			}
			return x.note("shutdown", name)
		},
		Answer:  func(_ context.Context, id, text string) (string, error) { return x.note("answer", id, text) },
		Release: one("release"), Cancel: one("cancel"), Reopen: one("reopen"), Decline: one("decline"),
		NeedsName: true, Name: "me",
	}
	x.m = newModel(ctx, Options{Source: x, Acts: acts, Color: color, Now: func() time.Time { return now }})
	x.m.begin()
	x.send(sizeMsg{width, height})
	if snap != nil {
		x.send(lookedMsg{snap: snap, at: now})
	}
	return x
}

// send hands messages over, runs what they ask for, and looks at every screen.
func (x *tester) send(msgs ...any) {
	x.Helper()
	for _, msg := range msgs {
		for _, cmd := range x.m.handle(msg) {
			if cmd == nil {
				continue
			}
			switch next := cmd().(type) {
			case doneMsg, detailMsg:
				x.check()
				x.send(next)
			case quitMsg:
				x.quit = true
			}
		}
		x.check()
	}
}

// check looks whether the screen can be shown: the right number of lines, none
// wider or narrower than the screen, no control characters but our own.
func (x *tester) check() {
	x.Helper()
	lines, column, row := x.m.screen()
	if len(lines) != x.m.height {
		x.Errorf("the screen has %d lines and not %d", len(lines), x.m.height)
	}
	for i, l := range lines {
		bare := withoutLooks(l)
		if strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			x.Errorf("line %d has control characters: %q", i, l)
		}
		if !x.m.o.Color && bare != l {
			x.Errorf("line %d has colours: %q", i, l)
		}
		if n := render.Width(bare); n != x.m.width {
			x.Errorf("line %d takes %d cells of %d: %q", i, n, x.m.width, bare)
		}
		if n := widest(bare); n > x.m.width {
			x.Errorf("line %d takes up to %d cells of %d: %q", i, n, x.m.width, bare)
		}
	}
	if column >= x.m.width || row >= x.m.height {
		x.Errorf("the cursor is at %d, %d", column, row)
	}
}

// withoutLooks takes out the looks that the console itself puts in.
func withoutLooks(s string) string {
	for l := bold; l <= inverse; l++ {
		s = strings.ReplaceAll(s, l.sgr(), "")
	}
	return strings.ReplaceAll(s, "\x1b[0m", "")
}

// widest is the sum of the cells of all characters by themselves, as a terminal
// counts that joins nothing.
func widest(s string) (n int) {
	for _, r := range s {
		n += render.Width(string(r))
	}
	return n
}

// keys presses keys by their names; a word that is none is typed.
func (x *tester) keys(names ...string) {
	x.Helper()
	for _, name := range names {
		if typed, ok := strings.CutPrefix(name, "type:"); ok {
			for _, r := range typed {
				x.send(keyMsg{key: string(r), text: string(r)})
			}
			continue
		}
		text := ""
		if len([]rune(name)) == 1 {
			text = name
		}
		x.send(keyMsg{key: name, text: text})
	}
}

// sees wants texts on the screen.
func (x *tester) sees(want ...string) {
	x.Helper()
	screen := withoutLooks(x.m.shown())
	for _, w := range want {
		if !strings.Contains(screen, w) {
			x.Errorf("%q is not on the screen:\n%s", w, screen)
		}
	}
}

// sawDone wants exactly these acts since the last call.
func (x *tester) sawDone(want ...string) {
	x.Helper()
	if got := strings.Join(x.did, "; "); got != strings.Join(want, "; ") {
		x.Errorf("done: %s\nwanted: %s", got, strings.Join(want, "; "))
	}
	x.did = nil
}

// golden compares the screen with a file.
func (x *tester) golden(name string) {
	x.Helper()
	var b strings.Builder
	for _, l := range strings.Split(x.m.shown(), "\n") {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			x.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		x.Fatal(err)
	}
	if b.String() != string(want) {
		x.Errorf("%s: the screen is\n%s\nand not\n%s", path, b.String(), want)
	}
}

// hostile is text that tries to do something to a terminal.
const hostile = "\x1b[2J\x1b]0;owned\x07 \u202eevil\u2066 tab\tnew\nline \u009b31m 👩‍👩‍👧 🇩🇪 👍🏽 ❤️ ẹ̀̀ 한글 中文字 עברית \xff end"

func sample() *Snapshot {
	s := &Snapshot{
		Session: "app-1f0c3a9e", Who: "leader",
		Teammates: []Teammate{
			{Name: "ann", Kind: "pi", Role: "coder", Status: "working", Task: "t_3", Activity: "bash: go test ./...", ActiveAt: ago(3 * time.Second)},
			{Name: "bob", Kind: "exec", Role: "reviewer", Status: "idle", Activity: "**Done** with `parse.go`", ActiveAt: ago(4 * time.Minute)},
			{Name: "cleo", Kind: "pi", Role: "coder", Status: "working", Task: "t_4", ActiveAt: ago(2 * time.Minute), Awaiting: `AWAITING HUMAN: "Which port shall it be?"`},
			{Name: "dan", Kind: "work", Status: "dead", Activity: "killed", ActiveAt: ago(26 * time.Hour)},
			{Name: "eve", Kind: "shell", Status: "idle", ActiveAt: ago(30 * time.Minute), Activity: hostile},
		},
		Roles: []Role{
			{File: "/h/agents/coder.md", Name: "coder", Scope: "project", Path: ".pi/agents/coder.md", GitManaged: true, Shadows: 1, Marks: "gate,worktree", Tools: "read,bash,edit", Description: "Writes code"},
			{File: "/r/agents/coder.md", Name: "coder", Scope: "user", Path: "~/.pi/agent/agents/coder.md", Shadowed: true, Description: "not used"},
			{File: "/r/agents/prüfer.md", Name: "prüfer", Scope: "user", Path: "~/.pi/agent/agents/prüfer.md", Tools: "read", Description: "Prüft 中文"},
		},
		Messages: []Message{
			{ID: "3-ann", Owner: "leader", From: "ann", To: "leader", Kind: "completed", Title: "parser done", Sent: ago(time.Minute), Unread: true},
			{ID: "2-ann", Owner: "bob", From: "ann", To: "bob", Kind: "message", Title: "中文 please look at parse.go", Sent: ago(5 * time.Minute)},
			{ID: "1-bob", Owner: "ann", From: "bob", To: "ann", Kind: "failed", Title: hostile, Sent: ago(3 * time.Hour), Unread: true},
		},
		Questions: []Question{
			{ID: "q_1", From: "cleo", Text: "Which port shall it be?", Options: []string{"80", "8080"}, Asked: ago(2 * time.Minute)},
			{ID: "q_2", From: "bob", Text: "What is it called? " + hostile, Asked: ago(time.Hour)},
		},
	}
	states := []string{"ready", "claimed", "submitted", "blocked", "waiting", "failed", "completed", "cancelled"}
	for i, state := range states {
		n := itoa(i + 1)
		s.Tasks = append(s.Tasks, Task{
			ID: "t_" + n, State: state, Subject: "Task number " + n, Changed: ago(time.Duration(i) * time.Hour), Ended: i > 4,
		})
	}
	s.Tasks[1].Note, s.Tasks[3].Note, s.Tasks[0].Marks = "ann", "waits for t_1,t_2", "p0 #docs"
	s.Tasks[2].Subject = hostile
	s.Tasks[4].Subject = "日本語のとても長い題名が八十桁の端末でも決して一行を超えないことを確かめるための仕事です、そしてまだ続きます、まだまだ続きます、もう少しだけ続きます"
	return s
}
