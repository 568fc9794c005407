package console_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
	"github.com/seed6990a682/teams/internal/render"
)

// hang bounds every wait; what takes longer hangs. It is no promise of speed.
const hang = time.Minute

// pane is the console in tmux, on a session of its own.
type pane struct {
	*testing.T
	socket string
	app    string
	env    []string
	bin    string
}

// built is the command, which is built once, in a directory of its own.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func buildTeams() {
	if built.dir, built.err = os.MkdirTemp("", "teams-console-"); built.err != nil {
		return
	}
	built.err = gobuild.Build(context.Background(), gobuild.Teams, filepath.Join(built.dir, "teams"))
}

// newPane makes an empty project, beside which other tests may run.
func newPane(t *testing.T) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	t.Parallel()
	// A socket's path has to be short, which that of a test is not.
	base, err := os.MkdirTemp("", "teams-tmux-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	p := &pane{T: t, socket: filepath.Join(base, "s"), app: filepath.Join(base, "app"), bin: filepath.Join(base, "bin", "teams")}
	for _, dir := range []string{"app/.git", "app/.pi/agents", "root/agents", "home", "bin"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if built.once.Do(buildTeams); built.err != nil {
		t.Fatal(built.err)
	}
	// A link, since a program that was just written may not be run while some
	// other child of ours still has it open.
	if err := os.Link(filepath.Join(built.dir, "teams"), p.bin); err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"PATH=" + filepath.Dir(p.bin) + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "TEAMS_ROOT=" + filepath.Join(base, "root"),
		"LC_ALL=C.UTF-8", "USER=hans", "SHELL=/bin/sh", "PS1=shell> ",
	}
	for path, text := range map[string]string{
		"root/agents/coder.md":    "---\nname: coder\ndescription: The usual one\ntools: read, bash\n---\nYou write code.\n",
		"app/.pi/agents/coder.md": "---\nname: coder\ndescription: The one of the project\ntools: read, bash, edit\n---\nYou write code here.\n",
	} {
		if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs a program to its end and returns what it printed.
func (p *pane) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.app, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *pane) teams(args ...string) string {
	p.Helper()
	out, err := p.run(p.bin, args...)
	if err != nil {
		p.Fatalf("teams %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	out, err := p.run("tmux", append([]string{"-u", "-f", "/dev/null", "-S", p.socket}, args...)...)
	if err != nil {
		p.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// open starts a command line in a new tmux of 80 by 24 cells.
func (p *pane) open(line string) {
	p.Helper()
	p.tmux("new-session", "-d", "-x", "80", "-y", "24", line, ";", "set", "remain-on-exit", "on")
	p.Cleanup(p.close)
}

// close ends the tmux server, which p started, and with it what runs in it.
func (p *pane) close() {
	_, _ = p.run("tmux", "-S", p.socket, "kill-server")
}

func (p *pane) screen(flags ...string) string {
	p.Helper()
	return p.tmux(append([]string{"capture-pane", "-p"}, flags...)...)
}

// until waits until the screen has all of some texts.
func (p *pane) until(want ...string) string {
	p.Helper()
	var screen string
	if !p.eventually(func() bool {
		screen = p.screen()
		for _, w := range want {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	}) {
		p.Fatalf("%q never came to the screen:\n%s", want, screen)
	}
	return screen
}

func (p *pane) eventually(ok func() bool) bool {
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (p *pane) keys(keys ...string) {
	p.Helper()
	for _, key := range keys {
		p.tmux("send-keys", key)
	}
}

// raw sends bytes as the terminal would.
func (p *pane) raw(s string) {
	p.Helper()
	args := []string{"send-keys", "-H"}
	for _, b := range []byte(s) {
		args = append(args, hex.EncodeToString([]byte{b}))
	}
	p.tmux(args...)
}

// task is a task as its verb tells it.
func (p *pane) task(id string) (state, holder string) {
	p.Helper()
	var v struct {
		Data struct {
			Task struct{ State, ClaimedBy string }
		}
	}
	if err := json.Unmarshal([]byte(p.teams("task", "show", id, "--json")), &v); err != nil {
		p.Fatal(err)
	}
	return v.Data.Task.State, v.Data.Task.ClaimedBy
}

// becomes waits for a state of a task.
func (p *pane) becomes(id, state, holder string) {
	p.Helper()
	var s, h string
	if !p.eventually(func() bool { s, h = p.task(id); return s == state && h == holder }) {
		p.Fatalf("%s is %s by %q, not %s by %q:\n%s", id, s, h, state, holder, p.screen())
	}
}

// cpu is the time of the processor that the pane's process has used.
func (p *pane) cpu() time.Duration {
	p.Helper()
	pid := strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}"))
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		p.Fatal(err)
	}
	text := string(data)
	f := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	var ticks int
	for _, s := range f[11:13] { // utime and stime, 100 a second
		n, err := strconv.Atoi(s)
		if err != nil {
			p.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// fits wants a full screen of lines that are not too wide, without looks.
func (p *pane) fits(width, height int) {
	p.Helper()
	lines := strings.Split(strings.TrimSuffix(p.screen("-e"), "\n"), "\n")
	if len(lines) != height {
		p.Errorf("%d lines, not %d", len(lines), height)
	}
	for _, l := range lines {
		if strings.Contains(l, "\x1b") || render.Width(l) > width {
			p.Errorf("%d cells: %q", render.Width(l), l)
		}
	}
}

// A whole session in tmux without colours: all pages at two sizes, live changes,
// the acts, the mouse, and what an idle console costs.
func TestTmux(t *testing.T) {
	p := newPane(t)
	p.teams("task", "add", "First thing", "--priority", "0")
	p.teams("task", "add", "Zweites 中文 \x1b[2J👩‍👩‍👧 ding", "--depends-on", "t_1")
	p.teams("join", "ann", "--agent", "coder")
	p.teams("join", "bob")
	p.teams("--as", "ann", "send", "bob", "between teammates")
	p.teams("--as", "bob", "send", "leader", "--status", "completed", "all of it is done")
	p.teams("spawn", "bot", "coder", "--host", "exec", "--", "sh", "-c", "cat >/dev/null")
	defer func() { _, _ = p.run(p.bin, "shutdown", "--all", "--now") }()
	// The shell says how the console ended: tmux does not always know, since it
	// misses the end of a child now and then.
	status := filepath.Join(filepath.Dir(p.app), "status")
	p.open("env NO_COLOR=1 " + p.bin + " console; echo $? >" + status)

	pages := func(width, height int) {
		t.Helper()
		for key, want := range map[string][]string{
			"1": {"[1 Roster", "@ann", "coder", "@bob", "@bot"},
			"2": {"[2 Roles", ".pi/agents/coder.md", "git-managed", "project", "user", "shadowed"},
			"3": {"[3 Board", "t_1", "First thing", "blocked", "waits for t_1", "Zweites 中文"},
			"4": {"[4 Mail", "between teammates", "all of it is done", "ann", "bob", "leader"},
			"5": {"[5 Questions", "no open questions"},
		} {
			p.keys(key)
			p.until(want...)
			p.fits(width, height)
		}
	}
	p.until("@ann")
	pages(80, 24)
	p.tmux("resize-window", "-x", "200", "-y", "60")
	p.keys("3")
	p.eventually(func() bool {
		return strings.Count(p.screen(), "\n") == 60 && strings.HasSuffix(strings.TrimSpace(p.screen()), "q quit")
	})
	pages(200, 60)
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.keys("3")
	p.until("[3 Board", "? help")

	// A change from elsewhere.
	p.teams("task", "add", "A late one")
	began := time.Now()
	p.until("t_3", "A late one")
	t.Logf("a new task was on the screen %v after its command had ended", time.Since(began).Round(time.Millisecond))

	// Acts on the board, through keys.
	p.keys("/", "l", "a", "t", "e", "Enter")
	p.until("> t_3")
	p.keys("c")
	p.until("claim t_3 as: hans")
	p.keys("Enter")
	p.becomes("t_3", "claimed", "hans")
	p.until("✓ t_3 · claimed by hans", "claimed")
	p.keys("r")
	p.becomes("t_3", "ready", "")
	p.keys("x")
	p.until("cancel t_3?")
	p.keys("y")
	p.becomes("t_3", "cancelled", "")
	p.until("✓ t_3 · cancelled")
	p.keys("o")
	p.becomes("t_3", "ready", "")
	p.keys("Enter")
	p.until("t_3  ready  A late one", "reopened")
	p.keys("Escape", "Escape")
	p.until("t_1", "t_2")

	// Mail.
	p.keys("1", "g", "s")
	p.until("send to: ann")
	p.keys("Enter")
	p.until("to @ann:")
	p.keys("hello", "Space", "you", "Enter")
	p.until("✓ @ann · queued")
	if got := p.teams("--as", "ann", "inbox"); !strings.Contains(got, "hello you") {
		t.Errorf("ann's mailbox: %s", got)
	}
	p.keys("4")
	p.until("hello you")

	// A question.
	ask := exec.Command(p.bin, "ask", "Which port?", "--option", "80", "--option", "8080")
	ask.Dir, ask.Env = p.app, append(p.env, "TEAMS_NAME=ann")
	type answer struct {
		out []byte
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		out, err := ask.CombinedOutput()
		answered <- answer{out, err}
	}()
	p.keys("1")
	p.until(`blocked · AWAITING HUMAN: "Which`)
	p.keys("5")
	p.until("Which port?", "1 of 2")
	p.keys("a")
	p.until("1 80, 2 8080:")
	p.keys("2", "Enter")
	select {
	case a := <-answered:
		if a.err != nil || strings.TrimSpace(string(a.out)) != "8080" {
			t.Errorf("the answer is %q, %v", a.out, a.err)
		}
	case <-time.After(hang):
		_ = ask.Process.Kill()
		t.Errorf("the question was not answered:\n%s", p.screen())
	}
	p.until("no open questions", "✓ @ann · answered")

	// The wheel and a click, as a terminal sends them.
	for range 5 {
		p.teams("task", "add", "more")
	}
	p.keys("3", "g")
	p.until("> t_1", "t_8")
	p.raw("\x1b[<65;10;5M")
	p.until("> t_4")
	p.raw("\x1b[<64;10;5M")
	p.until("> t_1")
	p.raw("\x1b[<0;10;4M\x1b[<0;10;4m")
	p.until("> t_2")
	p.raw("\x1b[<0;3;1M")
	p.until("[1 Roster")

	// The end of a teammate.
	p.keys("g", "j", "j")
	p.until("@bot")
	p.keys("x")
	p.until("shut down @bot?")
	p.keys("y")
	p.until("✓ @bot · stopped")
	if got := p.teams("status", "bot"); !strings.Contains(got, "stopped") {
		t.Errorf("bot: %s", got)
	}

	idle(t, p)
	p.keys("?")
	p.until("any key goes back")
	p.keys("q", "q")
	var ended []byte
	if !p.eventually(func() bool {
		ended, _ = os.ReadFile(status)
		return len(ended) > 0
	}) {
		t.Fatalf("q did not leave:\n%s", p.screen())
	}
	if code := strings.TrimSpace(string(ended)); code != "0" {
		t.Errorf("exit status %s", code)
	}
}

// idle wants a console that nobody uses to cost next to nothing.
func idle(t *testing.T, p *pane) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("the cost of an idle console is not measured: it is read from /proc")
		return
	}
	const watched = 5 * time.Second
	time.Sleep(500 * time.Millisecond) // what was just done may have an echo
	before := p.cpu()
	time.Sleep(watched)
	used := p.cpu() - before
	t.Logf("idle: %v of processor time in %v", used, watched)
	if limit := watched / 60; used > limit {
		t.Errorf("idle it used %v in %v, more than %v", used, watched, limit)
	}
}

// In a shell with jobs: colours, stopping and going on, and an end by a signal
// that leaves the terminal as it was.
func TestTmuxShell(t *testing.T) {
	p := newPane(t)
	p.teams("task", "add", "First thing")
	p.open("sh -i")
	p.until("shell>")
	p.keys("teams console", "Enter")
	p.until("1 Roster", "no teammates")
	p.keys("3")
	p.until("> t_1", "First thing")
	if got := p.screen("-e"); !regexp.MustCompile(`\x1b\[[0-9;]*7m`).MatchString(got) {
		t.Errorf("there are no colours: %q", got)
	}
	p.keys("C-z")
	p.until("shell> teams console", "Stopped")
	p.keys("echo between", "Enter")
	p.until("\nbetween")
	p.keys("fg", "Enter")
	p.until("3 Board", "First thing")
	p.keys("C-c")
	p.until("shell> fg")
	p.keys("stty -a | grep -o -- '[ -]icanon'; echo status $?", "Enter")
	p.until("\nstatus 0")
	if strings.Contains(p.screen(), "-icanon") {
		t.Errorf("the terminal is still raw:\n%s", p.screen())
	}
	p.keys("clear; sh -c 'echo $$ >pid; exec teams console'; echo status $?", "Enter")
	p.until("1 Roster")
	if out, err := p.run("sh", "-c", "kill -TERM $(cat pid)"); err != nil {
		t.Fatal(err, out)
	}
	p.until("status 130", "interrupted by SIGTERM")
}

// Without a terminal, or with one that cannot, it says so and what to do.
func TestNoTerminal(t *testing.T) {
	p := newPane(t)
	out, err := p.run(p.bin, "console")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 64 || !strings.Contains(out, "needs a terminal") || !strings.Contains(out, "hint: teams list") {
		t.Errorf("without a terminal: %v, %s", err, out)
	}
	p.open("sh -i")
	p.keys("TERM=dumb teams console; echo status $?", "Enter")
	p.until("TERM=dumb cannot", "hint: teams list", "status 64")
}
