package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
)

// The harness keeps a line about the team on the cell that it runs in, tells of
// what needs a person, and clears the line at its end.
func TestHerdrMirror(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t, func(s *herdrtest.Server) { s.Notifications = true })
	_, _, pane := h.AddWorkspace()
	s := newTeam(t)
	inside := s.with("HERDR_SOCKET_PATH="+h.Path, "HERDR_PANE_ID="+pane)
	shows := func(what string) {
		t.Helper()
		var have string
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			p, _ := h.Get(pane)
			have = fmt.Sprint(p.CustomStatus, p.Tokens, p.Title)
			if what == "" && !strings.Contains(have, "◆") && !strings.Contains(have, "?") || what != "" && strings.Contains(have, what) {
				return
			}
		}
		t.Fatalf("the cell shows %q and not %q; %d requests", have, what, len(h.Requests("")))
	}
	s.add("one")
	s.add("two")
	harness := inside.start("harness", "-q", "--run", "release")
	shows("◆ release")
	s.as("ann").ok("claim", "t_1")
	shows("◆ release one 0/2")
	s.as("ann").ok("submit", "t_1")
	shows("1/2")
	// Another run beside it is told of by the harness, and by nobody else.
	begun := len(h.Requests("pane.report_metadata"))
	inside.ok("run", "start", "side")
	for _, q := range h.Requests("pane.report_metadata")[begun:] {
		if q.Params["ttl_ms"] == any(float64(86400000)) {
			t.Errorf("%v", q.Params)
		}
	}
	shows("◆ 2 workflows")
	inside.ok("run", "set", "side-1", "completed")
	if p, _ := h.Get(pane); p.Display == "" {
		t.Error("the cell of the harness was cleared")
	}
	inside.ok("run", "rm", "side-1")
	shows("◆ release")
	s.as("ann").ok("claim", "t_2")
	s.as("ann").ok("submit", "t_2", "--failed", "--result", "cannot")
	s.ok("task", "edit", "t_2", "--max-attempts", "1")
	s.as("ann").run("claim", "t_2")
	s.ok("task", "cancel", "t_2")
	shows("")

	// The stored run says the same.
	e, r := s.json("run", "list")
	var d struct {
		Runs []struct {
			Name, Status string
			Done, Total  int
		}
	}
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil || len(d.Runs) != 1 || d.Runs[0].Name != "release" || d.Runs[0].Status != "completed" || d.Runs[0].Done != 1 {
		t.Errorf("%s", r)
	}
	s.add("three")
	shows("1/2")
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	shows("")

	// A herdr that is silent keeps nobody up.
	h.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	inside.ok("tick", "-q")
	inside.as("ann").ok("claim")
	harness = inside.start("harness", "-q")
	s.as("ann").ok("submit")
	s.ok("wait", "t_3", "--timeout", "20s")
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A herdr that cannot even be looked for keeps no harness from its work, and no
// teammate from its end.
func TestHerdrInTheWay(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	s := newTeam(t)
	s.with("HERDR_SOCKET_PATH="+h.Path).ok("spawn", "ann", "worker", "--host", "herdr")
	odd := s.with("HERDR_SOCKET_PATH=", "HERDR_SESSION=no name", "HERDR_PANE_ID=w1:p1", "TEAMS_HERDR_MAX_PANES=many")

	s.add("one")
	harness := odd.start("harness", "-q", "--run", "release")
	s.as("bob").ok("claim", "t_1")
	s.as("bob").ok("submit", "t_1")
	s.ok("wait", "t_1", "--timeout", "30s")
	eventually(t, "its status tells of herdr", func() bool {
		return strings.Contains(s.run("harness", "status").out, "problem: herdr: HERDR_SESSION")
	})
	eventually(t, "the run is kept all the same", func() bool { return strings.Contains(s.ok("run", "list"), "release") })
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}

	// Its host dies, and whoever ends the life knows nothing of the pane's herdr
	// but what the lease says.
	s.killHost("ann")
	odd.ok("shutdown", "ann")
	if n := len(h.Panes()); n != 0 {
		t.Errorf("%d panes are left", n)
	}
	s.noProcess()
}

// --herdr off keeps the run that --run asks for, and shows nothing.
func TestHerdrOffKeepsTheRun(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	_, _, pane := h.AddWorkspace()
	s := newTeam(t)
	s.add("one")
	harness := s.with("HERDR_SOCKET_PATH="+h.Path, "HERDR_PANE_ID="+pane).start("harness", "-q", "--run", "release", "--herdr", "off")
	eventually(t, "the run is kept", func() bool { return strings.Contains(s.ok("run", "list"), "0/1") })
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	if n := len(h.Requests("")); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// While herdr is silent a harness with panes to look after decides as fast as
// without, and a tick waits for it once.
func TestHerdrSilentDelaysNobody(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	s := newTeam(t).with("HERDR_SOCKET_PATH=" + h.Path)
	s.ok("spawn", "ann", "worker", "--host", "herdr", "--tab", "reviews")
	s.add("one")
	s.as("bob").ok("claim", "t_1")
	h.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	s.ok("tick", "-q")
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("a tick took %s", took)
	}
	h.Forget()
	harness := s.start("harness", "-q")
	eventually(t, "it asks for the panes", func() bool { return len(h.Requests("pane.list")) > 0 })
	begin = time.Now()
	s.as("bob").ok("submit", "t_1")
	s.ok("wait", "t_1", "--timeout", "30s")
	if took := time.Since(begin); took > 1500*time.Millisecond {
		t.Errorf("the verdict took %s", took)
	}
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	begin = time.Now()
	s.ok("shutdown", "ann")
	if took := time.Since(begin); took > 3500*time.Millisecond {
		t.Errorf("the end took %s", took)
	}
	h.Behave()
	s.ok("tick")
	if n := len(h.Panes()); n != 0 {
		t.Errorf("%d panes are left", n)
	}
}

