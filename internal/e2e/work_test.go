package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a shell script and returns its path.
func (s *site) script(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.base, name)
	write(s.t, path, text)
	return path
}

// TestWorkExitStatus submits by the exit status of the command.
func TestWorkExitStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, code := range []string{"0", "75", "3", "sig"} {
		s.add("exit "+code, "--tag", "c"+code)
	}
	cmd := s.script("cmd", `echo "out of $TEAMS_TASK"; echo "err of $TEAMS_TASK" >&2
case $1 in sig) kill -9 $$;; *) exit $1;; esac
`)
	work := func(code string) result {
		return s.run("work", "--as", "w1", "--once", "--tag", "c"+code, "--", "sh", cmd, code)
	}
	for code, want := range map[string]struct{ state, result, message string }{
		"0":   {"completed", "out of t_1", ""},
		"75":  {"ready", "", ""},
		"3":   {"waiting", "", "the command ended with exit status 3\nerr of t_3"},
		"sig": {"waiting", "", "the command was ended by killed\nerr of t_4"},
	} {
		if r := work(code); r.code != 0 {
			t.Errorf("%s: %s", code, r)
		}
		id := map[string]string{"0": "t_1", "75": "t_2", "3": "t_3", "sig": "t_4"}[code]
		got := s.show(id)
		if got.State != want.state || got.Result != want.result || got.ErrorMessage != want.message {
			t.Errorf("%s: %+v", code, got)
		}
	}
	if got := s.show("t_2"); got.Attempt != 0 {
		t.Errorf("75 counts as an attempt: %+v", got)
	}
	if got := s.show("t_3"); got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
	// Nothing claimable: 2, a drained board for this filter: 3.
	s.exits(2, "work", "--as", "w1", "--once", "--tag", "c3", "--", "true")
	s.exits(3, "work", "--as", "w1", "--once", "--tag", "c0", "--", "true")
	s.exits(64, "work", "--once")
	s.noProcess()
}

// TestWorkChild looks at what the command gets: the environment, the task file
// and the description on standard input; and what is kept of its output.
func TestWorkChild(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	description := "line one\n\n  line \"two\" é\nno newline at the end"
	s.add("subject", "-d", description, "--tag", "first")
	s.add("no description")
	s.add("much output")
	cmd := s.script("cmd", `
cat >"$OUT/$TEAMS_TASK.stdin"
env >"$OUT/$TEAMS_TASK.env"
cp "$TEAMS_TASK_FILE" "$OUT/$TEAMS_TASK.json"
pwd >"$OUT/$TEAMS_TASK.pwd"
teams where --json >"$OUT/$TEAMS_TASK.where"
if test $TEAMS_TASK = t_3; then i=0; while test $i -lt 1000; do echo "line $i é"; i=$((i+1)); done; echo the end; fi
`)
	if r := s.with("OUT="+s.base, "TEAMS_GATE=stale").run("work", "--as", "w1", "--", "sh", cmd); r.code != 0 {
		t.Fatal(r)
	}
	if got := read(t, filepath.Join(s.base, "t_1.stdin")); got != description {
		t.Errorf("stdin %q", got)
	}
	if got := read(t, filepath.Join(s.base, "t_2.stdin")); got != "" {
		t.Errorf("stdin %q", got)
	}
	env := read(t, filepath.Join(s.base, "t_1.env"))
	for _, want := range []string{
		"TEAMS_TASK=t_1\n", "TEAMS_TASK_FILE=" + s.root, "TEAMS_NAME=w1\n", "TEAMS_SPAWN=", "TEAMS_TRY=1\n", "TEAMS_ROOT=" + s.root + "\n",
		"TEAMS_SESSION=" + filepath.Base(s.board()) + "\n", "TEAMS_PROJECT=" + s.project + "\n",
	} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %s:\n%s", want, env)
		}
	}
	if strings.Contains(env, "TEAMS_FEEDBACK") || strings.Contains(env, "TEAMS_GATE") {
		t.Errorf("too much in the environment: %s", env)
	}
	var file task
	if err := json.Unmarshal([]byte(read(t, filepath.Join(s.base, "t_1.json"))), &file); err != nil || file.Description != description || file.Claim == nil {
		t.Errorf("task file: %+v, %v", file, err)
	}
	if got := strings.TrimSpace(read(t, filepath.Join(s.base, "t_1.pwd"))); got != s.project {
		t.Errorf("pwd %s", got)
	}
	if got := read(t, filepath.Join(s.base, "t_1.where")); !strings.Contains(got, `"name":"w1"`) || !strings.Contains(got, `"spawnId":"TEAMS_SPAWN"`) {
		t.Errorf("teams where in the command: %s", got)
	}
	got := s.show("t_3")
	if n := len(got.Result); n > 4000 || n < 3900 || !strings.HasSuffix(got.Result, "line 999 é\nthe end") {
		t.Errorf("%d bytes of result, its end %q", n, got.Result[max(0, n-40):])
	}
}

