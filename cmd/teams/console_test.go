package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/console"
)

// consoleSite is a project with a console's source, and teams run beside it.
type consoleSite struct {
	*testing.T
	base string
	env  map[string]string
	s    *consoleSource
}

func newConsoleSite(t *testing.T, env ...string) *consoleSite {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &consoleSite{T: t, base: base, env: map[string]string{
		"TEAMS_ROOT": filepath.Join(base, "root"), "TEAMS_PROJECT": filepath.Join(base, "app"), "HOME": filepath.Join(base, "home"), "USER": "hans",
	}}
	if err := os.MkdirAll(filepath.Join(base, "app", ".pi", "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := newEnv(strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer))
	e.getenv = c.with(env...)
	if c.s, err = newConsoleSource(e); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.s.Close)
	return c
}

// with is the environment with more in it.
func (c *consoleSite) with(env ...string) func(string) string {
	return func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return c.env[name]
	}
}

// teams runs a verb, which must succeed.
func (c *consoleSite) teams(args ...string) string {
	c.Helper()
	var out, errOut bytes.Buffer
	e := newEnv(strings.NewReader(""), &out, &errOut)
	e.getenv = c.with()
	if code := e.conclude(e.guard(func() error { return e.dispatch(args) })); code != 0 {
		c.Fatalf("teams %s: exit %d\n%s", strings.Join(args, " "), code, errOut.String())
	}
	return strings.TrimSpace(out.String())
}

func (c *consoleSite) look() *console.Snapshot {
	c.Helper()
	snap, err := c.s.Look(context.Background())
	if err != nil {
		c.Fatal(err)
	}
	return snap
}

// until looks, as the console does, after each change until it finds what it
// looks for.
func (c *consoleSite) until(what string, ok func(*console.Snapshot) bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		snap, err := c.s.Look(ctx)
		if err != nil {
			c.Fatalf("%s: %v", what, err)
		}
		if ok(snap) {
			return
		}
		if err := c.s.Wait(ctx); err != nil {
			c.Fatalf("%s was never seen: %+v", what, snap)
		}
	}
}

