package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestStatusLines: one line for a prompt, of the team and of one teammate, which
// tells of open questions.
func TestStatusLines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	s.ok("join", "ann")
	s.ok("join", "bob")
	s.as("ann").ok("claim")
	if got := s.ok("status", "--line"); got != "1 claimed · 2 living teammates" {
		t.Errorf("%q", got)
	}
	if got := s.ok("status", "ann", "--line"); got != "ann · idle · t_1" {
		t.Errorf("%q", got)
	}
	for i, want := range []string{"1 question", "2 questions"} {
		asker := s.as("ann").start("ask", "which one?", "--timeout", "60s")
		defer asker.wait()
		defer asker.kill()
		eventually(t, "the question", func() bool { return len(strings.Fields(s.ok("asks", "-q"))) == i+1 })
		if got := s.ok("status", "--line"); got != "1 claimed · 2 living teammates · "+want {
			t.Errorf("%q", got)
		}
	}
	if got := s.ok("status", "ann", "--line"); got != `ann · idle · t_1 · blocked · AWAITING HUMAN: "which one?" (+1)` {
		t.Errorf("%q", got)
	}
	if got := s.ok("status", "-q"); got != "ann\nbob" {
		t.Errorf("%q", got)
	}
	if got := s.ok("status", "bob", "-q"); got != "bob" {
		t.Errorf("%q", got)
	}
	s.as("bob").ok("leave")
	if got := s.ok("status", "-q"); got != "ann" {
		t.Errorf("%q", got)
	}
	if got := s.ok("status", "bob", "--line"); got != "bob · stopped" {
		t.Errorf("%q", got)
	}
}

// TestStatusTellsOfGatesThatCannotStart, which the leader must mend, for as long
// as the claim lasts.
func TestStatusTellsOfGatesThatCannotStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add("one", "--verify", "/nonexist/gate")
	ann := s.as("ann")
	ann.ok("claim")
	told := func() bool { return strings.Contains(s.ok("status"), id+"  held by ann, its gate could not start") }
	if told() {
		t.Error("told before it ran")
	}
	ann.exits(1, "submit")
	if !told() {
		t.Errorf("not told:\n%s", s.ok("status"))
	}
	ann.ok("release", id)
	ann.ok("claim")
	if told() {
		t.Error("the gate of the claim before")
	}
}

// TestQuiet prints what a script goes on with, and nothing else.
func TestQuiet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one", "--verify", "test -e ok")
	s.add("two")
	ann := s.as("ann")
	ann.ok("claim", "t_1")
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want(s.ok("log", "-q"), "t_1\nt_2")
	want(s.ok("log", "t_2", "-q"), "t_2")
	want(ann.exits(1, "verify", "1", "-q").out, "t_1\n")
	want(s.ok("doctor", "-q"), "")
	s.sh("touch ok")
	want(ann.ok("verify", "t_1", "-q"), "t_1")
	if log := ann.ok("verify", "-q", "--", "echo hi"); !strings.HasSuffix(log, ".log") || len(strings.Fields(log)) != 1 {
		t.Errorf("the log of a command: %q", log)
	}

	id := s.ok("watch", "t_2", "t_1", "-q")
	if _, err := os.Stat(s.team("watches", id+".json")); err != nil {
		t.Error(err)
	}
	ann.ok("submit", "t_1")
	want(s.ok("watch", "t_1", "-q"), "")

	if err := os.Chmod(s.team("session.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := s.run("doctor", "-q").out; got == "" || strings.ContainsAny(got, " /") {
		t.Errorf("findings: %q", got)
	}
}