// TestWorkGateRetries runs the command again after a failed gate, with the log
// as feedback, and gives up after the retries.
func TestWorkGateRetries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := s.script("cmd", `echo "$TEAMS_TASK try $TEAMS_TRY feedback $(cat "$TEAMS_FEEDBACK" 2>/dev/null)" >>"$OUT/tries"; echo ok`)
	s.add("mended in the second try", "--verify", `test "$(grep -c '^t_1 ' `+s.base+`/tries)" -ge 2 || { echo "not yet"; exit 1; }`)
	s.add("never", "--verify", "echo never again; exit 5", "--max-attempts", "1")
	if r := s.with("OUT="+s.base).run("work", "--as", "w1", "--gate-retries", "2", "--", "sh", cmd); r.code != 0 || !strings.Contains(r.err, "gate_failed") {
		t.Fatal(r)
	}
	want := "t_1 try 1 feedback \nt_1 try 2 feedback not yet\nt_2 try 1 feedback \nt_2 try 2 feedback never again\nt_2 try 3 feedback never again\n"
	if got := read(t, filepath.Join(s.base, "tries")); got != want {
		t.Errorf("tries:\n%s", got)
	}
	if got := s.show("t_1"); got.State != "completed" || got.GateRuns != 2 {
		t.Errorf("%+v", got)
	}
	if got := s.show("t_2"); got.State != "failed" || got.GateRuns != 3 || !strings.Contains(got.ErrorMessage, "exit code 5") || !strings.Contains(got.ErrorMessage, "never again") {
		t.Errorf("%+v", got)
	}
}