func (c *consoleSite) write(path, text string) {
	c.Helper()
	path = filepath.Join(c.base, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// From a root that is not there yet to an ended session, each change is told.
func TestConsoleFollows(t *testing.T) {
	c := newConsoleSite(t)
	if snap := c.look(); len(snap.Tasks)+len(snap.Teammates)+len(snap.Messages)+len(snap.Questions) > 0 || snap.Who != "leader" || len(snap.Problems) > 0 {
		t.Errorf("at first: %+v", snap)
	}
	if _, err := os.Stat(c.env["TEAMS_ROOT"]); !os.IsNotExist(err) {
		t.Errorf("looking made the root: %v", err)
	}
	c.teams("task", "add", "one")
	c.until("the task", func(s *console.Snapshot) bool { return len(s.Tasks) == 1 && s.Tasks[0].State == "ready" })
	c.teams("claim", "t_1", "--as", "ann")
	c.until("the claim", func(s *console.Snapshot) bool {
		return len(s.Teammates) == 1 && s.Teammates[0].Task == "t_1" && s.Tasks[0].State == "claimed" && s.Tasks[0].Note == "ann"
	})
	c.teams("join", "bob")
	c.teams("send", "bob", "for bob", "--as", "ann")
	c.teams("send", "leader", "a report", "--status", "failed", "--as", "ann")
	c.until("the mail", func(s *console.Snapshot) bool {
		return len(s.Messages) == 2 && s.Messages[0].To == "leader" && s.Messages[0].Kind == "failed" && s.Messages[1].To == "bob" && s.Messages[1].Unread
	})
	if text, err := c.s.Detail(context.Background(), console.Mail, console.MessageID(c.look().Messages[0].Owner, c.look().Messages[0].ID)); err != nil || !strings.Contains(text, "a report") {
		t.Errorf("a report on its way: %q, %v", text, err)
	}
	on := c.look().Messages[0]
	c.teams("inbox") // brings the report in
	c.until("the report", func(s *console.Snapshot) bool { return s.Messages[0].Owner == "leader" && s.Messages[0].ID == on.ID })
	if text, err := c.s.Detail(context.Background(), console.Mail, console.MessageID(on.Owner, on.ID)); err != nil || !strings.Contains(text, "a report") {
		t.Errorf("a report that has arrived: %q, %v", text, err)
	}
	c.teams("recv", "--as", "bob")
	c.until("that it was read", func(s *console.Snapshot) bool { return len(s.Messages) == 2 && !s.Messages[1].Unread })
	c.write("app/.pi/agents/coder.md", "---\nname: coder\ndescription: of the project\n---\nprompt here\n")
	c.until("the role", func(s *console.Snapshot) bool { return len(s.Roles) == 1 && s.Roles[0].Path == ".pi/agents/coder.md" })
	c.write("root/agents/coder.md", "---\nname: coder\ndescription: of the user\n---\nother prompt\n")
	c.until("the shadowed role", func(s *console.Snapshot) bool {
		return len(s.Roles) == 2 && s.Roles[0].Shadows == 1 && s.Roles[1].Shadowed && s.Roles[1].Scope == "user"
	})
	c.teams("release", "t_1")
	c.teams("session", "end", "--now")
	c.until("the end", func(s *console.Snapshot) bool { return len(s.Teammates) == 0 && len(s.Tasks) == 1 })
}

// A file that cannot be read spoils only itself, and the last good board stays.
func TestConsoleBroken(t *testing.T) {
	c := newConsoleSite(t)
	c.teams("task", "add", "one")
	c.teams("join", "ann")
	c.teams("join", "bob")
	c.look()
	c.write("root/teammate/"+c.s.t.Session+"/bob/teammate.json", "nonsense")
	c.write("root/teammate/"+c.s.t.Session+"/asks/q_1.json", "nonsense")
	c.write("root/teammate/"+c.s.t.Session+"/ann/inbox/new/x y.md", "a stray")
	c.write("root/tasks/"+c.s.t.Session+"/board.json", "nonsense")
	snap := c.look()
	all := strings.Join(snap.Problems, "\n")
	if len(snap.Teammates) != 1 || len(snap.Tasks) != 1 || !strings.Contains(all, "bob") || !strings.Contains(all, "q_1") || !strings.Contains(all, "board.json") {
		t.Errorf("%+v", snap)
	}
}

func TestConsoleDetails(t *testing.T) {
	c := newConsoleSite(t)
	ctx := context.Background()
	c.teams("task", "add", "one", "-d", "what it is about")
	c.teams("claim", "t_1", "--as", "ann")
	c.write("app/.pi/agents/coder.md", "---\nname: coder\ndescription: of the project\n---\nprompt here\n")
	c.write("root/agents/coder.md", "---\nname: coder\ndescription: of the user\n---\nother prompt\n")
	snap := c.look()
	for _, d := range []struct {
		page console.Page
		id   string
		want []string
	}{
		{console.Roster, "ann", []string{"ann  shell", "holds:", "t_1"}},
		{console.Roles, snap.Roles[0].File, []string{"of the project", "prompt here", "shadows"}},
		{console.Roles, snap.Roles[1].File, []string{"is not used", "other prompt"}},
		{console.Board, "t_1", []string{"what it is about", "held by: ann", "claimed by ann"}},
	} {
		text, err := c.s.Detail(ctx, d.page, d.id)
		if err != nil {
			t.Errorf("%s: %v", d.id, err)
		}
		for _, w := range d.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q:\n%s", d.id, w, text)
			}
		}
	}
	for page, id := range map[console.Page]string{
		console.Roster: "nobody", console.Roles: "/etc/passwd", console.Board: "t_9", console.Mail: "leader/../../x", console.Questions: "q_0",
	} {
		if text, err := c.s.Detail(ctx, page, id); err == nil {
			t.Errorf("%s: %q", id, text)
		}
	}
}

