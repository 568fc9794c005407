package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grace is how long a gate may outlive its limit: TERM, 5 s, KILL, and a busy
// machine.
const grace = 10 * time.Second

// gateTask adds a task with a gate, claimed by ann.
func (s *site) gateTask(gate string, flags ...string) string {
	s.t.Helper()
	id := s.add("gate", append([]string{"--verify", gate}, flags...)...)
	s.ok("claim", id, "--as", "ann", "--max", "100")
	return id
}

// TestGates submits tasks whose gates misbehave in every way there is: the
// verdict is right, and when submit returns no process of a gate is left.
func TestGates(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, gate string
		limit      time.Duration // 0: that of a task
		exit       int
		verdict    string
		code       int // exit code of the gate
		log        string
	}{
		{name: "passes", gate: "echo fine", verdict: "passed", log: "fine\n"},
		{name: "fails", gate: "echo broken >&2; exit 3", exit: 1, verdict: "failed", code: 3, log: "broken\n"},
		{name: "hangs", gate: "echo begun; sleep 1000", limit: time.Second, exit: 124, verdict: "timed_out", code: -1, log: "begun\n"},
		{name: "ignores TERM", gate: `trap "" TERM; while :; do sleep 0.1; done`, limit: time.Second, exit: 124, verdict: "timed_out", code: -1},
		{name: "leaves its group", gate: "setsid sh -c 'sleep 1000' & setsid sleep 1000 & exit 0", verdict: "passed"},
		{name: "leaves its group and hangs", gate: "setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' & sleep 1000", limit: time.Second, exit: 124, verdict: "timed_out", code: -1},
		{name: "a grandchild holds the output", gate: "(sleep 1000 &) ; echo done", verdict: "passed", log: "done\n"},
		{name: "a daemon holds the output", gate: "setsid nohup sleep 1000 & exit 4", exit: 1, verdict: "failed", code: 4},
		{name: "127", gate: "no-such-program-anywhere", exit: 1, verdict: "could_not_start", code: 127},
		{name: "126", gate: "/", exit: 1, verdict: "could_not_start", code: 126},
		{name: "needs stdin", gate: "cat; read x; test -z \"$x\"", verdict: "passed"},
		{name: "kills itself", gate: "kill -9 $$", exit: 1, verdict: "killed", code: -1},
		{name: "changes the board", gate: `teams task add inside -q && teams task edit "$TEAMS_TASK" --priority 0 -q`, verdict: "passed"},
		{name: "its environment", gate: `test "$TEAMS_NAME" = ann && test -z "$TEAMS_SPAWN" && test -n "$TEAMS_GATE" && test -n "$TEAMS_TASK" && pwd`, verdict: "passed"},
		{name: "is a session of its own", gate: `test "$(ps -o pgid= -p $$ | tr -d ' ')" = $$`, verdict: "passed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			flags := []string{}
			if c.limit > 0 {
				flags = append(flags, "--verify-timeout", c.limit.String())
			}
			if strings.Contains(c.name, "changes") {
				// Only the leader adds, and the gate carries the submitter's name.
				c.gate = "unset TEAMS_NAME; " + c.gate
			}
			id := s.gateTask(c.gate, flags...)
			begin := time.Now()
			r := s.as("ann").run("submit", id)
			took := time.Since(begin)
			got := s.show(id)
			if r.code != c.exit || got.LastGate == nil || got.LastGate.Verdict != c.verdict || got.LastGate.ExitCode != c.code {
				t.Fatalf("want exit %d, verdict %s and code %d: %s\n%+v", c.exit, c.verdict, c.code, r, got.LastGate)
			}
			if took > c.limit+grace {
				t.Errorf("it took %v", took)
			}
			if want := map[bool]string{true: "completed", false: "claimed"}[c.verdict == "passed"]; got.State != want {
				t.Errorf("state %s", got.State)
			}
			if failures := map[bool]int{true: 1, false: 0}[c.exit != 0 && c.verdict != "could_not_start"]; got.GateFailures != failures {
				t.Errorf("%d gate failures counted", got.GateFailures)
			}
			if log := read(t, got.LastGate.Log); c.log != "" && log != c.log {
				t.Errorf("log %q", log)
			} else if c.log != "" && c.exit != 0 && !strings.Contains(r.out, strings.TrimSpace(c.log)) {
				t.Errorf("the tail is not shown: %s", r)
			}
			if left := s.gates(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			s.healthy()
		})
	}
}

// TestGateFlood has a gate that prints more than anybody can keep.
func TestGateFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	size := int64(256 << 20)
	if *long {
		size = 1 << 30
	}
	id := s.gateTask(fmt.Sprintf("echo the first line; head -c %d /dev/zero | tr '\\0' x; echo; echo the last line; exit 1", size))
	cmd := s.as("ann").command(teamsBin, "submit", id)
	p := start(t, cmd)
	peak := int64(0)
	for !p.ended(20 * time.Millisecond) {
		peak = max(peak, peakMemory(p.pid()))
	}
	if r := p.wait(); r.code != 1 || len(r.out) > 10_000 || !strings.Contains(r.out, "the last line") {
		t.Fatalf("%s", r)
	}
	g := s.show(id).LastGate
	info, err := os.Stat(g.Log)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 10<<20+4096 || g.OutputBytes < size {
		t.Errorf("log of %d bytes for an output of %d, of which %d are counted", info.Size(), size, g.OutputBytes)
	}
	if peak > 128<<20 {
		t.Errorf("teams needed %d MiB", peak>>20)
	}
	text := read(t, g.Log)
	if !strings.HasPrefix(text, "the first line\n") || !strings.HasSuffix(text, "the last line\n") {
		t.Error("head and tail are not kept")
	}
	t.Logf("%d MiB of output, log %d KiB, at most %d MiB resident", size>>20, info.Size()>>10, peak>>20)
}