// TestWorkLoops ends when it should: drained, after --max-tasks, after a wait.
func TestWorkLoops(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(8)
	if r := s.run("work", "--max-tasks", "2", "-q", "--", "true"); r.code != 0 || strings.Fields(r.out)[0] != "t_1" || strings.Count(r.out, "t_") != 2 {
		t.Errorf("--max-tasks: %s", r)
	}
	r := s.run("work", "--as", "x", "-j", "3", "--json", "--", "sh", "-c", "sleep 0.05; echo noise")
	if r.code != 0 || strings.Contains(r.out, "noise") || !strings.Contains(r.err, "noise") {
		t.Errorf("-j 3: %s", r)
	}
	names := map[string]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(r.out), "\n") {
		var e struct {
			Schema int
			OK     bool
			Data   struct{ Name, Event, Task string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || !e.OK || e.Schema != 1 {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Data.Event == "completed" {
			names[e.Data.Name]++
		}
	}
	if len(names) != 3 || names["x-1"]+names["x-2"]+names["x-3"] != 6 {
		t.Errorf("who did what: %v", names)
	}
	if r := s.run("work", "--", "true"); r.code != 0 || !strings.Contains(r.err, "w1  drained") {
		t.Errorf("drained: %s", r)
	}
	// The first free name: w1 was left, w2 is another while w1 runs.
	loop := s.start("work", "--wait", "--", "sh", "-c", "echo $TEAMS_NAME")
	eventually(t, "w1 works", func() bool {
		return exists(s.team("w1", "alive.lock")) && strings.Contains(s.ok("sessions"), "1 living")
	})
	id := s.add("while it waits")
	s.ok("wait", id, "--timeout", "30s")
	if got := s.show(id); got.Result != "w1" {
		t.Errorf("%+v", got)
	}
	s.fails(4, "name_taken", "claim", "--as", "w1")
	if r := s.run("work", "--as", "w1", "--once", "--", "true"); r.code != 4 {
		t.Errorf("a second loop of one name: %s", r)
	}
	id = s.add("for the second", "--assignee", "w2")
	if r := s.run("work", "--once", "--", "sh", "-c", "echo $TEAMS_NAME"); r.code != 0 || s.show(id).Result != "w2" {
		t.Errorf("the second: %s", r)
	}
	loop.signal(syscall.SIGTERM)
	if r := loop.wait(); r.code != 0 || !strings.Contains(r.err, "stopped") {
		t.Errorf("--wait and SIGTERM: %s", r)
	}
	s.healthy()
}

// TestWorkSignals ends a loop: the first signal lets the running task finish,
// the second ends it and gives it back.
func TestWorkSignals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(3)
	mark := filepath.Join(s.base, "mark")
	loop := s.start("work", "--as", "w1", "--", "sh", "-c", "touch "+mark+"; "+s.until("go")+"; echo finished")
	eventually(t, "the command runs", func() bool { return exists(mark) })
	loop.signal(syscall.SIGTERM)
	if loop.ended(200 * time.Millisecond) {
		t.Error("the first signal ended the task")
	}
	s.goOn("go")
	if r := loop.wait(); r.code != 0 {
		t.Errorf("one signal: %s", r)
	}
	if a, b := s.show("t_1"), s.show("t_2"); a.State != "completed" || a.Result != "finished" || b.State != "ready" {
		t.Errorf("after one signal: %+v, %+v", a, b)
	}
	_ = os.Remove(mark)
	loop = s.start("work", "--as", "w1", "--", "sh", "-c", `trap "echo got it >&2; exit 9" TERM; touch `+mark+"; sleep 1000 & wait")
	eventually(t, "the command runs", func() bool { return exists(mark) })
	loop.signal(syscall.SIGTERM)
	time.Sleep(100 * time.Millisecond)
	if loop.ended(0) {
		t.Error("the first signal ended the task")
	}
	loop.signal(syscall.SIGTERM)
	if r := loop.wait(); r.code != 130 || !strings.Contains(r.err, "got it") {
		t.Errorf("two signals: %s", r)
	}
	if got := s.show("t_2"); got.State != "ready" || got.Attempt != 0 {
		t.Errorf("after two signals: %+v", got)
	}
	s.noProcess()
	s.healthy()
}

// TestVerdictElsewhere has a gate that another host may be running: nobody here
// decides. submit does not say that all is well, and a loop waits.
func TestVerdictElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.add("a task", "--verify", "true")
	}
	elsewhere := func(id string) string {
		path := filepath.Join(s.board("gates"), id+".run")
		write(t, path, `{"runId":"00000000000000000000000000000000","task":"`+id+`","number":1,"submission":"x","startedAt":1,"pid":1,"startTime":1,"bootId":"b","pidNamespace":"n","host":"elsewhere"}`+"\n")
		return path
	}
	s.ok("join", "ann", "-q")
	ann := s.as("ann")
	ann.ok("claim", "t_1")
	run := elsewhere("t_1")
	e := ann.fails(75, "busy", "submit")
	if !strings.Contains(e.Error.Message, "elsewhere") || e.Error.Hint != "teams wait t_1" {
		t.Errorf("%+v", e.Error)
	}
	ann.ok("submit", "--no-wait")
	_ = os.Remove(run)
	if r := ann.run("submit"); r.code != 0 || s.show("t_1").State != "completed" {
		t.Errorf("%s", r)
	}

	run = elsewhere("t_2")
	loop := s.start("work", "--as", "w1", "--", "true")
	eventually(t, "the loop has submitted", func() bool { return s.show("t_2").State == "submitted" })
	if loop.ended(500 * time.Millisecond) {
		t.Errorf("the loop ended: %s", loop.wait())
	}
	_ = os.Remove(run)
	if r := loop.wait(); r.code != 0 || strings.Count(r.err, "its submission waits") != 1 {
		t.Errorf("%s", r)
	}
	for _, id := range []string{"t_2", "t_3"} {
		if got := s.show(id).State; got != "completed" {
			t.Errorf("%s is %s", id, got)
		}
	}
	s.healthy()
}

// TestWorkTimeout ends a loop by timeout(1), which signals it and at once the
// group that it is in: the running task is finished all the same.
func TestWorkTimeout(t *testing.T) {
	t.Parallel()
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip("there is no timeout(1)")
	}
	s := newSite(t)
	s.fill(2)
	mark := filepath.Join(s.base, "mark")
	// timeout(1) does on SIGTERM what it does when the time is over.
	loop := start(t, s.command(timeout, "10m", teamsBin, "work", "--as", "w1", "--", "sh", "-c", "touch "+mark+"; "+s.until("go")+"; echo finished"))
	eventually(t, "the command runs", func() bool { return exists(mark) })
	loop.signal(syscall.SIGTERM)
	if loop.ended(200 * time.Millisecond) {
		t.Error("it ended the task")
	}
	s.goOn("go")
	if r := loop.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	if a, b := s.show("t_1"), s.show("t_2"); a.State != "completed" || a.Result != "finished" || b.State != "ready" {
		t.Errorf("%+v, %+v", a, b)
	}
	s.noProcess()
	s.healthy()
}