// The acts are refused to whom the verbs refuse them.
func TestConsoleActs(t *testing.T) {
	c := newConsoleSite(t)
	ctx := context.Background()
	c.teams("task", "add", "one")
	c.teams("task", "add", "two")
	a := c.s.acts()
	if !a.NeedsName || a.Name != "hans" {
		t.Errorf("the leader is asked for a name: %v, %q", a.NeedsName, a.Name)
	}
	act := func(what string, want string, f func() (string, error)) {
		t.Helper()
		note, err := f()
		if err != nil {
			note = err.Error()
		}
		if !strings.Contains(note, want) {
			t.Errorf("%s: %q, not %q", what, note, want)
		}
	}
	act("claim", "t_1 · claimed by hans", func() (string, error) { return a.Claim(ctx, "t_1", "hans") })
	act("claim again", "claimed by hans", func() (string, error) { return a.Claim(ctx, "t_1", "ann") })
	act("claim as nobody", "teammate's name", func() (string, error) { return a.Claim(ctx, "t_1", "") })
	act("claim as a bad name", "reserved", func() (string, error) { return a.Claim(ctx, "t_1", "harness") })
	act("release", "✓ t_1 · released", func() (string, error) { return a.Release(ctx, "t_1") })
	act("cancel", "✓ t_1 · cancelled", func() (string, error) { return a.Cancel(ctx, "t_1") })
	act("reopen", "✓ t_1 · reopened", func() (string, error) { return a.Reopen(ctx, "t_1") })
	act("send", "✓ @hans · queued", func() (string, error) { return a.Send(ctx, "hans", "", "hello") })
	act("send to nobody", "no teammate named", func() (string, error) { return a.Send(ctx, "nobody", "", "hello") })
	act("shut down a shell", "hans", func() (string, error) { return a.Shutdown(ctx, "hans", false) })
	act("answer nothing", "no question", func() (string, error) { return a.Answer(ctx, "q_0", "x") })
	act("decline nothing", "no question", func() (string, error) { return a.Decline(ctx, "q_0") })

	mate := newConsoleSite(t, "TEAMS_NAME=ann")
	mate.teams("task", "add", "one")
	m := mate.s.acts()
	if m.NeedsName {
		t.Error("a teammate has a name")
	}
	act("cancel as a teammate", "only the leader", func() (string, error) { return m.Cancel(ctx, "t_1") })
	act("reopen as a teammate", "only the leader", func() (string, error) { return m.Reopen(ctx, "t_1") })
	act("shut down as a teammate", "only the leader", func() (string, error) { return m.Shutdown(ctx, "ann", true) })
	act("claim as a teammate", "claimed by ann", func() (string, error) { return m.Claim(ctx, "t_1", "") })
	act("report", "✓ @leader · outbox", func() (string, error) { return m.Send(ctx, "leader", "", "done") })
	if snap := mate.look(); snap.Who != "ann" {
		t.Errorf("it acts as %s", snap.Who)
	}
}

// Whoever holds several tasks has them all in the roster, a bounded number by
// name.
func TestRosterNamesAllThatIsHeld(t *testing.T) {
	c := newConsoleSite(t)
	c.teams("join", "ann")
	for _, want := range []string{"t_1", "t_1,t_2", "t_1,t_2,t_3", "t_1,t_2,t_3 +1", "t_1,t_2,t_3 +2"} {
		c.teams("task", "add", "a task")
		c.teams("claim", "--as", "ann", "--max", "9")
		if got := c.look().Teammates[0].Task; got != want {
			t.Errorf("the console says %q, want %q", got, want)
		}
		for _, verb := range []string{"list", "status"} {
			if out := c.teams(verb); !strings.Contains(out, "  "+want+"\n") && !strings.HasSuffix(out, "  "+want) {
				t.Errorf("%s does not say %q:\n%s", verb, want, out)
			}
		}
	}
}

func TestHeldText(t *testing.T) {
	ids := []string{"t_1", "t_2", "t_3", "t_4"}
	for _, tt := range []struct {
		current string
		held    []string
		want    string
	}{
		{"", nil, ""},
		{"t_9", nil, "t_9"},
		{"t_9", ids[:1], "t_1"},
		{"t_2", ids[:2], "t_2,t_1"},
		{"t_4", ids, "t_4,t_1,t_2 +1"},
	} {
		if got := heldText(tt.current, tt.held); got != tt.want {
			t.Errorf("%q, %v: %q, want %q", tt.current, tt.held, got, tt.want)
		}
	}
	if ids[3] != "t_4" {
		t.Error("the list was changed")
	}
}