// TestGateCwdGone has a gate whose directory is gone: it could not start, which
// is nobody's failure.
func TestGateCwdGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.gateTask("true")
	session := filepath.Base(s.board())
	if err := os.Rename(s.project, s.project+".moved"); err != nil {
		t.Fatal(err)
	}
	away := s.at(s.base).with("TEAMS_SESSION="+session, "TEAMS_NAME=ann")
	r := away.run("submit", id)
	if r.code != 1 || !strings.Contains(r.err, "could not start") || !strings.Contains(r.err, s.project) {
		t.Errorf("%s", r)
	}
	e, _ := away.json("task", "show", id)
	if !strings.Contains(string(e.Data), `"verdict":"could_not_start"`) || strings.Contains(string(e.Data), "gateFailures") {
		t.Errorf("%s", e.Data)
	}
	if err := os.Rename(s.project+".moved", s.project); err != nil {
		t.Fatal(err)
	}
	s.ok("submit", id, "--as", "ann")
}

// TestVerify runs gates without a submission.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add("gate", "--verify", "echo run; test -e "+filepath.Join(s.base, "ready"))
	before := read(t, s.board("board.json"))
	if r := s.run("verify", id); r.code != 1 || !strings.Contains(r.out, "run\n") {
		t.Errorf("%s", r)
	}
	write(t, filepath.Join(s.base, "ready"), "")
	s.ok("verify", id)
	if read(t, s.board("board.json")) != before {
		t.Error("verify wrote a snapshot")
	}
	if logs, _ := filepath.Glob(s.board("gates", id+".*.log")); len(logs) != 2 {
		t.Errorf("logs: %q", logs)
	}
	if exists(s.board("gates", id+".run")) {
		t.Error("the run file is left")
	}
	s.ok("claim", id, "--as", "ann")
	s.ok("submit", id, "--as", "ann")
	if got := s.show(id); got.LastGate.Run != 3 {
		t.Errorf("the runs of verify are not numbered: run %d", got.LastGate.Run)
	}
	// Any command as a gate.
	if r := s.run("verify", "--timeout", "1s", "--", "sleep 1000"); r.code != 124 {
		t.Errorf("%s", r)
	}
	s.ok("verify", "--", "sh", "-c", `test "$1" = "a b"`, "sh", "a b")
	s.fails(1, "gate_failed", "verify", "--", "exit 9")
	s.fails(3, "not_found", "verify", "t_99")
	plain := s.add("no gate")
	s.fails(4, "conflict", "verify", plain)
	s.noProcess()
}

// TestInterruptedSubmit interrupts a submitter whose gate runs: the gate ends
// without a verdict, and the submission waits.
func TestInterruptedSubmit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gate := s.aloneGate("test $(wc -l <" + s.base + "/runs) -gt 1 || sleep 1000")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		_ = os.Remove(filepath.Join(s.base, "runs"))
		id := s.gateTask(gate)
		p := s.as("ann").start("submit", id)
		eventually(t, "the gate runs", func() bool { return s.runs() == 1 })
		p.signal(sig)
		if r := p.wait(); r.code != 130 {
			t.Errorf("%v: %s", sig, r)
		}
		if left := s.gates(); len(left) > 0 {
			t.Errorf("%v: left: %v", sig, left)
		}
		if got := s.show(id); got.State != "submitted" || got.GateFailures != 0 {
			t.Errorf("%v: %+v", sig, got)
		}
		s.ok("tick")
		if got := s.show(id); got.State != "completed" {
			t.Errorf("%v: %+v", sig, got)
		}
	}
}

// TestGateMoot cancels a task while its gate runs: the gate is ended.
func TestGateMoot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.gateTask(s.aloneGate("sleep 1000"))
	s.ok("submit", id, "--as", "ann", "--no-wait")
	tick := s.start("tick")
	eventually(t, "the gate runs", func() bool { return s.runs() == 1 })
	if got := s.show(id); got.State != "verifying" {
		t.Errorf("state %s", got.State)
	}
	s.ok("task", "cancel", id)
	if r := tick.wait(); r.code != 0 {
		t.Errorf("tick: %s", r)
	}
	if got := s.show(id); got.State != "cancelled" || len(s.gates()) > 0 {
		t.Errorf("%+v, %v", got, s.gates())
	}
	s.healthy()
}

// TestGateEscalation tells the leader once when the gate of a claim failed
// three times.
func TestGateEscalation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.gateTask("exit 1")
	for range 5 {
		s.exits(1, "submit", id, "--as", "ann")
	}
	got := s.show(id)
	if n := count(s.history(), "escalation", id); n != 1 || got.State != "claimed" || got.GateFailures != 5 || got.GateRuns != 5 {
		t.Errorf("%d escalations, %+v", n, got)
	}
	s.ok("task", "edit", id, "--verify", "true")
	s.exits(1, "submit", id, "--as", "ann") // the gate was fixed when the task was claimed
	s.ok("release", id, "--as", "ann")
	s.ok("claim", id, "--as", "ann")
	s.ok("submit", id, "--as", "ann")
}