// TestWorkKilled kills a loop whose command goes on: its task is released only
// when the command is gone too.
func TestWorkKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(1)
	pidFile := filepath.Join(s.base, "pid")
	loop := s.start("work", "--as", "w1", "--", "sh", "-c", "echo $$ >"+pidFile+".tmp; mv "+pidFile+".tmp "+pidFile+"; exec sleep 1000")
	eventually(t, "the command runs", func() bool { return exists(pidFile) })
	loop.kill()
	child, err := strconv.Atoi(strings.TrimSpace(read(t, pidFile)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.ok("tick")
		s.fails(4, "already_claimed", "claim", "t_1", "--as", "bob")
		s.fails(4, "name_taken", "work", "--as", "w1", "--once", "--", "true")
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command is gone", func() bool { return len(s.processes()) == 0 })
	// No tick is needed: whoever wants the task proves the death.
	s.ok("claim", "t_1", "--as", "bob")
	events := s.history("t_1")
	if n := count(events, "released", "t_1"); n != 1 {
		t.Errorf("released %d times: %+v", n, events)
	}
	s.ok("submit", "--as", "bob")

	// Killed while it waits for its gate: the submission is decided first.
	id := s.add("with a gate", "--verify", s.aloneGate(s.until("go")))
	loop = s.start("work", "--as", "w1", "--", "true")
	eventually(t, "the gate runs", func() bool { return s.runs() == 1 })
	loop.kill()
	s.goOn("go")
	s.ok("tick")
	if got := s.show(id); got.State != "completed" || s.runs() != 2 {
		t.Errorf("%d runs, %+v", s.runs(), got)
	}
	s.healthy()
}

// TestWorkLease renews its lease while the command runs, and loses the task
// when it cannot.
func TestWorkLease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(1)
	begin := time.Now()
	loop := s.start("work", "--as", "w1", "--lease", "3s", "--", "sleep", "6")
	for !loop.ended(100 * time.Millisecond) {
		s.ok("tick")
	}
	if r := loop.wait(); r.code != 0 || s.show("t_1").State != "completed" {
		t.Errorf("%s", r)
	}
	events := s.history("t_1")
	took := time.Since(begin)
	if n := count(events, "renewed", ""); n < 3 || n > int(took.Seconds())+1 {
		t.Errorf("renewed %d times in %v with a lease of 3 s", n, took)
	}
	if n := count(events, "released", ""); n != 0 {
		t.Errorf("released under a living worker")
	}

	// A loop that is stopped (SIGSTOP) for longer than its lease loses the task.
	id := s.add("lost")
	loop = s.start("work", "--as", "w1", "--lease", "1s", "--max-tasks", "1", "--", "sh", "-c", s.until("go"))
	eventually(t, "it works", func() bool { return s.show(id).State == "claimed" })
	s.freeze(loop)
	time.Sleep(1100 * time.Millisecond)
	s.ok("claim", id, "--as", "bob")
	s.goOn("go")
	loop.signal(syscall.SIGCONT)
	if r := loop.wait(); r.code != 0 || !strings.Contains(r.err, "lost") {
		t.Errorf("%s", r)
	}
	if got := s.show(id); got.ClaimedBy != "bob" || got.State != "claimed" {
		t.Errorf("%+v", got)
	}
	e := s.fails(4, "not_holder", "submit", id, "--as", "cid")
	if e.Error.Hint == "" {
		t.Error("no hint")
	}
	s.ok("submit", id, "--as", "bob")
	s.healthy()
}

// freeze stops a process at a moment in which it does not hold the board's lock.
func (s *site) freeze(p *proc) {
	s.t.Helper()
	f, err := os.Open(s.board("board.lock"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	eventually(s.t, "the lock is free", func() bool {
		p.signal(syscall.SIGSTOP)
		time.Sleep(20 * time.Millisecond) // the signal takes its time on a busy machine
		if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			return true
		}
		p.signal(syscall.SIGCONT)
		return false
	})
}

// TestWorkManyJobs names and ends its jobs, also when one cannot join.
func TestWorkManyJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(4)
	blocker := s.start("work", "--as", "j-2", "--wait", "--tag", "none", "--", "true")
	eventually(t, "j-2 lives", func() bool { return strings.Contains(s.ok("sessions"), "1 living") })
	if r := s.run("work", "--as", "j", "-j", "3", "--", "true"); r.code != 4 || !strings.Contains(r.err, "j-2 is in use") {
		t.Errorf("%s", r)
	}
	blocker.signal(syscall.SIGINT)
	if r := blocker.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	s.ok("tick") // a job that was stopped may have left a submission
	if r := s.run("work", "--as", "j", "-j", "20", "--", "true"); r.code != 0 {
		t.Errorf("%s", r)
	}
	for i := range 4 {
		if got := s.show(fmt.Sprintf("t_%d", i+1)); got.State != "completed" {
			t.Errorf("%+v", got)
		}
	}
	s.noProcess()
	s.healthy()
}
