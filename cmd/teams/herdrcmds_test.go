package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/fsx"
)

// herdSite is a project whose leader sits in a pane of a fake herdr.
type herdSite struct {
	*herdrtest.Server
	t         *testing.T
	root, dir string
	pane      string
}

func newHerdSite(t *testing.T) *herdSite {
	t.Helper()
	s := herdrtest.New(t)
	w, tab, pane := s.AddWorkspace()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &herdSite{s, t, filepath.Join(base, "root"), filepath.Join(base, "app"), pane}
	if err := os.MkdirAll(filepath.Join(h.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "TEAMS_") || strings.HasPrefix(name, "HERDR_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("TEAMS_ROOT", h.root)
	t.Setenv("HERDR_SOCKET_PATH", s.Path)
	t.Setenv("HERDR_PANE_ID", pane)
	t.Setenv("HERDR_TAB_ID", tab)
	t.Setenv("HERDR_WORKSPACE_ID", w)
	t.Chdir(h.dir)
	return h
}

// run runs a command line; want is its exit code.
func (h *herdSite) run(want int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	var out, err bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &err); code != want {
		h.t.Fatalf("teams %q: exit %d, want %d\n%s%s", args, code, want, out.String(), err.String())
	}
	return out.String(), err.String()
}

func (h *herdSite) ok(args ...string) string {
	h.t.Helper()
	out, stderr := h.run(0, args...)
	if stderr != "" {
		h.t.Errorf("teams %q says on stderr: %s", args, stderr)
	}
	return strings.TrimRight(out, "\n")
}

// mate opens a pane of our own, as spawn does.
func (h *herdSite) mate(name, kind string) *herdr.Lease {
	h.t.Helper()
	out := h.ok("where", "--json")
	var v struct{ Data struct{ Session string } }
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		h.t.Fatal(err)
	}
	owner, err := fsx.Self()
	if err != nil {
		h.t.Fatal(err)
	}
	sp := &herdr.Spawner{Client: herdr.New(h.Path), Leases: &herdr.Leases{Root: h.root}, Here: herdr.FindHere(os.Getenv)}
	l, err := sp.Spawn(h.t.Context(), herdr.SpawnRequest{SpawnID: "spawn-" + name, Session: v.Data.Session, Name: name, Owner: owner, Cwd: h.dir, Kind: kind})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func (h *herdSite) display() string { p, _ := h.Get(h.pane); return p.Display }

// A run as a leader has it: mirrored on its own cell, whose state stays its own.
func TestRunIsMirrored(t *testing.T) {
	h := newHerdSite(t)
	id := h.ok("run", "start", "research_topic", "--total", "40", "-q")
	if id != "research_topic-1" || h.display() != "◆ research_topic 0/40" {
		t.Errorf("%q %q", id, h.display())
	}
	h.ok("run", "set", id, "workflow-running", "--phase", "Synthesize", "--done", "12", "--tokens", "3200")
	want := "◆ research_topic Synthesize 12/40 · 3.2K tok"
	if got := h.ok("run", "line"); got != want || h.display() != want {
		t.Errorf("%q, shown %q", got, h.display())
	}
	h.ok("run", "start", "other", "--background", "-q")
	if want := "◆ 2 workflows · 12/40 agents · 3.2K tok"; h.display() != want {
		t.Errorf("%q", h.display())
	}
	h.ok("run", "set", "other-1", "failed", "--reason", "no sources")
	if n := h.Notes(); len(n) != 1 || n[0].Title != "Workflow failed: other" || n[0].Body != "no sources" || n[0].Sound != "request" {
		t.Errorf("%v", n)
	}
	h.run(4, "run", "set", "other-1", "workflow-running")
	h.run(4, "run", "rm", id)
	h.ok("run", "pause", id)
	if !strings.HasPrefix(h.display(), "◆ 2 workflows") {
		t.Errorf("%q", h.display())
	}
	h.ok("run", "rm", "other-1")
	if !strings.HasPrefix(h.display(), "⏸ research_topic") {
		t.Errorf("%q", h.display())
	}
	h.ok("run", "resume", id)
	h.ok("run", "set", id, "completed")
	p, _ := h.Get(h.pane)
	if p.Display != "" || p.State != "unknown" || len(h.Requests("pane.report_agent")) != 0 || len(h.Panes()) != 1 {
		t.Errorf("%+v", p)
	}
	if out := h.ok("run", "list"); !strings.Contains(out, "✓ completed") {
		t.Errorf("%s", out)
	}
	for _, out := range []string{h.ok("run", "show", id), h.ok("run", "list", "-x")} {
		if strings.Contains(out, h.pane) || strings.Contains(out, "term_") {
			t.Errorf("an id of a pane is shown: %s", out)
		}
	}
}

// A run of a teammate with a pane of its own.
func TestRunInOwnPane(t *testing.T) {
	h := newHerdSite(t)
	l := h.mate("bob", "")
	id := h.ok("run", "start", "wf", "--pane", l.Pane, "-q")
	if p, _ := h.Get(l.Pane); p.State != "working" || p.Display != "• spawned" {
		t.Errorf("%+v", p)
	}
	h.ok("run", "set", id, "needs-human", "--reason", "which?")
	if p, _ := h.Get(l.Pane); p.State != "blocked" {
		t.Errorf("%+v", p)
	}
	h.ok("run", "set", id, "completed")
	if _, there := h.Get(l.Pane); there || len(h.Panes()) != 1 {
		t.Error("its pane is left")
	}
	// A pane of somebody else's is neither reported on nor closed.
	_, foreign := h.AddTab("w1", "mine")
	id = h.ok("run", "start", "wf", "--pane", foreign, "-q")
	h.ok("run", "set", id, "completed")
	if p, there := h.Get(foreign); !there || p.State != "unknown" {
		t.Errorf("%+v", p)
	}
	h.run(3, "run", "start", "wf", "--pane", "w9:p9")
	// One whose pane is closed has failed.
	l = h.mate("cid", "")
	id = h.ok("run", "start", "lost", "--pane", l.Pane, "-q")
	h.ok("run", "reconcile")
	h.Remove(l.Pane)
	if out := h.ok("run", "reconcile"); !strings.Contains(out, id) || !strings.Contains(out, "failed") {
		t.Errorf("%s", out)
	}
}

// A run is shown in the herdr that has its pane, and only that one can say that
// the pane is gone.
func TestRunInAnotherHerdr(t *testing.T) {
	h := newHerdSite(t)
	l := h.mate("bob", "")
	id := h.ok("run", "start", "wf", "--pane", l.Pane, "-q")
	other := herdrtest.New(t)
	t.Setenv("HERDR_SOCKET_PATH", other.Path)
	t.Setenv("HERDR_PANE_ID", "")
	if out := h.ok("run", "reconcile"); out != "nothing to reconcile" {
		t.Errorf("%s", out)
	}
	h.ok("run", "set", id, "needs-human")
	if p, _ := h.Get(l.Pane); p.State != "blocked" {
		t.Errorf("%+v", p)
	}
	h.ok("run", "set", id, "workflow-running")
	h.Remove(l.Pane)
	h.ok("run", "reconcile")
	t.Setenv("HERDR_SOCKET_PATH", h.Path)
	if out := h.ok("run", "reconcile"); !strings.Contains(out, "failed") {
		t.Errorf("%s", out)
	}
}

// Without herdr, or with one that does not answer, runs go on; the trouble is
// told once, by herdr status.
func TestRunWithoutHerdr(t *testing.T) {
	h := newHerdSite(t)
	id := h.ok("run", "start", "wf", "-q")
	for name, f := range map[string]herdrtest.Fault{"silent": herdrtest.Silent, "garbage": herdrtest.Garbage(1 << 20), "half": herdrtest.HalfOpen} {
		h.Fault("", -1, f)
		begin := time.Now()
		h.ok("run", "set", id, "needs-human")
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		h.ok("run", "set", id, "workflow-running")
		h.Behave()
	}
	if out := h.ok("herdr", "status"); !strings.Contains(out, "herdr 0.8.0, protocol 20") || !strings.Contains(out, "problem") {
		t.Errorf("%s", out)
	}
	if out := h.ok("herdr", "status"); strings.Contains(out, "problem") {
		t.Errorf("told twice: %s", out)
	}
	h.Stop()
	h.ok("run", "set", id, "needs-human")
	if out := h.ok("herdr", "status"); !strings.Contains(out, "not available") || !strings.Contains(out, "no socket") {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{{"herd"}, {"prune"}, {"report"}, {"clear"}, {"notify", "x"}, {"read", "w1:p1"}, {"send", "w1:p1", "x"}, {"keys", "w1:p1", "x"},
		{"focus", "w1:p1"}, {"wait", "w1:p1"}, {"wait-output", "w1:p1", "--match", "x"}} {
		out, _ := h.run(1, append([]string{"--json", "herdr"}, args...)...)
		if !strings.Contains(out, `"code":"herdr_unavailable"`) {
			t.Errorf("%v: %s", args, out)
		}
	}
	t.Setenv("TEAMS_HERDR", "0")
	h.Start()
	h.Forget()
	h.ok("run", "set", id, "workflow-running")
	h.run(1, "herdr", "herd")
	if n := len(h.Requests("")); n != 0 {
		t.Errorf("switched off, and %d requests", n)
	}
}

// No verb about board, mail or team speaks to herdr.
func TestOtherVerbsLeaveHerdrAlone(t *testing.T) {
	h := newHerdSite(t)
	h.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	h.ok("task", "add", "a")
	h.ok("claim", "--as", "ann")
	h.ok("submit", "t_1", "--as", "ann")
	h.ok("send", "ann", "hello")
	h.ok("list")
	h.ok("run", "list")
	h.ok("where")
	if n := len(h.Requests("")); n != 0 || time.Since(begin) > 5*time.Second {
		t.Errorf("%d requests in %s", n, time.Since(begin))
	}
}

func TestHerdrVerbs(t *testing.T) {
	h := newHerdSite(t)
	if out := h.ok("herdr", "herd"); out != "Active agents: 0" {
		t.Errorf("%q", out)
	}
	l := h.mate("bob", "pi")
	if out := h.ok("herdr", "herd"); !strings.Contains(out, "Active agents: 1") || !strings.Contains(out, "@bob") || strings.Contains(out, l.Pane) {
		t.Errorf("%q", out)
	}
	h.ok("herdr", "send", "bob", "write the tests")
	h.ok("herdr", "wait", "bob", "--timeout", "10s")
	if p, _ := h.Get(l.Pane); len(p.Inputs) != 1 || p.Inputs[0].Text != "write the tests" {
		t.Errorf("%+v", p.Inputs)
	}
	h.SetState(l.Pane, "working")
	if out, _ := h.run(124, "--json", "herdr", "wait", "bob", "--timeout", "100ms"); !strings.Contains(out, "timed_out") {
		t.Errorf("%s", out)
	}
	h.SetState(l.Pane, "blocked")
	if out := h.ok("herdr", "--socket", h.Path, "wait", "bob", "--json"); !strings.Contains(out, `"target":"bob","state":"blocked"`) {
		t.Errorf("%s", out)
	}
	h.run(4, "herdr", "send", "bob", "x")
	h.ok("herdr", "keys", "bob", "y", "Enter")
	h.Print(l.Pane, "one\ntwo \x1b[31mred\nok 7")
	if out := h.ok("herdr", "read", "bob"); !strings.Contains(out, "one\ntwo ␛[31mred\nok 7") {
		t.Errorf("%q", out)
	}
	if out := h.ok("herdr", "wait-output", "bob", "--match", "ok"); out != "ok 7" {
		t.Errorf("%q", out)
	}
	h.run(124, "herdr", "wait-output", "bob", "--match", "never", "--timeout", "100ms")
	h.ok("herdr", "focus", "bob")
	if out := h.ok("herdr", "notify", "hi", "--sound", "done"); !strings.Contains(out, "disabled") {
		t.Errorf("%q", out)
	}
	h.run(3, "herdr", "read", "nobody")
	h.run(64, "herdr", "read", "No-Body")
	h.run(64, "herdr", "wait-output", "bob")
	if out := h.ok("herdr", "report"); !strings.Contains(out, "nothing runs") {
		t.Errorf("%q", out)
	}
	h.ok("task", "add", "parse it", "-q")
	h.ok("task", "add", "print it", "-q")
	h.ok("claim", "t_1", "--as", "ann", "-q")
	if out := h.ok("herdr", "report"); out != "◆ app parse it 0/2" || h.display() != out {
		t.Errorf("%q, shown %q", out, h.display())
	}
	h.ok("herdr", "clear")
	if h.display() != "" {
		t.Errorf("%q", h.display())
	}
	// The pane is another's now: nothing is typed into it.
	h.Reuse(l.Pane)
	h.run(3, "herdr", "send", "bob", "x")
	if p, _ := h.Get(l.Pane); len(p.Inputs) != 0 {
		t.Errorf("%+v", p.Inputs)
	}
	if out := h.ok("herdr", "prune"); !strings.Contains(out, "bob") {
		t.Errorf("%q", out)
	}
	if out := h.ok("herdr", "prune"); out != "nothing to prune" {
		t.Errorf("%q", out)
	}
	t.Setenv("HERDR_PANE_ID", "")
	h.run(1, "herdr", "report")
	h.ok("herdr", "report", "--pane", h.pane)
}

// A run with a worktree: it stays when the run fails or pauses, nothing in it is
// lost when it goes, and without one there is no run.
func TestRunWorktree(t *testing.T) {
	h := newHerdSite(t)
	h.run(1, "run", "start", "x", "--worktree")
	if out := h.ok("run", "list"); out != "no runs" {
		t.Errorf("%q", out)
	}
	if err := os.RemoveAll(filepath.Join(h.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "x")
	id := h.ok("run", "start", "x", "--worktree", "-q")
	tree := filepath.Join(h.dir, ".pi", "worktrees", "run-"+id)
	if err := os.WriteFile(filepath.Join(tree, "work"), []byte("done"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ok("run", "pause", id)
	h.ok("run", "resume", id)
	h.ok("run", "set", id, "failed")
	if _, err := os.Stat(tree); err != nil || git("status", "--porcelain") != "" {
		t.Errorf("%v %s", err, git("status", "--porcelain"))
	}
	h.ok("run", "stop", id)
	if _, err := os.Stat(tree); err == nil || git("show", "pi/wf/run-"+id+":work") != "done" {
		t.Error("the worktree is left, or its work is lost")
	}
	// The branch is there: the next run of that name gets another number.
	h.ok("run", "rm", id)
	if next := h.ok("run", "start", "x", "--worktree", "-q"); next != "x-2" {
		t.Errorf("%q", next)
	}
	if err := os.RemoveAll(filepath.Join(h.dir, ".pi", "worktrees", "run-x-2")); err != nil {
		t.Fatal(err)
	}
	h.ok("run", "pause", "x-2")
	h.run(4, "run", "resume", "x-2")
	h.ok("run", "rm", "x-2")
}