// A run that was failed when its harness had died goes on with the next one, to
// its end.
func TestHerdrRunAfterAKill(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("one")
	harness := s.start("harness", "-q", "--run", "nightly")
	eventually(t, "the run is kept", func() bool { return strings.Contains(s.ok("run", "list"), "0/1") })
	harness.kill()
	if out := s.ok("run", "reconcile"); !strings.Contains(out, "failed") {
		t.Fatalf("%s", out)
	}
	s.as("bob").ok("claim", "t_1")
	s.as("bob").ok("submit", "t_1")
	s.ok("tick", "-q")
	harness = s.start("harness", "-q", "--run", "nightly")
	eventually(t, "the run is completed", func() bool { return strings.Contains(s.ok("run", "list"), "completed") })
	if out := s.ok("run", "list"); strings.Count(out, "nightly-") != 1 || strings.Contains(out, "gone") {
		t.Errorf("%s", out)
	}
	// One that is failed beside it is a problem, and told of as one that stays.
	s.add("two")
	eventually(t, "the run goes on", func() bool { return strings.Contains(s.ok("run", "list"), "running") })
	s.ok("run", "stop", "nightly-1")
	status := func() string { return s.run("harness", "status").out }
	eventually(t, "its status tells of the run", func() bool { return strings.Contains(status(), "final") })
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out := status(); !strings.Contains(out, "final") {
			t.Fatalf("%s", out)
		}
	}
	harness.signal(syscall.SIGTERM)
	if r := harness.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
}

// tick takes the same flags about herdr as harness, and settings that are wrong
// are refused by both.
func TestHerdrTickFlags(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	_, _, pane := h.AddWorkspace()
	s := newTeam(t)
	s.add("one")
	inside := s.with("HERDR_SOCKET_PATH="+h.Path, "HERDR_PANE_ID="+pane)
	shown := func() string {
		p, _ := h.Get(pane)
		return fmt.Sprint(p.CustomStatus, p.Tokens, p.Title)
	}
	inside.ok("tick", "-q")
	inside.ok("tick", "-q", "--herdr", "off", "--applies-to", "auto")
	inside.with("TEAMS_HERDR=0").ok("tick", "-q", "--applies-to", "auto")
	if line := shown(); strings.Contains(line, "◆") {
		t.Errorf("nobody asked for %s", line)
	}
	inside.with("TEAMS_HERDR=0").ok("tick", "-q", "--herdr", "auto", "--applies-to", "me:it")
	bound := false
	for _, r := range h.Requests("") {
		bound = bound || r.Params["applies_to_source"] == "me:it"
	}
	if line := shown(); !strings.Contains(line, "◆") || !bound {
		t.Errorf("the cell shows %s; bound: %t", line, bound)
	}
	s.with("HERDR_SOCKET_PATH="+h.Path).ok("tick", "-q", "--applies-to", "auto") // in no cell
	for _, verb := range []string{"tick", "harness"} {
		s.fails(64, "usage", verb, "--herdr", "abc")
		s.with("TEAMS_HERDR=abc").fails(64, "usage", verb)
		s.with("TEAMS_TAB_GRACE=abc").fails(64, "usage", verb)
	}
	s.with("TEAMS_HERDR=off", "TEAMS_TAB_GRACE=abc").ok("tick", "-q")
	s.with("TEAMS_HERDR=abc").fails(64, "usage", "herdr", "notify", "T")
}

// The run of a harness that is stopped is paused, by nobody's fault, and goes on
// with the next one of its name.
func TestHerdrRunOfAStoppedHarness(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("one")
	s.add("two")
	list := func() string { return s.ok("run", "list") }
	for round := range 2 {
		harness := s.start("harness", "-q", "--run", "nightly")
		eventually(t, "the run goes on", func() bool {
			return strings.Contains(list(), fmt.Sprintf("%d/2", round)) && !strings.Contains(list(), "stopped")
		})
		s.ok("harness", "stop")
		if r := harness.wait(); r.code != 0 {
			t.Errorf("%s", r)
		}
		s.ok("run", "reconcile")
		if out := list(); !strings.Contains(out, "its harness was stopped") || strings.Contains(out, "failed") || strings.Count(out, "nightly-") != 1 {
			t.Errorf("%s", out)
		}
		s.as("bob").ok("claim")
		s.as("bob").ok("submit")
	}
	harness := s.start("harness", "-q", "--run", "nightly")
	eventually(t, "the run is completed", func() bool { return strings.Contains(list(), "completed") })
	s.ok("harness", "stop")
	if r := harness.wait(); r.code != 0 || strings.Contains(list(), "stopped") {
		t.Errorf("%s, %s", r, list())
	}
}
